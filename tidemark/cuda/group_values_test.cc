// Generated kernels, compiled for the host, compute what the CPU's kernels compute: the same bits where every
// step is rounded once, a few units of the last place apart where a function is not. The GPU's own functions
// differ from the host's by as much again; what runs there is tested there.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/support/call_values.h"
#include "tests/support/group_values.h"
#include "tidemark/ops/reduction/reduce.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

TEST(GroupValues, RandomGroupsHaveTheBitsOfTheirStepsOnTheCpu) { expect_exact_groups(0, 60, false); }

TEST(GroupValues, ReductionsFoldInTheOrderOfTheCpu) { expect_exact_groups(1000, 60, true); }

TEST(GroupValues, EveryOpInEveryDtype) {
  const std::vector<std::unique_ptr<OpGroup>> groups = every_op_group(203);
  std::vector<KernelText> kernels;
  for (const auto& group : groups)
    kernels.push_back(
        write_group(std::span(&group->step, 1), fmt::format("k{}_{}", kernels.size(), group->name)));
  const HostKernels compiled(kernels);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const OpGroup& group = *groups[g];
    SCOPED_TRACE(group.name);
    const Op& op = *group.step.call.op;
    const Literal expected = run_kernel(op, group.operands, group.attrs).results[0];
    std::vector<const void*> in;
    for (const Literal& operand : group.operands) in.push_back(operand.bytes.data());
    Shifted memory(group.out[0].bytes(), 0);
    void* const out = memory.get();
    ASSERT_TRUE(compiled.run(g, in, std::span(&out, 1), nullptr));
    const Literal got = literal_at(group.out[0], memory.get());
    if (is_exact(op)) {
      EXPECT_EQ(bit_difference(got, expected, NaNs::alike), "");
      continue;
    }
    const std::vector<double> a = values_of(got), b = values_of(expected);
    // In f64 the tail of gelu is the product of a rounded number with a steep function of it; its slope goes
    // through 0 as a difference.
    const bool is_steep = &op == &op::gelu && got.dtype == DType::f64;
    const double allowed = size_of(got.dtype) == 2 ? 1 : is_steep ? 16 : 4;
    const double floor = &op == &op::gelu_slope ? 1 : 0;
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      worst = std::max(worst, units_apart(got.dtype, a[i], b[i], floor));
    EXPECT_LE(worst, allowed);
  }
}

// Shapes that random groups are too small for: many chunks that threads share, results and folded elements in
// turns, nothing to fold. Threads run in both orders.
TEST(GroupValues, ReductionsOfAllShapesHaveTheBitsOfTheCpu) {
  struct Case {
    const Op& op;
    DType dtype;
    Shape shape;
    Dims axes;
  };
  const Case cases[] = {
      {op::reduce_sum, DType::f32, {5, 40000}, {1}},
      {op::reduce_sum, DType::f32, {40000}, {0}},
      {op::reduce_mean, DType::f32, {33, 5000}, {0, 1}},
      {op::reduce_sum, DType::bf16, {1200000}, {0}},  // many chunks of one result
      {op::reduce_max, DType::f32, {3, 9000}, {1}},   // one chunk of a result
      {op::reduce_sum, DType::f32, {90, 2, 130}, {0, 2}},
      {op::reduce_sum, DType::f32, {3000, 40}, {0}},
      {op::reduce_mean, DType::bf16, {3000, 70}, {0}},
      {op::reduce_mean, DType::f16, {70, 2100}, {1}},
      {op::reduce_sum, DType::f64, {64, 3, 50, 33}, {0, 2}},
      {op::reduce_sum, DType::f32, {64, 3, 50, 33}, {1, 3}},
      {op::reduce_prod, DType::i32, {7, 1500}, {1}},
      {op::reduce_sum, DType::u8, {2, 5000}, {0, 1}},
      {op::reduce_max, DType::i64, {9, 1, 1100}, {0, 2}},
      {op::reduce_min, DType::f32, {33, 1024}, {1}},
      {op::reduce_sum, DType::f32, {2, 2500, 3}, {0}},
      {op::reduce_sum, DType::f32, {0, 5}, {0}},
      {op::reduce_mean, DType::f32, {5, 0}, {1}},
      {op::reduce_sum, DType::f32, {0, 5}, {1}},
      {op::reduce_sum, DType::f32, {4, 6}, {}},
      {op::reduce_mean, DType::f64, {}, {}},
  };
  std::vector<std::unique_ptr<OpGroup>> groups;
  std::vector<KernelText> kernels;
  for (const Case& c : cases) {
    const Literal operand =
        random_literal(c.dtype, c.shape, 3, is_float(c.dtype) ? -1 : 0, is_float(c.dtype) ? 1 : 9);
    groups.push_back(std::make_unique<OpGroup>(c.op, std::vector{operand}, pack(ReduceAttrs{c.axes, false})));
    kernels.push_back(write_group(std::span(&groups.back()->step, 1), fmt::format("fold{}", kernels.size())));
  }
  const HostKernels compiled(kernels);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const OpGroup& group = *groups[g];
    SCOPED_TRACE(fmt::format("{} {}", group.name, to_string(group.in[0].shape)));
    const Literal expected = run_kernel(*group.step.call.op, group.operands, group.attrs).results[0];
    for (const bool descending : {false, true}) {
      Shifted memory(group.out[0].bytes(), 0), scratch(kernels[g].scratch_bytes, 0);
      const void* const in = group.operands[0].bytes.data();
      void* const out = memory.get();
      ASSERT_TRUE(compiled.run(g, std::span(&in, 1), std::span(&out, 1), scratch.get(), descending));
      EXPECT_EQ(bit_difference(literal_at(group.out[0], memory.get()), expected, NaNs::alike), "");
    }
  }
}

