#include "tidemark/ops/indexing/sort.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/support/errors.h"
#include "tests/support/run_kernel.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Sort, IsStableInBothDirections) {
  const Literal x = literal_of(DType::f32, {5}, {2, 1, 2, 1, 3});
  const auto up = expect_same_every_way(op::sort, {x}, pack(SortAttrs{0, false}));
  EXPECT_THAT(values_of(up[0]), ElementsAre(1, 1, 2, 2, 3));
  EXPECT_THAT(values_of(up[1]), ElementsAre(1, 3, 0, 2, 4));
  const auto down = expect_same_every_way(op::sort, {x}, pack(SortAttrs{0, true}));
  EXPECT_THAT(values_of(down[0]), ElementsAre(3, 2, 2, 1, 1));
  EXPECT_THAT(values_of(down[1]), ElementsAre(4, 0, 2, 1, 3));
}

TEST(Sort, TakesNaNAsTheLargestAndZerosAsEqual) {
  for (bool descending : {false, true}) {
    const auto sorted =
        expect_same_every_way(op::sort, {literal_of(DType::f64, {6}, {nan, 0.0, -inf, -0.0, inf, nan})},
                              pack(SortAttrs{0, descending}));
    const auto order = values_of(sorted[1]);
    if (descending) {
      EXPECT_THAT(order, ElementsAre(0, 5, 4, 1, 3, 2));
    } else {
      EXPECT_THAT(order, ElementsAre(2, 1, 3, 4, 0, 5));
    }
    EXPECT_TRUE(std::isnan(values_of(sorted[0])[descending ? 0 : 5]));
  }
}

TEST(Sort, SortsEveryDtypeAlongAnyAxis) {
  for (int t = 0; t < dtype_count; ++t) {
    const Literal x = counting(static_cast<DType>(t), {3, 301, 2});
    const auto sorted = expect_same_every_way(op::sort, {x}, pack(SortAttrs{1, false}));
    const auto before = values_of(x), after = values_of(sorted[0]), order = values_of(sorted[1]);
    for (std::size_t o = 0; o < 3; ++o) {
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t k = 0; k < 301; ++k) {
          const std::size_t at = (o * 301 + k) * 2 + i;
          ASSERT_EQ(after[at], before[(o * 301 + static_cast<std::size_t>(order[at])) * 2 + i]);
          const bool in_order = k == 0 || after[at - 2] < after[at] ||
                                (after[at - 2] == after[at] && order[at - 2] < order[at]);
          ASSERT_TRUE(in_order) << at;
        }
      }
    }
  }
  expect_same_every_way(op::sort, {counting(DType::f32, {0, 3})}, pack(SortAttrs{0, false}));
}

TEST(Sort, KeepsTheOrderOfWideIntegers) {
  Literal x{.dtype = DType::i64, .shape = {3}, .bytes = std::vector<std::byte>(24)};
  const std::int64_t values[] = {std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max() - 1};
  std::memcpy(x.bytes.data(), values, 24);
  EXPECT_THAT(values_of(expect_same_every_way(op::sort, {x}, pack(SortAttrs{0, false}))[1]),
              ElementsAre(1, 2, 0));
}

TEST(TopK, GivesTheLargestInOrder) {
  const auto best = expect_same_every_way(
      op::top_k, {literal_of(DType::f32, {2, 4}, {1, 4, 2, 4, 0, -1, 5, 5})}, pack(TopKAttrs{1, 3}));
  EXPECT_THAT(values_of(best[0]), ElementsAre(4, 4, 2, 5, 5, 0));
  EXPECT_THAT(values_of(best[1]), ElementsAre(1, 3, 2, 2, 3, 0));
  expect_same_every_way(op::top_k, {counting(DType::bf16, {50, 40})}, pack(TopKAttrs{0, 7}));
  expect_same_every_way(op::top_k, {counting(DType::i32, {4, 4})}, pack(TopKAttrs{0, 0}));
}

TEST(TopK, BeginsWithWhatMaxAndArgmaxPick) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const Literal x = literal_of(dtype, {4}, {inf, 1, nan, nan});
    const auto best = expect_same_every_way(op::top_k, {x}, pack(TopKAttrs{0, 3}));
    EXPECT_THAT(values_of(best[1]), ElementsAre(2, 3, 0)) << name_of(dtype);
    EXPECT_TRUE(std::isnan(values_of(best[0])[0]));
  }
}

TEST(TopK, MistakesPointAtTheUsersLine) {
  const auto too_many = [](Builder& builder) { top_k(builder.input({DType::f32, {2, 3}}), 1, 4); };
  EXPECT_THAT(error_of(ErrorCode::bad_attribute, too_many), HasSubstr("top_k: k = 4 along axis 1 of size 3"));
}

}  // namespace
}  // namespace tidemark
