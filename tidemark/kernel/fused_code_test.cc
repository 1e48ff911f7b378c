#include "tidemark/kernel/fused_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tidemark/kernel/fused.h"

namespace tidemark {
namespace {

// What each op means, element by element.
float number(TileOp op, float x, float y) {
  using enum TileOp;
  switch (op) {
    case neg:
      return -x;
    case abs:
      return std::abs(x);
    case square:
      return x * x;
    case relu:
      return x != x || x > 0 ? x : 0.0f;
    case sqrt:
      return std::sqrt(x);
    case reciprocal:
      return 1 / x;
    case rsqrt:
      return 1 / std::sqrt(x);
    case add:
      return x + y;
    case sub:
      return x - y;
    case mul:
      return x * y;
    case div:
      return x / y;
#if defined(__aarch64__)  // of two zeros the one that is larger or smaller, elsewhere the second
    case maximum:
      return x != x || x > y || (x == y && !std::signbit(x)) ? x : y;
    default:
      return x != x || x < y || (x == y && std::signbit(x)) ? x : y;
#else
    case maximum:
      return x != x || x > y ? x : y;
    default:
      return x != x || x < y ? x : y;
#endif
  }
}
bool truth(TileOp op, float x, float y) {
  using enum TileOp;
  switch (op) {
    case equal:
      return x == y;
    case not_equal:
      return x != y;
    case less:
      return x < y;
    case less_equal:
      return x <= y;
    case greater:
      return x > y;
    default:
      return x >= y;
  }
}

template <TileOp op>
void number_tile(const TileArgs& args) {
  constexpr bool two = op >= TileOp::add;
  for (std::int64_t i = 0; i < args.n; ++i) {
    const float x = args.operand<float>(0)[i];
    args.result<float>()[i] = number(op, x, two ? args.operand<float>(1)[i] : x);
  }
}
template <TileOp op>
void truth_tile(const TileArgs& args) {
  for (std::int64_t i = 0; i < args.n; ++i)
    args.result<bool>()[i] = truth(op, args.operand<float>(0)[i], args.operand<float>(1)[i]);
}
void and_tile(const TileArgs& args) {
  for (std::int64_t i = 0; i < args.n; ++i)
    args.result<bool>()[i] = args.operand<bool>(0)[i] && args.operand<bool>(1)[i];
}
void not_tile(const TileArgs& args) {
  for (std::int64_t i = 0; i < args.n; ++i) args.result<bool>()[i] = !args.operand<bool>(0)[i];
}
void select_tile(const TileArgs& args) {
  for (std::int64_t i = 0; i < args.n; ++i)
    args.result<float>()[i] =
        args.operand<bool>(0)[i] ? args.operand<float>(1)[i] : args.operand<float>(2)[i];
}

struct Known {
  TileCode code;
  int operands;
};
template <TileOp op>
Known number_op(int operands) {
  return {{.tile = number_tile<op>, .op = op}, operands};
}
template <TileOp op>
Known truth_op() {
  return {{.tile = truth_tile<op>, .op = op}, 2};
}

// Any NaN stands for all: which of two NaN a sum hands on is up to the compiler of the loops above.
void expect_equal(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(a[i]), std::bit_cast<std::uint32_t>(b[i])) << i;
  }
}

