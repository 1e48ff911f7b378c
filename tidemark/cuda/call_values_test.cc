// Kernels of single calls, compiled for the host, against the CPU's kernels: all samples of an op, and shapes
// that samples are too small for. More dtypes: call_values_slow_test.cc.
#include <gtest/gtest.h>

#include "tests/support/call_samples.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

constexpr DType few_dtypes[] = {DType::f32, DType::bf16};

TEST(CallValues, RowsOfSamples) {
  CallCases cases;
  for (const Op* op : row_ops) add_samples(cases, *op, few_dtypes, 2);
  expect_cpu_values(cases, row_nearness);
}

TEST(CallValues, RowsOfManyLengths) { expect_cpu_values(row_shapes(DType::f32), row_nearness); }

}  // namespace
}  // namespace tidemark::cuda
