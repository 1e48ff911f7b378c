#include "tidemark/schedule/plan.h"

#include <array>
#include <utility>

#include "tidemark/base/check.h"
#include "tidemark/schedule/binomial.h"
#include "tidemark/schedule/multilevel.h"
#include "tidemark/schedule/question.h"
#include "tidemark/schedule/store_all.h"

namespace tidemark::schedule {
namespace {

constexpr std::array<std::pair<Kind, std::string_view>, 9> kinds = {{{Kind::automatic, "automatic"},
                                                                     {Kind::store_all, "store-all"},
                                                                     {Kind::uniform, "uniform"},
                                                                     {Kind::bisection, "bisection"},
                                                                     {Kind::binomial, "binomial"},
                                                                     {Kind::mixed, "mixed"},
                                                                     {Kind::multilevel, "multilevel"},
                                                                     {Kind::disk, "disk"},
                                                                     {Kind::online, "online"}}};

}  // namespace

std::string_view name_of(Kind kind) {
  for (const auto& [value, name] : kinds) {
    if (value == kind) return name;
  }
  return "?";
}

std::optional<Kind> kind_named(std::string_view name) {
  for (const auto& [value, text] : kinds) {
    if (text == name) return value;
  }
  return {};
}

std::unique_ptr<Schedule> make_schedule(const Question& question) {
  check_question(question);
  if (question.levels.empty() && question.kind != Kind::store_all)
    bad_question("there is no level to keep states on");
  switch (question.kind) {
    case Kind::store_all:
      return store_all_schedule(question);
    case Kind::multilevel:
      return multilevel_schedule(question);
    case Kind::disk:
      return disk_schedule(question);
    default:
      return binomial_schedule(question);
  }
}

}  // namespace tidemark::schedule
