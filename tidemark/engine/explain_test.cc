// step.plan().explain(): the user's own names and lines, loops, hints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tidemark/ir/graph.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using ::testing::HasSubstr;

Tensor net(const std::vector<Tensor>& weights, Tensor x) {
  for (std::size_t i = 0; i < weights.size(); ++i)
    x = name(tanh(matmul(x, weights[i])), "h" + std::to_string(i));
  return mean(square(x));
}
const std::vector<Tensor> weights(8, eye(64) * 0.9);
const Tensor x = ones({1024, 64});

const ExplainedValue* named(const Explanation& explanation, std::string_view wanted) {
  const auto found = std::ranges::find(explanation.values, wanted, &ExplainedValue::name);
  return found == explanation.values.end() ? nullptr : &*found;
}

TEST(ExplainPlan, NamesOfAnyBytesLeaveJsonAndTableWhole) {
  const auto named_oddly = [](const Tensor& w, const Tensor& in) {
    const Tensor h = name(tanh(matmul(in, w)), "two\nlines \x1b[31m \xff");
    return mean(square(name(tanh(matmul(h, w)), "äöüäöüäöüäöüäöüäöüäöü")));
  };
  const auto step = compile(grad(named_oddly));
  const Explanation why = step.prepare(weights[0], x).explain({.top = 0});
  const std::string json = to_json(why), text = to_text(why);
  EXPECT_THAT(json, HasSubstr("two\\nlines \\u001b[31m \xEF\xBF\xBD"));  // U+FFFD
  EXPECT_THAT(text, HasSubstr("two?lines ?[31m"));
  EXPECT_EQ(text.find("...\xB6"), std::string::npos);  // the second half of a character
  EXPECT_EQ(text.find("...\xBC"), std::string::npos);
  EXPECT_EQ(text.find("...\xA4"), std::string::npos);
}

TEST(ExplainPlan, ValuesHaveTheUsersNamesAndLines) {
  const auto step = compile(grad(net));
  step.prepare(weights, x);
  const Explanation why = step.plan().explain({.top = 0});
  const ExplainedValue* h = named(why, "h2");
  ASSERT_NE(h, nullptr);
  EXPECT_THAT(h->producer->where, HasSubstr("explain_test.cc:"));
  EXPECT_EQ(h->type, "f32[1024, 64]");
  EXPECT_EQ(h->bytes, 1024 * 64 * 4);
  EXPECT_EQ(h->decision, Decision::kept);
  EXPECT_TRUE(h->crosses);
  EXPECT_THAT(to_text(why), HasSubstr("h2"));
  EXPECT_FALSE(why.head.budget);
}

TEST(ExplainPlan, WithinABudgetItSaysWhatIsComputedAgainAndWhatKeepingWouldTake) {
  const auto free = compile(grad(net));
  const Bytes whole = free.prepare(weights, x).peak();
  const auto step = compile(grad(net), {.memory = Bytes(whole.count * 7 / 10), .effort = 0.1});
  const PlannedGraph planned = step.prepare(weights, x);
  const Explanation why = planned.explain({.top = 0});
  EXPECT_EQ(why.head.peak, planned.plan.peak());
  EXPECT_EQ(why.head.free_peak, whole.count);
  const auto again = std::ranges::count(why.values, Decision::recomputed, &ExplainedValue::decision);
  ASSERT_GT(again, 0);
  for (const ExplainedValue& value : why.values) {
    if (value.decision != Decision::recomputed) continue;
    ASSERT_EQ(value.alternatives.size(), 1u);
    EXPECT_EQ(value.alternatives[0].basis, Basis::edited);
    EXPECT_LE(value.alternatives[0].seconds_change, 0);
  }
}

TEST(ExplainPlan, ValuesOfTheSameNameAreToldApartByTheirNumbers) {
  const auto twice = [](const Tensor& w, Tensor t) {
    for (int i = 0; i < 4; ++i) t = name(tanh(matmul(t, w)), "same");
    return mean(square(t));
  };
  const auto step = compile(grad(twice));
  const Explanation why = step.prepare(weights[0], x).explain({.match = "same", .top = 0});
  EXPECT_GE(why.values.size(), 3u);
  std::set<std::uint32_t> numbers;
  for (const ExplainedValue& value : why.values) {
    EXPECT_EQ(value.name, "same");
    numbers.insert(value.value);
    EXPECT_THAT(to_text(why), HasSubstr(fmt::format("%{} same", value.value)));
  }
  EXPECT_EQ(numbers.size(), why.values.size());
}

TEST(ExplainPlan, ValuesInsideOfLoopsStandUnderTheirLoop) {
  const auto looped = [](const Tensor& w, const Tensor& t) {
    const Tensor last = repeat(
        6, [&](const Tensor& h) { return tanh(matmul(gelu(matmul(h, w)), w)); }, t);
    return mean(square(last));
  };
  const auto step = compile(grad(looped));
  const PlannedGraph planned = step.prepare(weights[0], x);
  const Explanation why = planned.explain({.top = 0});
  ASSERT_GT(why.regions.size(), 1u);
  EXPECT_THAT(why.regions[1].name, HasSubstr("body of loop (explain_test.cc:"));
  int inside = 0;
  for (const ExplainedValue& value : why.values) inside += value.region != 0;
  EXPECT_GT(inside, 0);
  EXPECT_THAT(to_text(why), HasSubstr("in the body of loop (explain_test.cc:"));
}

TEST(ExplainPlan, HintsWithoutEffectAreListedFirstWithTheReason) {
  const auto hinted = [](const std::vector<Tensor>& w, Tensor t) {
    recompute(w[0]);
    for (const Tensor& each : w) t = recompute(tanh(matmul(t, each)));
    return mean(square(t));
  };
  const auto step = compile(grad(hinted));
  const Explanation why = step.prepare(weights, x).explain();
  ASSERT_GT(why.hints.size(), 2u);
  EXPECT_FALSE(why.hints.front().honoured);
  EXPECT_TRUE(why.hints.back().honoured);
  EXPECT_THAT(to_text(why), HasSubstr("no effect: an input is always there"));
}

TEST(ExplainPlan, ABadExpressionIsTheCallersErrorAtItsLine) {
  const auto step = compile(grad(net));
  const PlannedGraph planned = step.prepare(weights, x);
  try {
    planned.explain({.match = "h["});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_plan_option);
    EXPECT_THAT(error.what(), HasSubstr("'h[' is no regular expression"));
    EXPECT_THAT(error.what(), HasSubstr("explain_test.cc:"));
  }
}

}  // namespace
}  // namespace tidemark
