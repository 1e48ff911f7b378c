// More of attention_source_test.cc: every method with every option compiles for every architecture.
#include <gtest/gtest.h>

#include "tests/support/attention_calls.h"
#include "tests/support/compiled_groups.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

TEST(AttentionSourceSlow, CompilesForEveryArchitecture) {
  TM_NEEDS_COMPILER();
  for (const Architecture& architecture : architectures) {
    for (const DType dtype : {DType::bf16, DType::f16, DType::f32, DType::f64}) {
      for (const std::int64_t width : {5, 64, 80, 128, 256, 300}) {
        for (const bool causal : {false, true}) {
          AttentionProblem problem{.dtype = dtype, .heads = 2, .queries = 20, .keys = 24, .width = width};
          problem.attrs.causal = causal;
          expect_compiles(attention_text(problem), architecture);
          problem.attrs.dropout = 0.1;
          problem.mask = Shape{20, 24};
          expect_compiles(attention_text(problem), architecture);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tidemark::cuda