TEST(FusedCode, RandomRunsGiveTheBitsOfTheirTiles) {
  using enum TileOp;
  const Known numbers[] = {number_op<neg>(1),    number_op<abs>(1),  number_op<square>(1),
                           number_op<relu>(1),   number_op<sqrt>(1), number_op<reciprocal>(1),
                           number_op<rsqrt>(1),  number_op<add>(2),  number_op<sub>(2),
                           number_op<mul>(2),    number_op<div>(2),  number_op<maximum>(2),
                           number_op<minimum>(2)};
  const Known truths[] = {truth_op<equal>(),      truth_op<not_equal>(), truth_op<less>(),
                          truth_op<less_equal>(), truth_op<greater>(),   truth_op<greater_equal>()};
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  ThreadPool pool(2);
  for (int trial = 0; trial < 240; ++trial) {
    SCOPED_TRACE(trial);
    const std::int64_t sizes[] = {1, 15, 16, 17, 64, 1000, 40003};
    const Shape shape{3, sizes[pick(0, 6)]};
    const std::int64_t count = element_count(shape);
    const int inputs = pick(1, 4), steps = pick(2, 30);
    std::vector<std::vector<float>> data;
    std::vector<TensorRef> in;
    for (int k = 0; k < inputs; ++k) {
      const Shape own = pick(0, 3) == 0 ? Shape{} : pick(0, 3) == 0 ? Shape{3, 1} : shape;
      data.emplace_back();
      for (std::int64_t i = 0; i < element_count(own); ++i) {
        const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f};
        data.back().push_back(pick(0, 9) == 0 ? odd[pick(0, 5)]
                                              : static_cast<float>(pick(-3000, 3000)) * 0.001f);
      }
      in.push_back({.data = nullptr, .dtype = DType::f32, .shape = own, .strides = dense_strides(own)});
    }
    for (std::size_t k = 0; k < in.size(); ++k) in[k].data = reinterpret_cast<std::byte*>(data[k].data());
    std::vector<FusedStep> program;
    std::vector<GroupRef> floats, bools;
    for (int k = 0; k < inputs; ++k) floats.push_back({GroupRef::operand, k});
    int results = 0;
    const auto any = [&](const std::vector<GroupRef>& list) {
      return list[static_cast<std::size_t>(pick(0, static_cast<int>(list.size()) - 1))];
    };
    for (int s = 0; s < steps; ++s) {
      FusedStep step{
          .code = {}, .in = {}, .out = {GroupRef::temporary, s}, .dtype = DType::f32, .shape = shape};
      const int kind = pick(0, 9);
      if (kind < 7 || s + 1 == steps) {
        const Known& known = numbers[pick(0, 12)];
        step.code = known.code;
        if (pick(0, 9) == 0) step.code.op = other;  // a tile between two segments
        for (int k = 0; k < known.operands; ++k) step.in.push_back(any(floats));
      } else if (kind == 9 && !bools.empty()) {
        step.code = {.tile = select_tile, .op = select, .staging = Staging::storage};
        step.in = {any(bools), any(floats), any(floats)};
      } else if (kind == 8 && !bools.empty()) {
        const bool both = pick(0, 1);
        step.code = both ? TileCode{.tile = and_tile, .op = logical_and}
                         : TileCode{.tile = not_tile, .op = logical_not};
        step.in = {any(bools)};
        if (both) step.in.push_back(any(bools));
        step.dtype = DType::boolean;
      } else {
        step.code = truths[pick(0, 5)].code;
        step.in = {any(floats), any(floats)};
        step.dtype = DType::boolean;
      }
      const bool number = step.dtype == DType::f32;
      if (number && (s + 1 == steps || pick(0, 5) == 0)) step.out = {GroupRef::result, results++};
      (number ? floats : bools).push_back(step.out);
      program.push_back(step);
    }
    std::vector<std::vector<float>> made[2];
    for (int way = 0; way < 2; ++way) {
      std::vector<TensorRef> out;
      made[way].assign(static_cast<std::size_t>(results),
                       std::vector<float>(static_cast<std::size_t>(count)));
      for (std::vector<float>& memory : made[way]) {
        out.push_back({.data = reinterpret_cast<std::byte*>(memory.data()),
                       .dtype = DType::f32,
                       .shape = shape,
                       .strides = dense_strides(shape)});
      }
      FusedProgram(shape, in, program).run({.in = in, .out = out, .pool = &pool});
      for (FusedStep& step : program) step.code.op = other;  // the second time as tiles
    }
    for (std::size_t r = 0; r < made[0].size(); ++r) expect_equal(made[0][r], made[1][r]);
    if (HasFailure()) break;
  }
}

TEST(FusedCode, EqualRunsShareTheirCode) {
  CodeSegment segment{
      .inputs = {{}, {.invariant = true}},
      .steps = {{.op = TileOp::mul, .in = {0, 1}}, {.op = TileOp::add, .in = {2, 1}, .stored = true}}};
  const auto first = MachineCode::make(segment), second = MachineCode::make(segment);
  EXPECT_EQ(first, second);
  segment.steps[0].op = TileOp::sub;
  const auto other = MachineCode::make(segment);
  EXPECT_TRUE(other == nullptr || other != first);
}

}  // namespace
}  // namespace tidemark
