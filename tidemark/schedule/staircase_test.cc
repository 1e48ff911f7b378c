#include "tidemark/schedule/staircase.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tidemark::schedule {
namespace {

nlohmann::json staircase_of(Step steps, std::int64_t slots) {
  const auto made = make_schedule({.steps = steps, .kind = Kind::binomial, .levels = {{.slots = slots}}});
  return nlohmann::json::parse(staircase_json(*made, {.title = "</script>\xff"}));
}

TEST(Staircase, OfAShortScheduleHasEachAction) {
  const auto made = make_schedule({.steps = 20, .kind = Kind::binomial, .levels = {{.slots = 3}}});
  const nlohmann::json stairs = staircase_of(20, 3);
  const auto actions = made->actions();
  Action action;
  std::int64_t count = 0, forward = 0;
  for (; actions->next(action); ++count) {
    EXPECT_EQ(stairs["action"][static_cast<std::size_t>(count)], static_cast<int>(action.kind));
    if (action.kind == ActionKind::advance) forward += action.to - action.step;
    if (action.kind == ActionKind::record) ++forward;
  }
  EXPECT_EQ(stairs["actions"], count);
  EXPECT_EQ(stairs["at"].size(), static_cast<std::size_t>(count));
  EXPECT_EQ(stairs["total_forward"], forward);
  EXPECT_EQ(stairs["exact"], true);
  EXPECT_EQ(stairs["reversed"].back(), 0) << "all steps are reversed in the end";
  // At no time is more stored than the schedule says.
  std::int64_t most = 0;
  for (std::int64_t t = 0; t < count; ++t) {
    std::int64_t held = 0;
    for (std::size_t k = 0; k < stairs["stored"]["step"].size(); ++k)
      held += stairs["stored"]["from"][k] <= t && t < stairs["stored"]["to"][k];
    most = std::max(most, held);
  }
  EXPECT_GE(most, stairs["peak_slots"][0]);
  EXPECT_LE(most, stairs["peak_slots"][0].get<std::int64_t>() + 1)
      << "one may come in the action in which another goes";
}

TEST(Staircase, OfALongScheduleIsShort) {
  const nlohmann::json stairs = staircase_of(200'000, 30);
  EXPECT_EQ(stairs["exact"], false);
  EXPECT_LE(stairs["at"].size(), 4001u);
  EXPECT_EQ(stairs["reversed"].back(), 0);
  for (std::size_t k = 0; k < stairs["at"].size(); ++k) EXPECT_LE(stairs["from"][k], stairs["to"][k]);
  EXPECT_LT(stairs.dump().size(), 2'000'000u);
}

}  // namespace
}  // namespace tidemark::schedule
