#include "tidemark/ops/codec/value_range.h"

#include <gtest/gtest.h>

#include "tidemark/ir/builder.h"
#include "tidemark/ops/codec/form.h"
#include "tidemark/ops/convolution/pool.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/sort.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/cast.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

class ValueRange : public ::testing::Test {
 protected:
  std::optional<std::int64_t> below(const Var& v) const { return whole_numbers_below(graph_, v.id()); }
  std::string form(const Var& v) const {
    const std::optional<Form> found = exact_form_of(graph_, v.id());
    return found ? name_of(*found) : "none";
  }
  Var input(DType dtype, const Shape& shape) { return builder_.input({dtype, shape}, "x"); }

  Graph graph_;
  Builder builder_{graph_};
};

TEST_F(ValueRange, PositionsAreBelowTheLengthThatWasLookedAt) {
  const Var x = input(DType::f32, {40, 300});
  EXPECT_EQ(below(argmax(x, 1)), 300);
  EXPECT_EQ(below(argmin(x, 0)), 40);
  EXPECT_EQ(below(argsort(x, 1)), 300);
  EXPECT_EQ(below(top_k(x, 0, 3).indices), 40);
  EXPECT_EQ(form(argsort(x, 0)), "u8");
  EXPECT_EQ(form(argsort(x, 1)), "u16");
  EXPECT_EQ(form(top_k(input(DType::f32, {2, 1 << 17}), 1, 9).indices), "u32");
  EXPECT_FALSE(below(sort(x, 1, false).values));
  const Var image = input(DType::f32, {2, 3, 16, 16});
  const MaxPool pooled = max_pool_with_position(image, {.window = {2, 2}});
  EXPECT_EQ(below(pooled.position), 256);
  EXPECT_EQ(form(pooled.position), "u8");
  EXPECT_FALSE(below(pooled.value));
}

TEST_F(ValueRange, MasksAndOneHotRowsAreBits) {
  const Var x = input(DType::f32, {40, 30});
  EXPECT_EQ(form(greater(x, zeros_like(x))), "bits");
  EXPECT_EQ(form(input(DType::boolean, {99})), "bits");
  for (const DType dtype :
       {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8}) {
    EXPECT_EQ(form(cast(greater(x, zeros_like(x)), dtype)), "bits") << name_of(dtype);
    EXPECT_EQ(form(one_hot(argmax(x, 1), 30, dtype)), "bits") << name_of(dtype);
  }
}

TEST_F(ValueRange, WhatMovesElementsKeepsTheirRange) {
  const Var indices = argsort(input(DType::f32, {40, 30}), 1);
  EXPECT_EQ(below(reshape(indices, {1200})), 30);
  EXPECT_EQ(below(transpose(indices, {1, 0})), 30);
  EXPECT_EQ(below(broadcast(indices, {5, 40, 30})), 30);
  EXPECT_EQ(below(take(indices, input(DType::i64, {7}), 0)), 30);
  EXPECT_EQ(below(cast(transpose(indices, {1, 0}), DType::i32)), 30);
}

TEST_F(ValueRange, NothingIsSaidOfTheRest) {
  const Var x = input(DType::i64, {40, 30});
  EXPECT_FALSE(below(x));
  EXPECT_FALSE(below(argsort(x, 1) + argsort(x, 1)));
  EXPECT_FALSE(below(cast(input(DType::f32, {9}), DType::i32)));
  EXPECT_FALSE(below(-cast(greater(x, zeros_like(x)), DType::f32)));
  EXPECT_EQ(form(cast(argsort(x, 1), DType::f32)), "none") << "whole numbers, but floats";
  EXPECT_FALSE(below(cast(argsort(input(DType::f32, {1000}), 0), DType::bf16))) << "bf16 rounds them";
  EXPECT_FALSE(below(cast(argsort(input(DType::f32, {1000}), 0), DType::u8))) << "u8 wraps around";
  EXPECT_EQ(form(input(DType::boolean, {1})), "none") << "a byte is the least";
}

TEST(Form, NamesAreReadAndWritten) {
  for (const Form& form :
       {Form(QuantFormat::int8), Form(QuantFormat::bf16), Form(PackedIntegers{1}), Form(PackedIntegers{16}),
        Form(LowRank{3}), Form(Sparse{0.6}), Form(Sparse{1.0 / 3}), Form(Delta{QuantFormat::int4})})
    EXPECT_EQ(form_named(name_of(form)), form) << name_of(form);
  for (const char* other :
       {"", "int9", "low_rank", "low_rank()", "low_rank(0)", "low_rank(-1)", "low_rank(1.5)", "sparse(0)",
        "sparse(1.1)", "sparse(nan)", "sparse(0.5", "sparse(0.5) ", "u64", "delta", "delta()", "delta(int9)",
        "delta(int8", "delta(delta(int8))"})
    EXPECT_FALSE(form_named(other)) << other;
}

}  // namespace
}  // namespace tidemark
