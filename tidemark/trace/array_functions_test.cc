#include "tidemark/trace/array_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/errors.h"
#include "tests/support/finite_differences.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using testing::expect_gradient;

Tensor waves(const Shape& shape) {
  return reshape(sin(arange(element_count(shape), DType::f64) * 1.3 + 0.2) * 2, shape);
}

TEST(ArrayFunctions, RollsBothWaysAndAround) {
  const Tensor x = reshape(arange(6), {2, 3});
  EXPECT_THAT(roll(x, 1, -1).to_vector(), ElementsAre(2, 0, 1, 5, 3, 4));
  EXPECT_THAT(roll(x, -1, 1).to_vector(), ElementsAre(1, 2, 0, 4, 5, 3));
  EXPECT_THAT(roll(x, 7, 0).to_vector(), ElementsAre(3, 4, 5, 0, 1, 2));
  EXPECT_EQ(roll(x, 0, 0).to_vector(), x.to_vector());
  EXPECT_EQ(roll(zeros({0, 2}), 3, 0).shape(), (Shape{0, 2}));
  expect_gradient([](Tensor u) { return roll(u, 2, 1); }, waves({2, 3}));
  EXPECT_EQ(code_of([&] { roll(x, 1, 2); }), ErrorCode::index_out_of_range);
}

TEST(ArrayFunctions, TilesAndRepeats) {
  const Tensor x = reshape(arange(4), {2, 2});
  EXPECT_THAT(tile(x, {2}).to_vector(), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_THAT(tile(x, {2, 1}).to_vector(), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_EQ(tile(x, {3, 1, 2}).shape(), (Shape{3, 2, 4}));
  EXPECT_EQ(tile(x, {0, 1}).shape(), (Shape{0, 2}));
  EXPECT_THAT(tile(scalar(7), {2}).to_vector(), ElementsAre(7, 7));
  EXPECT_THAT(repeat_interleave(x, 2, -1).to_vector(), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(repeat_interleave(x, 2, 0).to_vector(), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_EQ(repeat_interleave(x, 0, 0).shape(), (Shape{0, 2}));
  expect_gradient([](Tensor u) { return tile(u, {2, 3}); }, waves({2, 2}));
  expect_gradient([](Tensor u) { return repeat_interleave(u, 3, 0); }, waves({2, 2}));
  EXPECT_EQ(code_of([&] { tile(x, {-1}); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { repeat_interleave(x, -1, 0); }), ErrorCode::bad_attribute);
}

TEST(ArrayFunctions, MakesGrids) {
  const std::vector<Tensor> grid = meshgrid({arange(2), arange(3) + 5});
  EXPECT_THAT(grid[0].to_vector(), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(grid[1].to_vector(), ElementsAre(5, 6, 7, 5, 6, 7));
  EXPECT_EQ(code_of([&] { meshgrid({scalar(1)}); }), ErrorCode::shape_mismatch);
}

TEST(ArrayFunctions, ReadsAndWritesDiagonals) {
  const Tensor x = reshape(arange(12), {3, 4});
  EXPECT_THAT(diagonal(x).to_vector(), ElementsAre(0, 5, 10));
  EXPECT_THAT(diagonal(x, 1).to_vector(), ElementsAre(1, 6, 11));
  EXPECT_THAT(diagonal(x, 3).to_vector(), ElementsAre(3));
  EXPECT_THAT(diagonal(x, -2).to_vector(), ElementsAre(8));
  EXPECT_EQ(diagonal(x, 4).shape(), (Shape{0}));
  EXPECT_EQ(diagonal(x, std::numeric_limits<std::int64_t>::min()).shape(), (Shape{0}));
  EXPECT_EQ(diagonal(zeros({2, 0, 3})).shape(), (Shape{2, 0}));
  EXPECT_EQ(trace(x, -1).item(), 4 + 9);
  EXPECT_THAT(trace(reshape(arange(8), {2, 2, 2})).to_vector(), ElementsAre(3, 11));
  EXPECT_THAT(diag(x, 1).to_vector(), ElementsAre(1, 6, 11));
  for (std::int64_t offset : {-2, -1, 0, 1, 2}) {
    const Tensor matrix = diag(tensor<double>({1, 2, 3}), offset);
    EXPECT_EQ(matrix.shape(), (Shape{3 + std::abs(offset), 3 + std::abs(offset)}));
    EXPECT_THAT(diagonal(matrix, offset).to_vector(), ElementsAre(1, 2, 3));
    EXPECT_EQ(sum(matrix).item(), 6);
  }
  EXPECT_EQ(diag(zeros({0}), 2).shape(), (Shape{2, 2}));
  expect_gradient([](Tensor u) { return diag(u, -1); }, waves({3}));
  expect_gradient([](Tensor u) { return diagonal(u, 1); }, waves({2, 3, 3}));
  EXPECT_EQ(code_of([&] { diagonal(arange(3)); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { diag(scalar(1)); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { diag(arange(2), std::int64_t{1} << 62); }), ErrorCode::out_of_memory);
}

TEST(ArrayFunctions, MultipliesAllPairs) {
  EXPECT_THAT(outer(arange(2) + 1, arange(3)).to_vector(), ElementsAre(0, 1, 2, 0, 2, 4));
  const Tensor a = reshape(arange(4) + 1, {2, 2}), b = reshape(arange(2), {1, 2});
  EXPECT_THAT(kron(a, b).to_vector(), ElementsAre(0, 1, 0, 2, 0, 3, 0, 4));
  EXPECT_EQ(kron(a, b).shape(), (Shape{2, 4}));
  EXPECT_THAT(kron(arange(2) + 1, scalar(3, DType::i64)).to_vector(), ElementsAre(3, 6));
  EXPECT_EQ(kron(zeros({0, 2}), ones({3, 1})).shape(), (Shape{0, 2}));
  expect_gradient([](Tensor u) { return kron(u, u + 1); }, waves({2, 2}));
  EXPECT_EQ(code_of([&] { outer(a, b); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { kron(zeros({1, 1, 1, 1, 1}), a); }), ErrorCode::shape_mismatch);
}

TEST(ArrayFunctions, FillsAndAdds) {
  const Tensor x = waves({2, 3});
  const Tensor mask = x > 0;
  EXPECT_EQ(masked_fill(x, mask, 0).to_vector(), minimum(x, 0).to_vector());
  const Tensor rows = tensor<std::int64_t>({1, 1});
  const Tensor added = index_add(zeros({2, 3}, DType::f64), 0, rows, ones({2, 3}, DType::f64));
  EXPECT_THAT(added.to_vector(), ElementsAre(0, 0, 0, 2, 2, 2));
  EXPECT_THAT(index_add(arange(2), -1, tensor<std::int64_t>({0}), tensor<std::int64_t>({5})).to_vector(),
              ElementsAre(5, 1));
  expect_gradient([&](Tensor u) { return index_add(x, 1, rows, u); }, waves({2, 2}));
  EXPECT_EQ(code_of([&] {
              index_add(x, 0, rows + 1, ones({2, 3}, DType::f64)).to_vector();
            }),
            ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([&] { index_add(x, 0, rows, ones({3, 3}, DType::f64)); }), ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace tidemark