TEST(GroupValues, ElementsMayLieBillionsOfBytesApart) {
  constexpr std::int64_t step = std::int64_t{3} << 29, count = 4;
  void* const memory = ::mmap(nullptr, static_cast<std::size_t>(step * count), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no 6 GiB of addresses";
  OpGroup group(op::neg, {counting(DType::u8, {count})}, {});
  const Strides strides{step};
  group.step.call.in_strides = std::span(&strides, 1);
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<std::byte*>(memory)[i * step] = group.operands[0].bytes[static_cast<std::size_t>(i)];
  const HostKernels compiled({write_group(std::span(&group.step, 1))});
  Shifted result(count, 0);
  const void* const in = memory;
  void* const out = result.get();
  ASSERT_TRUE(compiled.run(0, std::span(&in, 1), std::span(&out, 1), nullptr));
  EXPECT_EQ(bit_difference(literal_at(group.out[0], result.get()),
                           run_kernel(op::neg, group.operands, {}).results[0]),
            "");
  ::munmap(memory, static_cast<std::size_t>(step * count));
}

// Rows that are the same for all: whole packs, single elements, tiles with edges, more rows than a thread
// takes, at aligned and other addresses and with the result over an operand.
TEST(GroupValues, ThreadsGoDownColumnsWhereOperandsAreTheSameInAllRows) {
  struct Case {
    const Op& op;
    DType dtype;
    Shape shape;
    std::size_t whole;  // operands of the shape; then numbers of columns, and one in the dtype
    std::size_t numbers;
    bool column;
  };
  const Case cases[] = {{op::add, DType::f32, {300, 40}, 1, 0, true},
                        {op::mul, DType::bf16, {70, 7}, 1, 0, true},
                        {op::add, DType::bf16, {64, 520}, 1, 0, true},
                        {op::normalize_columns, DType::bf16, {5, 9, 13, 24}, 1, 2, true},
                        {op::normalize_columns, DType::f32, {80, 9}, 1, 2, true},
                        {op::normalize_columns_grad, DType::bf16, {2, 700, 64}, 2, 4, false},
                        {op::normalize_columns_grad, DType::bf16, {66, 1000}, 2, 4, true},
                        {op::normalize_columns_grad, DType::f64, {90, 20}, 2, 4, true}};
  std::vector<std::unique_ptr<OpGroup>> groups;
  std::vector<KernelText> kernels;
  for (const Case& c : cases) {
    std::vector<Literal> operands;
    const Shape column = {c.shape.back()};
    const DType number = c.dtype == DType::f64 ? DType::f64 : DType::f32;
    for (std::size_t i = 0; i < c.whole; ++i)
      operands.push_back(random_literal(c.dtype, c.shape, operands.size() + 1, -1, 1));
    for (std::size_t i = 0; i < c.numbers; ++i)
      operands.push_back(random_literal(number, column, operands.size() + 1, -1, 1));
    if (c.column) operands.push_back(random_literal(c.dtype, column, operands.size() + 1, -1, 1));
    groups.push_back(std::make_unique<OpGroup>(c.op, std::move(operands), Attrs{}));
    kernels.push_back(write_group(std::span(&groups.back()->step, 1), fmt::format("rows{}", kernels.size())));
    EXPECT_NE(kernels.back().source.find("walk_columns"), std::string::npos);
  }
  const HostKernels compiled(kernels);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const OpGroup& group = *groups[g];
    SCOPED_TRACE(fmt::format("{} {}", group.name, to_string(group.in[0].shape)));
    const CallCase call(*group.step.call.op, group.operands, group.attrs);
    const Literal expected = cpu_results(call)[0];
    for (const bool shifted : {false, true}) {
      for (const bool in_place : {false, true}) {
        std::vector<Shifted> memory;
        std::vector<const void*> in;
        for (const Literal& operand : group.operands) {
          memory.emplace_back(std::ssize(operand.bytes), shifted ? size_of(operand.dtype) : 0);
          std::memcpy(memory.back().get(), operand.bytes.data(), operand.bytes.size());
          in.push_back(memory.back().get());
        }
        Shifted result(group.out[0].bytes(), shifted ? size_of(group.out[0].dtype) : 0);
        std::byte* const at = in_place ? memory[0].get() : result.get();
        void* const out = at;
        ASSERT_TRUE(compiled.run(g, in, std::span(&out, 1), nullptr, shifted));
        EXPECT_EQ(bit_difference(literal_at(group.out[0], at), expected), "");
      }
    }
  }
}

