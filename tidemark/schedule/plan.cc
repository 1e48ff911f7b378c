#include "tidemark/schedule/plan.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "tidemark/schedule/kinds/automatic.h"
#include "tidemark/schedule/kinds/background.h"
#include "tidemark/schedule/kinds/binomial.h"
#include "tidemark/schedule/kinds/bisection.h"
#include "tidemark/schedule/kinds/mixed.h"
#include "tidemark/schedule/kinds/multilevel.h"
#include "tidemark/schedule/kinds/online.h"
#include "tidemark/schedule/kinds/store_all.h"
#include "tidemark/schedule/kinds/uniform.h"
#include "tidemark/schedule/question.h"

namespace tidemark::schedule {
namespace {

constexpr std::array<std::pair<Kind, std::string_view>, 10> kinds = {{{Kind::automatic, "automatic"},
                                                                      {Kind::store_all, "store-all"},
                                                                      {Kind::uniform, "uniform"},
                                                                      {Kind::bisection, "bisection"},
                                                                      {Kind::binomial, "binomial"},
                                                                      {Kind::mixed, "mixed"},
                                                                      {Kind::multilevel, "multilevel"},
                                                                      {Kind::disk, "disk"},
                                                                      {Kind::online, "online"},
                                                                      {Kind::background, "background"}}};

bool has_one_level(Kind kind) {
  switch (kind) {
    case Kind::uniform:
    case Kind::bisection:
    case Kind::binomial:
    case Kind::mixed:
    case Kind::online:
      return true;
    default:
      return false;
  }
}

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
  if (question.kind == Kind::store_all) return store_all_schedule(question);
  if (question.levels.empty())
    bad_question("there is no level to keep states on", "at least one, with slots or bytes");
  if (has_one_level(question.kind) && question.levels.size() > 1) {
    bad_question(fmt::format("{} levels for a {} schedule", question.levels.size(), name_of(question.kind)),
                 "one level", "multilevel, disk, background and automatic know several");
  }
  switch (question.kind) {
    case Kind::automatic:
      return automatic_schedule(question);
    case Kind::uniform:
      return uniform_schedule(question);
    case Kind::bisection:
      return bisection_schedule(question);
    case Kind::binomial:
      return binomial_schedule(question);
    case Kind::mixed:
      return mixed_schedule(question);
    case Kind::multilevel:
      return multilevel_schedule(question);
    case Kind::disk:
      return disk_schedule(question);
    case Kind::online:
      return online_schedule(question);
    case Kind::background:
      return background_schedule(question);
    case Kind::store_all:
      break;
  }
  bad_question("no such kind");
}

}  // namespace tidemark::schedule
