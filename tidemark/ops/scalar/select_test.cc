#include <gtest/gtest.h>

#include "tests/support/run_kernel.h"
#include "tidemark/base/error.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

using namespace testing;
using Values = std::vector<double>;

TEST(Select, ChoosesElementByElementForEveryDtype) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto dtype = static_cast<DType>(t);
    Values condition, a, b, expected;
    for (int i = 0; i < 77; ++i) {
      condition.push_back(i % 3 == 0);
      a.push_back(i % 2);
      b.push_back(i % 5 == 0);
      expected.push_back(i % 3 == 0 ? a.back() : b.back());
    }
    const Shape shape{77};
    const Literal z = run(op::select, {literal_of(DType::boolean, shape, condition),
                                       literal_of(dtype, shape, a), literal_of(dtype, shape, b)})[0];
    EXPECT_EQ(values_of(z), expected) << name_of(dtype);
  }
}

TEST(Select, BroadcastsTheConditionAndBothBranches) {
  const Literal z =
      run(op::select, {literal_of(DType::boolean, {2, 1}, {1, 0}), literal_of(DType::f32, {3}, {1, 2, 3}),
                       literal_of(DType::f32, {}, {9})})[0];
  EXPECT_EQ(z.shape, (Shape{2, 3}));
  EXPECT_EQ(values_of(z), (Values{1, 2, 3, 9, 9, 9}));
}

TEST(Select, WantsABoolAndBranchesOfOneDtype) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {2}}), y = builder.input({DType::f64, {2}});
  const Var c = builder.input({DType::boolean, {2}});
  EXPECT_THROW(select(x, x, x), Error);
  EXPECT_THROW(select(c, x, y), Error);
  EXPECT_NO_THROW(select(c, x, x));
}

}  // namespace
}  // namespace tidemark
