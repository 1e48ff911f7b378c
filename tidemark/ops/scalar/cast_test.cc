#include "tidemark/ops/scalar/cast.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/run_kernel.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

using namespace testing;
using Values = std::vector<double>;

Values cast_values(DType from, DType to, const Values& values) {
  const Literal x = literal_of(from, {static_cast<std::int64_t>(values.size())}, values);
  return values_of(run(op::cast, {x}, pack(CastAttrs{to}))[0]);
}

TEST(Cast, FloatsGoToIntegersTowardsZeroAndSaturate) {
  EXPECT_EQ(cast_values(DType::f64, DType::i32, {1.9, -1.9, 3e9, -3e9, NAN, inf}),
            (Values{1, -1, 2147483647, -2147483648.0, 0, 2147483647}));
  EXPECT_EQ(cast_values(DType::f32, DType::u8, {1.9, -1, 300, 255.5, NAN}), (Values{1, 0, 255, 255, 0}));
  EXPECT_EQ(cast_values(DType::bf16, DType::i64, {-2.5, 2.5}), (Values{-2, 2}));
}

TEST(Cast, IntegersWrapAround) {
  EXPECT_EQ(cast_values(DType::i32, DType::u8, {-1, 256, 7}), (Values{255, 0, 7}));
  EXPECT_EQ(cast_values(DType::i64, DType::i32, {0x1p32 + 5, -1}), (Values{5, -1}));
}

TEST(Cast, BoolSaysWhatDiffersFromZero) {
  EXPECT_EQ(cast_values(DType::f32, DType::boolean, {0, -0.0, 0.25, NAN, -3}), (Values{0, 0, 1, 1, 1}));
  EXPECT_EQ(cast_values(DType::boolean, DType::f16, {0, 1}), (Values{0, 1}));
  EXPECT_EQ(cast_values(DType::i64, DType::boolean, {0, 256}), (Values{0, 1}));
}

// 1 + 2^-8 + 2^-40 lies just above the middle of two bf16 neighbours; through f32 it would look like the
// middle.
TEST(Cast, WideNumbersAreRoundedTo16BitsOnce) {
  EXPECT_EQ(cast_values(DType::f64, DType::bf16, {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, -(1 + 0x1p-8 + 0x1p-40)}),
            (Values{1 + 0x1p-7, 1, -(1 + 0x1p-7)}));
  EXPECT_EQ(cast_values(DType::f64, DType::f16, {1 + 0x1p-11 + 0x1p-40, 1e9, 65519.999}),
            (Values{1 + 0x1p-10, inf, 65504}));
  const std::int64_t above_middle = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  Literal x{.dtype = DType::i64, .shape = {1}, .bytes = std::vector<std::byte>(8)};
  std::memcpy(x.bytes.data(), &above_middle, 8);
  EXPECT_EQ(values_of(run(op::cast, {x}, pack(CastAttrs{DType::bf16}))[0]), (Values{0x1p62 + 0x1p55}));
}

TEST(Cast, ToTheSameDtypeAddsNoNode) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {2}});
  EXPECT_EQ(cast(x, DType::f32).id(), x.id());
  EXPECT_TRUE(graph.nodes().empty());
  EXPECT_EQ(cast(x, DType::i32).dtype(), DType::i32);
}

}  // namespace
}  // namespace tidemark
