#include "tidemark/ops/movement/movement.h"

#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/run_kernel.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 0, 1, 2, … in f32.
Literal range(const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return literal_of(DType::f32, shape, values);
}

template <class A>
std::vector<double> result(const Op& op, const std::vector<Literal>& operands, const A& attrs) {
  return values_of(expect_same_every_way(op, operands, pack(attrs)).front());
}

TEST(Broadcast, RepeatsAlongNewAndUnitDimensions) {
  EXPECT_THAT(result(op::broadcast, {range({2, 1})}, BroadcastAttrs{{2, 2, 3}}),
              ElementsAre(0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1));
  EXPECT_THAT(result(op::broadcast, {range({1})}, BroadcastAttrs{{0}}), ElementsAre());
}

TEST(Reshape, KeepsRowMajorOrder) {
  EXPECT_THAT(result(op::reshape, {range({2, 3})}, ReshapeAttrs{{3, 2}}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(result(op::reshape, {range({1})}, ReshapeAttrs{{}}), ElementsAre(0));
  EXPECT_THAT(result(op::reshape, {range({0, 3})}, ReshapeAttrs{{2, 0}}), ElementsAre());
  result(op::reshape, {range({4, 1, 6})}, ReshapeAttrs{{2, 2, 3, 1, 2}});
}

TEST(Reshape, IsAViewExactlyWhenStridesAllow) {
  const Type in[] = {{DType::f32, {4, 6}}}, out[] = {{DType::f32, {2, 2, 6}}};
  const Attrs splits_rows = pack(ReshapeAttrs{{2, 2, 6}}), joins = pack(ReshapeAttrs{{24}});
  const Strides column_major[] = {{1, 4}}, rows_apart[] = {{12, 1}}, repeated[] = {{0, 1}};
  Call call{.op = &op::reshape, .in = in, .out = out, .attrs = &splits_rows, .in_strides = column_major};
  EXPECT_EQ(op::reshape.view(call, 0)->strides, (Strides{2, 1, 4}));
  call.in_strides = repeated;
  EXPECT_EQ(op::reshape.view(call, 0)->strides, (Strides{0, 0, 1}));
  call.attrs = &joins;
  EXPECT_FALSE(op::reshape.view(call, 0));
  call.in_strides = rows_apart;
  EXPECT_FALSE(op::reshape.view(call, 0));
  call.in_strides = {};
  EXPECT_EQ(op::reshape.view(call, 0)->strides, (Strides{1}));
}

TEST(Transpose, MovesDimensions) {
  EXPECT_THAT(result(op::transpose, {range({2, 3})}, TransposeAttrs{{1, 0}}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(result(op::transpose, {range({})}, TransposeAttrs{{}}), ElementsAre(0));
}

TEST(Slice, TakesEveryStepFromStart) {
  EXPECT_THAT(result(op::slice, {range({3, 5})}, SliceAttrs{{1, 0}, {3, 4}, {1, 3}}),
              ElementsAre(5, 8, 10, 13));
  EXPECT_THAT(result(op::slice, {range({3})}, SliceAttrs{{2}, {2}, {1}}), ElementsAre());
}

TEST(Pad, FillsAroundAndBetween) {
  const Literal fill = literal_of(DType::f32, {}, {9});
  EXPECT_THAT(result(op::pad, {range({3}), fill}, PadAttrs{{1}, {2}, {1}}),
              ElementsAre(9, 0, 9, 1, 9, 2, 9, 9));
  EXPECT_THAT(result(op::pad, {range({4}), fill}, PadAttrs{{-1}, {-1}, {0}}), ElementsAre(1, 2));
  EXPECT_THAT(result(op::pad, {range({4}), fill}, PadAttrs{{-1}, {-2}, {1}}), ElementsAre(9, 1, 9, 2));
  EXPECT_THAT(result(op::pad, {range({2}), fill}, PadAttrs{{-2}, {3}, {0}}), ElementsAre(9, 9, 9));
  EXPECT_THAT(result(op::pad, {range({2}), fill}, PadAttrs{{-3}, {3}, {0}}), ElementsAre(9, 9));
  EXPECT_THAT(result(op::pad, {range({0}), fill}, PadAttrs{{1}, {1}, {4}}), ElementsAre(9, 9));
}

TEST(Concat, JoinsAlongAnAxisAndSplitUndoesIt) {
  EXPECT_THAT(result(op::concat, {range({2, 2}), range({2, 0}), range({2, 1})}, AxisAttrs{1}),
              ElementsAre(0, 1, 0, 2, 3, 1));
  const auto parts = expect_same_every_way(op::split, {range({2, 3})}, pack(SplitAttrs{1, {1, 0, 2}}));
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(values_of(parts[0]), ElementsAre(0, 3));
  EXPECT_THAT(values_of(parts[1]), ElementsAre());
  EXPECT_THAT(values_of(parts[2]), ElementsAre(1, 2, 4, 5));
}

TEST(Flip, ReversesTheNamedAxes) {
  EXPECT_THAT(result(op::flip, {range({2, 3})}, AxesAttrs{{1}}), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(result(op::flip, {range({2, 3})}, AxesAttrs{{0, 1}}), ElementsAre(5, 4, 3, 2, 1, 0));
}

TEST(Triangle, KeepsOneSideOfTheDiagonal) {
  EXPECT_THAT(result(op::tril, {range({2, 3})}, TriangleAttrs{0}), ElementsAre(0, 0, 0, 3, 4, 0));
  EXPECT_THAT(result(op::triu, {range({2, 3})}, TriangleAttrs{1}), ElementsAre(0, 1, 2, 0, 0, 5));
  EXPECT_THAT(result(op::tril, {range({2, 3})}, TriangleAttrs{-5}), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(Iota, CountsAlongItsAxis) {
  EXPECT_THAT(result(op::iota, {}, IotaAttrs{DType::i32, {2, 3}, 1}), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(result(op::iota, {}, IotaAttrs{DType::f16, {2, 3}, 0}), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(UpdateSlice, ReplacesAWindow) {
  EXPECT_THAT(result(op::update_slice, {range({2, 4}), literal_of(DType::f32, {1, 2}, {8, 9})},
                     UpdateSliceAttrs{{1, 0}, {1, 3}}),
              ElementsAre(0, 1, 2, 3, 8, 5, 6, 9));
  EXPECT_THAT(result(op::update_slice, {range({2}), range({0})}, UpdateSliceAttrs{{2}, {1}}),
              ElementsAre(0, 1));
}

// Odd sizes around the blocks and vectors of the copy kernel, every dtype, every layout, one and two threads.
TEST(Movement, GivesTheSameBitsForEveryDtypeLayoutAndThreadCount) {
  for (DType dtype : every_dtype) {
    expect_same_every_way(op::transpose, {counting(dtype, {37, 71})}, pack(TransposeAttrs{{1, 0}}));
    expect_same_every_way(op::transpose, {counting(dtype, {3, 17, 2, 35})},
                          pack(TransposeAttrs{{3, 0, 2, 1}}));
    expect_same_every_way(op::broadcast, {counting(dtype, {5, 1, 33})}, pack(BroadcastAttrs{{2, 5, 3, 33}}));
    expect_same_every_way(op::flip, {counting(dtype, {5, 67})}, pack(AxesAttrs{{0, 1}}));
    expect_same_every_way(op::pad, {counting(dtype, {5, 9}), counting(dtype, {}, 3)},
                          pack(PadAttrs{{2, -1}, {-1, 3}, {1, 2}}));
    expect_same_every_way(op::concat, {counting(dtype, {3, 4}), counting(dtype, {3, 33})},
                          pack(AxisAttrs{1}));
    expect_same_every_way(op::split, {counting(dtype, {3, 37})}, pack(SplitAttrs{1, {4, 33}}));
    expect_same_every_way(op::tril, {counting(dtype, {2, 9, 7})}, pack(TriangleAttrs{1}));
    expect_same_every_way(op::update_slice, {counting(dtype, {9, 8}), counting(dtype, {4, 3}, 2)},
                          pack(UpdateSliceAttrs{{1, 1}, {2, 3}}));
  }
}

TEST(Movement, TakesRankEight) {
  const Literal x = counting(DType::f32, {2, 1, 3, 2, 1, 2, 3, 2});
  expect_same_every_way(op::transpose, {x}, pack(TransposeAttrs{{7, 5, 3, 1, 0, 2, 4, 6}}));
  expect_same_every_way(op::flip, {x}, pack(AxesAttrs{{0, 2, 5, 7}}));
  expect_same_every_way(
      op::slice, {x},
      pack(SliceAttrs{{1, 0, 0, 0, 0, 1, 0, 0}, {2, 1, 3, 2, 1, 2, 3, 1}, {1, 1, 2, 1, 1, 1, 2, 1}}));
}

// Large enough for several tasks.
TEST(Movement, CutsLargeCopiesIntoTasksWithoutLosingAny) {
  const Literal x = counting(DType::f32, {511, 1025});
  expect_same_every_way(op::transpose, {x}, pack(TransposeAttrs{{1, 0}}));
  expect_same_every_way(op::slice, {x}, pack(SliceAttrs{{0, 1}, {511, 1024}, {2, 2}}));
  expect_same_every_way(op::reshape, {x}, pack(ReshapeAttrs{{1025, 511}}));
}

TEST(Movement, MistakesPointAtTheUsersLine) {
  const auto x = [](Builder& b) { return b.input({DType::f32, {2, 3}}); };
  EXPECT_THAT(error_of(ErrorCode::shape_mismatch,
                       [&](Builder& b) {
                         reshape(x(b), {4, 2});
                       }),
              HasSubstr("reshape: (2, 3) has 6 elements and (4, 2) has 8"));
  EXPECT_THAT(error_of(ErrorCode::bad_attribute,
                       [&](Builder& b) {
                         reshape(x(b), {-1, 2});
                       }),
              HasSubstr("a size of -1"));
  EXPECT_THAT(error_of(ErrorCode::shape_mismatch,
                       [&](Builder& b) {
                         broadcast(x(b), {3, 3});
                       }),
              HasSubstr("(2, 3) does not broadcast to (3, 3)"));
  EXPECT_THAT(error_of(ErrorCode::bad_attribute,
                       [&](Builder& b) {
                         transpose(x(b), {0, 0});
                       }),
              HasSubstr("each of the axes [0, 2) once"));
  EXPECT_THAT(error_of(ErrorCode::index_out_of_range,
                       [&](Builder& b) {
                         slice(x(b), {0, 1}, {2, 4}, {1, 1});
                       }),
              HasSubstr("slice: [1, 4) along axis 1 of size 3"));
  EXPECT_THAT(error_of(ErrorCode::bad_attribute,
                       [&](Builder& b) {
                         slice(x(b), {0, 1}, {2, 3}, {1, -1});
                       }),
              HasSubstr("help: reverse an axis with flip"));
  EXPECT_THAT(error_of(ErrorCode::shape_mismatch,
                       [&](Builder& b) {
                         const Var parts[] = {x(b), b.input({DType::f32, {3, 3}})};
                         concat(parts, 1);
                       }),
              HasSubstr("concat: operand 0 is (2, 3) and operand 1 is (3, 3)"));
  EXPECT_THAT(error_of(ErrorCode::shape_mismatch,
                       [&](Builder& b) {
                         split(x(b), 1, {1, 1});
                       }),
              HasSubstr("sizes that add up to 3"));
  EXPECT_THAT(error_of(ErrorCode::bad_attribute, [&](Builder& b) { flip(x(b), {2}); }),
              HasSubstr("flip: axis 2 of a tensor of rank 2"));
  EXPECT_THAT(error_of(ErrorCode::shape_mismatch,
                       [&](Builder& b) {
                         tril(b.input({DType::f32, {3}}));
                       }),
              HasSubstr("at least two dimensions"));
  EXPECT_THAT(error_of(ErrorCode::index_out_of_range,
                       [&](Builder& b) {
                         update_slice(x(b), b.input({DType::f32, {1, 3}}), {2, 0}, {1, 1});
                       }),
              HasSubstr("update_slice: [2, 3) along axis 0 of size 2"));
  EXPECT_THAT(error_of(ErrorCode::dtype_mismatch,
                       [&](Builder& b) {
                         pad(x(b), b.input({DType::f64, {}}), {0, 0}, {0, 0}, {0, 0});
                       }),
              HasSubstr("operand 0 is f32 and operand 1 is f64"));
}

}  // namespace
}  // namespace tidemark
