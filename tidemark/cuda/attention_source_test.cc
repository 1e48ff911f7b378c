// Kernels of attention, compiled for the host with tensor cores and copies as functions, compute what the CPU
// computes: to rounding in f32 and f64, to a few roundings of the dtype in 16 bits.
#include "tidemark/cuda/attention_source.h"

#include <gtest/gtest.h>

#include "tests/support/attention_calls.h"
#include "tests/support/compiled_groups.h"
#include "tests/support/law_case.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

double allowed_error(DType dtype) {
  constexpr double errors[] = {1e-5, 1e-13, 0x1p-7, 0x1p-10};  // f32, f64, bf16, f16
  return errors[static_cast<std::size_t>(dtype)];
}

// Threads in both orders, at aligned addresses and at others.
void expect_results_of_the_cpu(const std::vector<std::unique_ptr<AttentionCall>>& calls) {
  std::vector<KernelText> kernels;
  for (const auto& call : calls) {
    ASSERT_TRUE(has_attention_kernel(call->call));
    kernels.push_back(write_attention(call->call, fmt::format("attention{}", kernels.size())));
    EXPECT_EQ(kernels.back().scratch_bytes, attention_scratch(call->call));
  }
  const HostKernels compiled(kernels, "-O1");
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const AttentionCall& call = *calls[c];
    SCOPED_TRACE(call.name + "\n" + kernels[c].source);
    const std::vector<Literal> expected = attention_reference(call),
                               got = run_on_host(compiled, c, call, false);
    for (std::size_t r = 0; r < got.size(); ++r) {
      // The second result of attention is not of the operands' dtype.
      const double error = attention_error(got[r], expected[r]);
      EXPECT_LE(error, allowed_error(call.out[r].dtype)) << "result " << r;
    }
    EXPECT_EQ(bit_difference(run_on_host(compiled, c, call, true, 1), got, NaNs::alike), "");
  }
}
void expect_results_of_the_cpu(const std::vector<AttentionProblem>& problems) {
  std::vector<std::unique_ptr<AttentionCall>> calls;
  for (const AttentionProblem& problem : problems) {
    for (auto& call : attention_calls(problem)) calls.push_back(std::move(call));
  }
  expect_results_of_the_cpu(calls);
}

constexpr AttentionAttrs causal{.causal = true};

TEST(AttentionSource, SixteenBitsOnTensorCores) {
  expect_results_of_the_cpu({
      {.queries = 130, .keys = 130, .width = 64, .attrs = causal},
      {.dtype = DType::f16, .heads = 2, .queries = 64, .keys = 257, .width = 80},
      {.queries = 257, .keys = 130, .width = 128, .attrs = causal},  // the first queries see nothing
      {.queries = 130, .keys = 70, .width = 144},
      {.dtype = DType::f16,
       .batch = 2,
       .heads = 4,
       .kv_heads = 2,
       .queries = 70,
       .keys = 90,
       .width = 33,
       .attrs = causal},
  });
}

TEST(AttentionSource, SixteenBitsWithOptions) {
  expect_results_of_the_cpu({
      {.batch = 2, .heads = 2, .kv_heads = 1, .queries = 70, .keys = 130, .mask = Shape{2, 1, 70, 130}},
      {.dtype = DType::f16, .heads = 2, .queries = 70, .keys = 80, .attrs = causal, .mask = Shape{2, 70, 1}},
      {.heads = 2, .queries = 66, .keys = 132, .attrs = {.causal = true, .dropout = 0.3}},
      {.heads = 2, .queries = 66, .keys = 131, .attrs = {.dropout = 0.3}, .mask = Shape{131}},
      {.queries = 66, .keys = 66, .width = 16, .attrs = {.scale = -0.3}},
  });
}

TEST(AttentionSource, SinglePrecisionInTiles) {
  expect_results_of_the_cpu({
      {.dtype = DType::f32, .queries = 130, .keys = 130, .width = 64, .attrs = causal},
      {.dtype = DType::f32, .heads = 4, .kv_heads = 2, .queries = 64, .keys = 257, .width = 80},
      {.dtype = DType::f32, .queries = 130, .keys = 70, .width = 130, .attrs = causal},
      {.dtype = DType::f32,
       .heads = 2,
       .queries = 66,
       .keys = 131,
       .width = 5,
       .attrs = {.scale = -1, .dropout = 0.3},
       .mask = Shape{131}},
  });
}

TEST(AttentionSource, WhateverElseRowByRow) {
  expect_results_of_the_cpu({
      {.dtype = DType::f64,
       .heads = 4,
       .kv_heads = 2,
       .queries = 20,
       .keys = 130,
       .width = 64,
       .attrs = causal},
      {.dtype = DType::f64,
       .queries = 130,
       .keys = 20,
       .width = 9,
       .attrs = {.causal = true, .dropout = 0.3},
       .mask = Shape{130, 20}},
      {.dtype = DType::f64, .queries = 3, .keys = 4, .width = 1100},
      {.dtype = DType::bf16, .queries = 30, .keys = 40, .width = 260},
      {.dtype = DType::f32, .queries = 5, .keys = 6, .width = 300, .attrs = causal},
  });
}

