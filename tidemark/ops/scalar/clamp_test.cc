#include "tidemark/ops/scalar/clamp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/run_kernel.h"
#include "tidemark/base/error.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

using namespace testing;
using Values = std::vector<double>;

Values clamp_values(DType dtype, const Values& values, double low, double high) {
  const Literal x = literal_of(dtype, {static_cast<std::int64_t>(values.size())}, values);
  return values_of(run(op::clamp, {x}, pack(ClampAttrs{low, high}))[0]);
}

TEST(Clamp, LimitsEveryNumericDtype) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64}) {
    EXPECT_EQ(clamp_values(dtype, {-5, -1, 0, 2, 9, 3, 4}, -1, 3), (Values{-1, -1, 0, 2, 3, 3, 3}))
        << name_of(dtype);
  }
  EXPECT_EQ(clamp_values(DType::u8, {0, 7, 255}, -4, 1e9), (Values{0, 7, 255}));
}

TEST(Clamp, KeepsNaN) {
  const Values z = clamp_values(DType::f32, {NAN, 7, 1, 1, 1}, 0, 2);
  EXPECT_TRUE(std::isnan(z[0]));
  EXPECT_EQ(z[1], 2);
}

TEST(Clamp, BoundsInTheWrongOrderAreTheCallersMistake) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {2}});
  builder.set_where({"train.cpp", 7});
  try {
    clamp(x, 2, 1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_attribute);
    EXPECT_EQ(error.where(), SourceLine("train.cpp", 7));
  }
}

}  // namespace
}  // namespace tidemark
