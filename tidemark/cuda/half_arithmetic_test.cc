// Arithmetic of 16-bit elements in their own format (device/half_arithmetic.h) has the CPU's bits, which come
// from f32: on the host, where the formulas are tried, and on a GPU, whose instructions are. Every number
// meets those on which rounding twice, fusing, flushing subnormal numbers or losing the sign of a zero shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/gpu.h"
#include "tests/support/group_values.h"
#include "tests/support/run_on_device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cuda/device.h"
#include "tidemark/cuda/target.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

constexpr DType halves[] = {DType::bf16, DType::f16};
constexpr std::size_t bit_patterns = 65536;

// Zero, numbers at the ends of the subnormal and of the normal ones, around 1 and with long significands,
// those whose products are subnormal, infinity and NaN; of both signs.
std::vector<std::uint16_t> hard_patterns(DType dtype) {
  const int digits = dtype == DType::bf16 ? 7 : 10;  // behind the point
  const int one = dtype == DType::bf16 ? 0x3f80 : 0x3c00, infinite = dtype == DType::bf16 ? 0x7f80 : 0x7c00;
  const int least = 1 << digits, last = least - 1;  // the least normal number
  const int root = one / 2 & ~last;                 // near the root of that
  std::vector<std::uint16_t> patterns;
  for (const int bits : {0,
                         1,
                         3,
                         last,
                         least,
                         least + 1,
                         root,
                         root + last / 3,
                         root - 8 * least + 5,
                         one - 1,
                         one,
                         one + 1,
                         one - least,
                         one + last,
                         one + last / 3,
                         one + least / 2,
                         one + 4 * least + 3,
                         infinite - least,
                         infinite - 1,
                         infinite,
                         infinite + 1,
                         infinite + least / 2}) {
    patterns.push_back(static_cast<std::uint16_t>(bits));
    patterns.push_back(static_cast<std::uint16_t>(bits | 0x8000));
  }
  return patterns;
}

// `shift` elements before them are not read.
Literal with_patterns(DType dtype, std::size_t shift, const std::vector<std::uint16_t>& patterns) {
  Literal literal{dtype, {static_cast<std::int64_t>(shift + patterns.size())}, {}};
  literal.bytes.resize(2 * (shift + patterns.size()));
  std::memcpy(literal.bytes.data() + 2 * shift, patterns.data(), 2 * patterns.size());
  return literal;
}

// Each of all numbers with each of the hard ones; neighbours differ in both.
std::vector<Literal> all_pairs(DType dtype, std::size_t shift = 0) {
  const std::vector<std::uint16_t> hard = hard_patterns(dtype);
  std::vector<std::uint16_t> x, y;
  for (std::size_t turn = 0; turn < hard.size(); ++turn) {
    for (std::size_t i = 0; i < bit_patterns; ++i) {
      x.push_back(static_cast<std::uint16_t>(i));
      y.push_back(hard[(turn + i) % hard.size()]);
    }
  }
  x.pop_back(), y.pop_back();  // packs leave a rest
  return {with_patterns(dtype, shift, x), with_patterns(dtype, shift, y)};
}

TEST(HalfArithmetic, FormulasHaveTheBitsOfTheCpu) {
  std::vector<std::unique_ptr<OpGroup>> groups;
  std::vector<KernelText> kernels;
  for (const DType dtype : halves) {
    const std::vector<Literal> pairs = all_pairs(dtype);
    for (const Op* op : {&op::add, &op::sub, &op::mul, &op::maximum, &op::minimum})
      groups.push_back(std::make_unique<OpGroup>(*op, pairs, Attrs{}));
    for (const Op* op : {&op::square, &op::neg, &op::abs, &op::relu})
      groups.push_back(std::make_unique<OpGroup>(*op, std::vector{pairs[0]}, Attrs{}));
  }
  for (const auto& group : groups) {
    kernels.push_back(write_group(std::span(&group->step, 1), fmt::format("half{}", kernels.size())));
    EXPECT_THAT(kernels.back().source, ::testing::HasSubstr("half_")) << group->name;
  }
  const HostKernels compiled(kernels, "-O1");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const OpGroup& group = *groups[g];
    SCOPED_TRACE(group.name);
    std::vector<const void*> in;
    for (const Literal& operand : group.operands) in.push_back(operand.bytes.data());
    Shifted memory(group.out[0].bytes(), 0);
    void* const out = memory.get();
    ASSERT_TRUE(compiled.run(g, in, std::span(&out, 1), nullptr));
    const Literal expected = run_kernel(*group.step.call.op, group.operands, group.attrs).results[0];
    EXPECT_EQ(bit_difference(literal_at(group.out[0], memory.get()), expected, NaNs::alike), "");
  }
}

// Each op by itself, and chains in which a rounding that is left out shows, with steps in f32 between.
Graph chains(DType dtype, std::int64_t shift, std::int64_t count, bool donated) {
  Graph graph;
  Builder builder(graph);
  const Type whole{dtype, {shift + count}};
  const Var first{builder, graph.add_input(whole, "x", donated)};
  const Var second{builder, graph.add_input(whole, "y")};
  const Var x = shift > 0 ? slice_axis(first, 0, shift, shift + count) : first;
  const Var y = shift > 0 ? slice_axis(second, 0, shift, shift + count) : second;
  const auto number = [&](double value) { return constant_like(x, value); };
  const auto give = [&](const Var& result) { graph.add_output(result.id()); };
  if (!donated) {
    for (const Var& result :
         {x + y, x - y, x * y, square(x), neg(x), abs(x), relu(x), maximum(x, y), minimum(x, y)})
      give(result);
    const Var product = x * y;
    give(product + x);
    const Var squared = square(y);
    give(x - squared);
    const Var sum = x + y;
    give(relu(sum));
    const Var root = sqrt(abs(x));
    const Var quotient = root / y;
    give(quotient * y - x);
  }
  Var chain = x;
  for (int i = 0; i < 4; ++i) {
    const Var product = chain * number(0.75);
    chain = product + y;
  }
  give(chain);
  return graph;
}

void expect_bits_on_gpu(DType dtype, std::int64_t shift, bool donated) {
  SCOPED_TRACE(fmt::format("{}, {} elements behind an aligned address, {}", name_of(dtype), shift,
                           donated ? "over an operand" : "beside the operands"));
  const std::vector<Literal> inputs = all_pairs(dtype, static_cast<std::size_t>(shift));
  const Graph graph = chains(dtype, shift, inputs[0].shape[0] - shift, donated);
  const std::shared_ptr<Device> gpu = device();
  const Plan plan = make_plan(graph, cuda_target());
  ThreadPool pool(1);
  const std::vector<Literal> expected = interpret(graph, inputs, pool);
  EXPECT_EQ(bit_difference(DeviceRun(*gpu, graph, plan).run(inputs), expected, NaNs::alike), "");
}

TEST(HalfArithmetic, InstructionsOfAGpuHaveTheBitsOfTheCpu) {
  TM_NEEDS_GPU();
  for (const DType dtype : halves) {
    for (const std::int64_t shift : {0, 1}) expect_bits_on_gpu(dtype, shift, false);
    expect_bits_on_gpu(dtype, 0, true);
  }
}

}  // namespace
}  // namespace tidemark::cuda