// Those are cut into slabs: to a few units of the last place, and the same bits whoever comes first.
TEST(GroupValues, LargeSumsOfColumnsAreThoseOfTheCpu) {
  struct Case {
    const Op& op;
    DType dtype;
    Shape shape;
    Dims axes;
    double allowed;  // relative to the largest
  };
  const Case cases[] = {{op::reduce_sum, DType::f32, {1500, 704}, {0}, 1e-6},
                        {op::reduce_mean, DType::bf16, {16, 66, 1000}, {0, 1}, 4e-3},
                        {op::reduce_max, DType::f32, {3, 700, 501}, {1}, 0},
                        {op::reduce_sum, DType::i32, {1100, 960}, {0}, 0}};
  std::vector<KernelText> kernels;
  std::vector<std::unique_ptr<OpGroup>> groups;
  for (const Case& c : cases) {
    const Literal operand =
        random_literal(c.dtype, c.shape, 5, is_float(c.dtype) ? -1 : 0, is_float(c.dtype) ? 1 : 9);
    groups.push_back(std::make_unique<OpGroup>(c.op, std::vector{operand}, pack(ReduceAttrs{c.axes, false})));
    kernels.push_back(
        write_group(std::span(&groups.back()->step, 1), fmt::format("large{}", kernels.size())));
    EXPECT_NE(kernels.back().source.find("fold_columns"), std::string::npos);
  }
  const HostKernels compiled(kernels, "-O1");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    SCOPED_TRACE(g);
    const OpGroup& group = *groups[g];
    const Literal expected = run_kernel(*group.step.call.op, group.operands, group.attrs).results[0];
    const void* in = group.operands[0].bytes.data();
    std::vector<double> scratch(static_cast<std::size_t>(kernels[g].scratch_bytes / 8));
    EXPECT_EQ(kernels[g].scratch_bytes, group_scratch(group.step.call));
    std::vector<Literal> got;
    for (const bool descending : {false, true}) {
      Shifted memory(group.out[0].bytes(), 0);
      void* const out = memory.get();
      ASSERT_TRUE(compiled.run(g, std::span(&in, 1), std::span(&out, 1), scratch.data(), descending));
      got.push_back(literal_at(group.out[0], memory.get()));
    }
    EXPECT_EQ(bit_difference(got[0], got[1]), "");
    const std::vector<double> a = values_of(got[0]), b = values_of(expected);
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(b[i]));
      apart = std::max(apart, std::abs(a[i] - b[i]));
    }
    EXPECT_LE(apart, cases[g].allowed * largest);
  }
}

}  // namespace
}  // namespace tidemark::cuda