TEST(AttentionSource, OperandsMayLieInAnySteps) {
  std::vector<AttentionProblem> problems;
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
    for (const auto layout : {AttentionProblem::time_first, AttentionProblem::time_last}) {
      problems.push_back({.dtype = dtype,
                          .batch = 2,
                          .heads = 4,
                          .kv_heads = 2,
                          .queries = 10,
                          .keys = 12,
                          .width = 8,
                          .layout = layout});
    }
  }
  expect_results_of_the_cpu(problems);
}

// Whether a query or a key is NaN: what looks at it is NaN, and a query that sees nothing is 0 all the same.
TEST(AttentionSource, NaNIsNotTakenForAHiddenQuery) {
  std::vector<std::unique_ptr<AttentionCall>> calls;
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
    const Shape q_shape = {1, 1, 6, 4}, k_shape = {1, 1, 70, 4};
    std::vector<double> q = values_of(random_literal(dtype, q_shape, 1, -2, 2)), bits(6 * 70, 1);
    for (std::size_t c = 0; c < 4; ++c) q[2 * 4 + c] = nan;
    std::fill_n(bits.begin() + 5 * 70, 70, 0.0);  // the last query is hidden
    std::fill_n(bits.begin() + 2 * 70, 69, 0.0);
    calls.push_back(std::make_unique<AttentionCall>(
        op::attention,
        std::vector{literal_of(dtype, q_shape, q), random_literal(dtype, k_shape, 2, -2, 2),
                    random_literal(dtype, k_shape, 3, -2, 2), literal_of(DType::boolean, {6, 70}, bits)},
        pack(AttentionAttrs{})));
  }
  expect_results_of_the_cpu(calls);
}

// Of no queries, keys, heads or columns.
TEST(AttentionSource, OfNothing) {
  std::vector<AttentionProblem> problems;
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
    problems.push_back({.dtype = dtype, .queries = 0, .keys = 3, .width = 8});
    problems.push_back({.dtype = dtype, .queries = 3, .keys = 0, .width = 8});
    problems.push_back({.dtype = dtype, .heads = 0, .queries = 3, .keys = 2, .width = 8});
    problems.push_back({.dtype = dtype, .queries = 3, .keys = 2, .width = 0});
  }
  expect_results_of_the_cpu(problems);
}

// The samples on which the laws try the CPU's kernels.
TEST(AttentionSource, LawsSamplesInEveryDtype) {
  std::vector<std::unique_ptr<AttentionCall>> calls;
  for (const Op* op : {&op::attention, &op::attention_grad}) {
    for (const LawCase& law : cases_of(*op))
      calls.push_back(std::make_unique<AttentionCall>(*op, law.operands(), law.sample.attrs));
  }
  expect_results_of_the_cpu(calls);
}

// For every architecture and with more options: attention_source_slow_test.cc.
TEST(AttentionSource, CompilesForAGpu) {
  TM_NEEDS_COMPILER();
  expect_compiles(attention_text({.queries = 70, .keys = 80, .width = 64, .attrs = causal}), {9, 0});
  expect_compiles(attention_text({.dtype = DType::f32, .queries = 70, .keys = 80, .width = 64}), {8, 0});
  expect_compiles(attention_text({.dtype = DType::f64, .queries = 70, .keys = 80, .width = 64}), {10, 0});
}

// On 9.0 by warpgroups, where width and options allow it: the same kernels, launched in another way.
TEST(AttentionSource, WarpgroupsOn90) {
  const auto texts = [](const AttentionProblem& problem) {
    std::vector<KernelText> list;
    for (const auto& call : attention_calls(problem)) list.push_back(write_attention(call->call));
    return list;
  };
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const KernelText& text :
         texts({.dtype = dtype, .heads = 6, .kv_heads = 2, .queries = 130, .keys = 300, .attrs = causal})) {
      ASSERT_EQ(text.launches_on_90.size(), text.launches.size());
      for (std::size_t l = 0; l < text.launches.size(); ++l) {
        const KernelLaunch &launch = text.launches[l], &on_90 = text.launches_on_90[l];
        EXPECT_EQ(on_90.kernel, launch.kernel);
        // 128 rows of a head each: of 6 heads of queries, or of 2 heads of keys.
        EXPECT_EQ(on_90.blocks, launch.kernel.ends_with("_keys") ? 2 * 3 : 6 * 2);
        EXPECT_EQ(on_90.threads, 384);
        EXPECT_LE(on_90.shared_bytes, 227 << 10);  // of a block of threads on 9.0
      }
    }
  }
  const AttentionProblem others[] = {
      {.queries = 70, .keys = 70, .width = 63},
      {.queries = 70, .keys = 70, .width = 128},
      {.dtype = DType::f32, .queries = 70, .keys = 70},
      {.queries = 70, .keys = 70, .attrs = {.dropout = 0.1}},
      {.queries = 70, .keys = 70, .mask = Shape{70}},
  };
  for (const AttentionProblem& problem : others) {
    for (const KernelText& text : texts(problem)) EXPECT_TRUE(text.launches_on_90.empty());
  }
}

TEST(AttentionSource, KernelsHaveTheSharedMemoryOfEveryArchitecture) {
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
    for (const std::int64_t width : {3, 64, 128, 129, 256, 300}) {
      for (const auto& call : attention_calls({.dtype = dtype, .queries = 2, .keys = 2, .width = width})) {
        for (const KernelLaunch& launch : write_attention(call->call).launches)
          EXPECT_LE(launch.shared_bytes, 163 << 10) << launch.kernel;  // of a block of threads on 8.0
      }
    }
  }
}

}  // namespace
}  // namespace tidemark::cuda
