#include "tidemark/kernel/fused_signs.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace tidemark {
namespace {

using enum TileOp;

float value_of(TileOp op, float x, float y) {
  switch (op) {
    case neg:
      return -x;
    case abs:
      return std::abs(x);
    case square:
      return x * x;
    case add:
      return x + y;
    case sub:
      return x - y;
    case mul:
      return x * y;
    case div:
      return x / y;
    default:
      return x > 0 ? x : 0.0f;
  }
}

std::vector<float> stored(const CodeSegment& segment, std::vector<float> values) {
  std::vector<float> out;
  for (const CodeSegment::Step& step : segment.steps) {
    values.push_back(value_of(step.op, values[static_cast<std::size_t>(step.in[0])],
                              values[static_cast<std::size_t>(step.in[1])]));
    if (step.stored) out.push_back(values.back());
  }
  return out;
}

TEST(FusedSigns, RandomRunsKeepTheirBits) {
  std::mt19937 random(5);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const TileOp ops[] = {neg, neg, abs, square, add, sub, mul, div, relu};
  const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, 1.0f, -1.0f, 0.75f};
  for (int trial = 0; trial < 3000; ++trial) {
    SCOPED_TRACE(trial);
    CodeSegment segment{.inputs = {{}, {}, {.invariant = true}}, .steps = {}};
    const int steps = pick(2, 12);
    for (int s = 0; s < steps; ++s) {
      segment.steps.push_back({.op = ops[pick(0, 8)],
                               .in = {pick(0, 2 + s), pick(0, 2 + s)},
                               .stored = s + 1 == steps || pick(0, 3) == 0});
    }
    const std::vector<float> in = {odd[pick(0, 6)], odd[pick(0, 6)], odd[pick(0, 6)]};
    const std::vector<float> a = stored(segment, in), b = stored(without_signs(segment), in);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(a[i]), std::bit_cast<std::uint32_t>(b[i])) << i;
    }
  }
}

TEST(FusedSigns, ASumTakesInTheSignOfAProduct) {
  const CodeSegment segment{
      .inputs = {{}, {}, {}},
      .steps = {
          {.op = neg, .in = {0}}, {.op = mul, .in = {3, 1}}, {.op = add, .in = {4, 2}, .stored = true}}};
  const CodeSegment expected{.inputs = {{}, {}, {}},
                             .steps = {{.op = mul, .in = {0, 1}}, {.op = sub, .in = {2, 3}, .stored = true}}};
  EXPECT_EQ(without_signs(segment), expected);
}

}  // namespace
}  // namespace tidemark
