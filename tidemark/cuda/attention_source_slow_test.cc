// More of attention_source_test.cc: every method with every option compiles for every architecture. A test
// for each pair of these, so that they run side by side.
#include <gtest/gtest.h>

#include "tests/support/attention_calls.h"
#include "tests/support/compiled_groups.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;
using Head = std::pair<DType, std::int64_t>;  // and its width

class AttentionSourceSlow : public ::testing::TestWithParam<std::tuple<Architecture, Head>> {};

TEST_P(AttentionSourceSlow, Compiles) {
  TM_NEEDS_COMPILER();
  const auto& [architecture, head] = GetParam();
  AttentionProblem problem{.dtype = head.first, .heads = 2, .queries = 20, .keys = 24, .width = head.second};
  expect_compiles(attention_text(problem), architecture);
  problem.attrs = {.causal = true, .dropout = 0.1};
  problem.mask = Shape{20, 24};
  expect_compiles(attention_text(problem), architecture);
}

INSTANTIATE_TEST_SUITE_P(EveryArchitecture, AttentionSourceSlow,
                         ::testing::Combine(::testing::ValuesIn(architectures),
                                            ::testing::Values(Head{DType::bf16, 5}, Head{DType::bf16, 64},
                                                              Head{DType::bf16, 80}, Head{DType::bf16, 128},
                                                              Head{DType::bf16, 256}, Head{DType::f16, 128},
                                                              Head{DType::f32, 64}, Head{DType::f32, 256},
                                                              Head{DType::f64, 64}, Head{DType::bf16, 300})));

}  // namespace
}  // namespace tidemark::cuda
