#include "tidemark/schedule/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark::schedule {
namespace {

void check_cost(std::string_view name, double cost) {
  if (!std::isfinite(cost) || cost < 0 || cost > 1e15)
    bad_question(fmt::format("a {} of {}", name, cost), "a number from 0 to 1e15");
}

}  // namespace

void bad_question(std::string what, std::string expected, std::string help) {
  fail(ErrorCode::bad_schedule,
       {.what = "schedule: " + std::move(what), .expected = std::move(expected), .help = std::move(help)});
}

void check_question(const Question& question) {
  if (question.steps < 1 || question.steps > most_steps)
    bad_question(fmt::format("{} steps", question.steps), fmt::format("1 to {} steps", most_steps));
  if (question.state_bytes < 1) bad_question("a state has at least one byte");
  if (question.record_bytes < 0) bad_question("a record has no fewer than no bytes");
  if (question.levels.size() > 100)
    bad_question(fmt::format("{} levels", question.levels.size()), "1 to 100");
  check_cost("forward cost", question.forward_cost);
  check_cost("reverse cost", question.reverse_cost);
  for (const Level& level : question.levels) {
    if (level.slots < -1) bad_question(fmt::format("{} slots", level.slots), "0 or more");
    if (level.bytes < -1) bad_question(fmt::format("{} bytes", level.bytes), "0 or more");
    check_cost("write cost", level.write_cost);
    check_cost("read cost", level.read_cost);
  }
}

std::int64_t state_slots(const Question& question, std::size_t level) {
  const Level& at = question.levels[level];
  std::int64_t slots = std::min(question.steps, most_slots);
  if (at.slots >= 0) slots = std::min(slots, at.slots);
  if (at.bytes >= 0) slots = std::min(slots, at.bytes / question.state_bytes);
  return slots;
}

Promise promise_for(const Question& question, Kind kind) {
  Promise promise;
  promise.kind = kind;
  promise.steps = promise.recorded = question.steps;
  for (auto* list :
       {&promise.slots, &promise.peak_slots, &promise.peak_bytes, &promise.writes, &promise.reads})
    list->assign(question.levels.size(), 0);
  return promise;
}

double cost_of(const Question& question, const Promise& promise) {
  double cost = question.forward_cost * static_cast<double>(promise.advances) +
                question.reverse_cost * static_cast<double>(promise.steps);
  const std::size_t waited_for = question.levels.size() - (promise.kind == Kind::background ? 1 : 0);
  for (std::size_t i = 0; i < waited_for; ++i) {
    cost += question.levels[i].write_cost * static_cast<double>(promise.writes[i]) +
            question.levels[i].read_cost * static_cast<double>(promise.reads[i]);
  }
  return cost;
}

void does_not_fit(const Question& question, Kind kind, const std::string& needed) {
  std::string room;
  for (const Level& level : question.levels) {
    if (!room.empty()) room += ", ";
    room += level.slots >= 0   ? fmt::format("{} slots", level.slots)
            : level.bytes >= 0 ? to_string(Bytes(level.bytes))
                               : "any number";
  }
  fail(ErrorCode::infeasible_budget,
       {.what = fmt::format("schedule: {} steps do not fit as {}: it needs at least {}", question.steps,
                            name_of(kind), needed),
        .expected = fmt::format("at least {}; there is room for {}", needed, room.empty() ? "nothing" : room),
        .help = "give more, or let the kind be automatic"});
}

}  // namespace tidemark::schedule
