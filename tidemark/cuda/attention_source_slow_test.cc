// More of attention_source_test.cc: every method with every option compiles for every architecture.
#include <gtest/gtest.h>

#include "tests/support/attention_calls.h"
#include "tests/support/compiled_groups.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

TEST(AttentionSourceSlow, CompilesForEveryArchitecture) {
  TM_NEEDS_COMPILER();
  constexpr std::pair<DType, std::int64_t> heads[] = {
      {DType::bf16, 5},  {DType::bf16, 64}, {DType::bf16, 80}, {DType::bf16, 128}, {DType::bf16, 256},
      {DType::f16, 128}, {DType::f32, 64},  {DType::f32, 256}, {DType::f64, 64},   {DType::bf16, 300}};
  for (const Architecture& architecture : architectures) {
    for (const auto& [dtype, width] : heads) {
      AttentionProblem problem{.dtype = dtype, .heads = 2, .queries = 20, .keys = 24, .width = width};
      expect_compiles(attention_text(problem), architecture);
      problem.attrs = {.causal = true, .dropout = 0.1};
      problem.mask = Shape{20, 24};
      expect_compiles(attention_text(problem), architecture);
    }
  }
}

}  // namespace
}  // namespace tidemark::cuda
