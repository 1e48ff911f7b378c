#include "tidemark/base/shape.h"

#include <gtest/gtest.h>

#include <limits>

#include "tidemark/base/bounded.h"
#include "tidemark/base/error.h"

namespace tidemark {
namespace {

TEST(Dims, HoldsUpToEightSizes) {
  Dims dims;
  EXPECT_TRUE(dims.empty());
  for (int i = 0; i < max_rank; ++i) dims.push_back(i);
  EXPECT_EQ(dims.rank(), 8);
  EXPECT_EQ(dims.back(), 7);
  EXPECT_THROW(dims.push_back(8), Error);
  EXPECT_THROW((Dims{1, 2, 3, 4, 5, 6, 7, 8, 9}), Error);
}

TEST(Dims, InsertsAndErases) {
  Dims dims = {1, 3};
  dims.insert(1, 2);
  EXPECT_EQ(dims, (Dims{1, 2, 3}));
  dims.insert(0, 0);
  dims.insert(4, 4);
  EXPECT_EQ(dims, (Dims{0, 1, 2, 3, 4}));
  dims.erase(0);
  dims.erase(3);
  EXPECT_EQ(dims, (Dims{1, 2, 3}));
}

TEST(Dims, EqualityIgnoresWhatWasErased) {
  Dims dims = {1, 2};
  dims.erase(1);
  EXPECT_EQ(dims, Dims{1});
  EXPECT_NE(dims, (Dims{1, 1}));
  EXPECT_EQ(Dims::filled(3, 7), (Dims{7, 7, 7}));
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({2, 0, 4}), 0);
}

TEST(Shape, AbsurdCountsAreCutOffInsteadOfOverflowing) {
  constexpr std::int64_t large = std::int64_t{1} << 48;
  EXPECT_EQ(element_count({large, large}), product_bound);
  EXPECT_EQ(element_count({large, large, 0}), 0);
  EXPECT_EQ(bounded_product(-large, large), -product_bound);
  EXPECT_EQ(bounded_product(-large, -large), product_bound);
  EXPECT_EQ(bounded_product(-3, 4), -12);
  EXPECT_EQ(bounded_product(std::numeric_limits<std::int64_t>::min(), 1), -product_bound);
}

TEST(Shape, DenseStridesAreRowMajor) {
  EXPECT_EQ(dense_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(dense_strides({}), Strides{});
  EXPECT_TRUE(is_dense({2, 3, 4}, {12, 4, 1}));
  EXPECT_FALSE(is_dense({2, 3, 4}, {4, 12, 1}));
  EXPECT_FALSE(is_dense({4}, {2}));
  EXPECT_FALSE(is_dense({4}, {0}));
  EXPECT_TRUE(is_dense({1, 4, 1}, {99, 1, -7})) << "the stride of a dimension of size 1 does not matter";
  EXPECT_TRUE(is_dense({0, 4}, {9, 9})) << "nothing is dense";
  EXPECT_TRUE(is_dense({}, {}));
}

TEST(Shape, PrintsAsATuple) {
  EXPECT_EQ(to_string(Dims{}), "()");
  EXPECT_EQ(to_string(Dims{2, 3}), "(2, 3)");
}

}  // namespace
}  // namespace tidemark
