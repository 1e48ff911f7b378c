#include "tidemark/ops/indexing/index.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "tests/support/errors.h"
#include "tests/support/run_kernel.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Literal f32s(const Shape& shape, const std::vector<double>& values) {
  return literal_of(DType::f32, shape, values);
}
Literal indices(const Shape& shape, const std::vector<double>& values, DType dtype = DType::i64) {
  return literal_of(dtype, shape, values);
}
// Indices below `bound`, some of them often.
Literal spread_indices(const Shape& shape, std::int64_t bound, DType dtype = DType::i64) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>((i * i + 3 * i / 2) % static_cast<std::size_t>(bound));
  }
  return indices(shape, values, dtype);
}
template <class A>
std::vector<double> result(const Op& op, const std::vector<Literal>& operands, const A& attrs) {
  return values_of(expect_same_every_way(op, operands, pack(attrs)).front());
}

TEST(Take, SelectsSlicesAndTakeAddPutsThemBack) {
  const Literal x = f32s({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(result(op::take, {x, indices({2}, {2, 0})}, TakeAttrs{0}), ElementsAre(5, 6, 1, 2));
  EXPECT_THAT(result(op::take, {x, indices({1, 3}, {1, 0, 1}, DType::i32)}, TakeAttrs{1}),
              ElementsAre(2, 1, 2, 4, 3, 4, 6, 5, 6));
  EXPECT_THAT(result(op::take, {x, indices({}, {1})}, TakeAttrs{0}), ElementsAre(3, 4));
  EXPECT_THAT(result(op::take, {x, indices({0}, {})}, TakeAttrs{0}), ElementsAre());
  EXPECT_THAT(result(op::take_add, {x, indices({3}, {3, 0, 3})}, TakeAddAttrs{0, 4}),
              ElementsAre(3, 4, 0, 0, 0, 0, 6, 8));
  EXPECT_THAT(result(op::take_add, {f32s({0, 2}, {}), indices({0}, {})}, TakeAddAttrs{0, 2}),
              ElementsAre(0, 0, 0, 0));
}

// Rows of more columns than are summed at a time, of more updates than one, of none; zeros with a sign.
TEST(TakeAdd, OntoATensorHasTheBitsOfAnAdditionBehindIt) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32}) {
    for (const Shape& inner : {Shape{3}, Shape{300}, Shape{}}) {
      Shape updates{40}, table{9};
      for (const std::int64_t size : inner) updates.push_back(size), table.push_back(size);
      const Literal given = random_literal(dtype, updates, 1), at = spread_indices({40}, 7);
      std::vector<double> onto = values_of(random_literal(dtype, table, 2));
      onto.back() = -0.0;  // of a row without updates
      onto.front() = is_float(dtype) ? std::numeric_limits<double>::infinity() : 1e9;
      const Literal before = literal_of(dtype, table, onto);
      const Attrs attrs = pack(TakeAddAttrs{0, 9});
      const Literal sums = expect_same_every_way(op::take_add, {given, at}, attrs).front();
      const Literal added = expect_same_every_way(op::add, {before, sums}, {}).front();
      EXPECT_EQ(expect_same_every_way(op::take_add, {given, at, before}, attrs).front(), added)
          << name_of(dtype) << " " << to_string(updates);
    }
  }
}
TEST(TakeAdd, OntoATensorTakesEmptyOnesAndRefusesOthers) {
  const Literal x = f32s({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(result(op::take_add, {f32s({0, 2}, {}), indices({0}, {}), x}, TakeAddAttrs{0, 2}),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(
      result(op::take_add, {f32s({0, 2}, {}), indices({0}, {}), f32s({0, 2}, {})}, TakeAddAttrs{0, 0}),
      ElementsAre());
  EXPECT_THAT(result(op::take_add, {f32s({}, {5}), indices({}, {1}), f32s({2}, {1, 2})}, TakeAddAttrs{0, 2}),
              ElementsAre(1, 7));
  EXPECT_THROW(result(op::take_add, {x, indices({2}, {0, 1}), x}, TakeAddAttrs{0, 3}), Error);
  EXPECT_THROW(result(op::take_add, {x, indices({2}, {0, 2}), x}, TakeAddAttrs{0, 2}), Error);
}

TEST(Gather, ReadsAlongTheAxisAndScatterAddWritesThere) {
  const Literal x = f32s({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(result(op::gather, {x, indices({2, 2}, {2, 0, 1, 1})}, AxisAttrs{1}), ElementsAre(3, 1, 5, 5));
  EXPECT_THAT(result(op::gather, {x, indices({1, 3}, {1, 0, 1}, DType::i32)}, AxisAttrs{0}),
              ElementsAre(4, 2, 6));
  EXPECT_THAT(result(op::scatter_add, {x, indices({2, 2}, {2, 2, 0, 1}), f32s({2, 2}, {10, 20, 30, 40})},
                     AxisAttrs{1}),
              ElementsAre(1, 2, 33, 34, 45, 6));
}

TEST(OneHot, MarksTheIndexAlongANewDimension) {
  EXPECT_THAT(result(op::one_hot, {indices({2}, {2, 0})}, OneHotAttrs{3, DType::f16}),
              ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_THAT(result(op::one_hot, {indices({}, {1})}, OneHotAttrs{2, DType::boolean}), ElementsAre(0, 1));
}

TEST(Index, GivesTheSameBitsForEveryDtypeAndThreadCount) {
  for (DType dtype : number_dtypes) {
    expect_same_every_way(op::take, {counting(dtype, {2, 40, 33}), spread_indices({5, 7}, 40)},
                          pack(TakeAttrs{1}));
    expect_same_every_way(op::take_add, {counting(dtype, {2, 35, 33}), spread_indices({35}, 9)},
                          pack(TakeAddAttrs{1, 9}));
    expect_same_every_way(op::take_add,
                          {counting(dtype, {5000, 33}), spread_indices({5000}, 700, DType::i32)},
                          pack(TakeAddAttrs{0, 700}));
    expect_same_every_way(op::gather, {counting(dtype, {3, 40, 5}), spread_indices({3, 90, 5}, 40)},
                          pack(AxisAttrs{1}));
    expect_same_every_way(
        op::scatter_add,
        {counting(dtype, {3, 40, 50}), spread_indices({3, 90, 50}, 40), counting(dtype, {3, 90, 50})},
        pack(AxisAttrs{1}));
    expect_same_every_way(op::scatter_add,
                          {counting(dtype, {500}), spread_indices({70000}, 500), counting(dtype, {70000})},
                          pack(AxisAttrs{0}));
  }
}

TEST(Index, AddsManyUpdatesOfOneRowInTheSameOrderOnEveryThreadCount) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    for (const auto& [taken, size, width] : {std::tuple{20000, 40, 16}, {3000, 1, 600}, {1500, 3, 1030}}) {
      std::vector<double> updates;
      for (std::int64_t i = 0; i < taken * width; ++i)
        updates.push_back(
            std::ldexp(static_cast<double>(i * 7919 % 257 - 128), static_cast<int>(i % 17 - 8)));
      const Literal x = literal_of(dtype, {taken, width}, updates), where = spread_indices({taken}, size);
      const std::vector<double> y =
          values_of(testing::run(op::take_add, {x, where}, pack(TakeAddAttrs{0, size}), {1, 2, 4})[0]);
      const std::vector<double> in = values_of(x), at = values_of(where);
      std::vector<float> sums(static_cast<std::size_t>(size * width), 0.0f);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const auto row = static_cast<std::size_t>(at[i / static_cast<std::size_t>(width)]);
        sums[row * static_cast<std::size_t>(width) + i % static_cast<std::size_t>(width)] +=
            static_cast<float>(in[i]);
      }
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const float expected = dtype == DType::bf16 ? static_cast<float>(BFloat16(sums[i])) : sums[i];
        ASSERT_EQ(y[i], expected) << i;
      }
    }
  }
}

TEST(Index, SixteenBitSumsRoundOnce) {
  // 256 + 1 is 256 in bf16; adding the ones to each other first would not help either unless the sum is kept
  // wider.
  const Literal updates = literal_of(DType::bf16, {9}, {256, 1, 1, 1, 1, 1, 1, 1, 1});
  const Literal zero = indices({9}, std::vector<double>(9, 0));
  EXPECT_THAT(result(op::take_add, {updates, zero}, TakeAddAttrs{0, 1}), ElementsAre(264));
  EXPECT_THAT(result(op::scatter_add, {literal_of(DType::bf16, {1}, {0}), zero, updates}, AxisAttrs{0}),
              ElementsAre(264));
}

TEST(Index, OutOfRangeNamesValuePositionAndLine) {
  const auto message = [](const Op& op, const std::vector<Literal>& operands,
                          const Attrs& attrs) -> std::string {
    try {
      run_kernel(op, operands, attrs, {.where = {"train.cpp", 88}});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::index_out_of_range);
      EXPECT_THAT(error.what(), HasSubstr("train.cpp:88"));
      return error.what();
    }
    return "no error";
  };
  const Literal x = f32s({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(
      message(op::take, {x, indices({2, 2}, {0, 1, 1, 2})}, pack(TakeAttrs{0})),
      HasSubstr("take: the index 2 at (1, 1) of the indices is outside of the 2 positions there are"));
  EXPECT_THAT(message(op::take, {x, indices({1}, {-1})}, pack(TakeAttrs{0})),
              HasSubstr("negative indices do not count from the end"));
  EXPECT_THAT(message(op::gather, {x, indices({2, 1}, {0, 3})}, pack(AxisAttrs{1})),
              HasSubstr("the index 3 at (1, 0)"));
  EXPECT_THAT(
      message(op::scatter_add, {x, indices({2, 1}, {7, 0}), f32s({2, 1}, {1, 1})}, pack(AxisAttrs{1})),
      HasSubstr("indices in [0, 3)"));
  EXPECT_THAT(message(op::take_add, {f32s({1}, {1}), indices({1}, {4})}, pack(TakeAddAttrs{0, 4})),
              HasSubstr("take_add: the index 4 at (0)"));
  EXPECT_THAT(message(op::one_hot, {indices({1}, {3})}, pack(OneHotAttrs{3, DType::f32})),
              HasSubstr("one_hot: the index 3"));
}

TEST(Index, MistakesPointAtTheUsersLine) {
  const auto error_on = [](const auto& f) {  // a matrix (2, 3)
    return error_of([&](Builder& b) { f(b, b.input({DType::f32, {2, 3}})); });
  };
  EXPECT_THAT(error_on([](Builder& b, Var x) {
                take(x, b.input({DType::f32, {2}}), 0);
              }),
              HasSubstr("take: the indices are f32"));
  EXPECT_THAT(error_on([](Builder& b, Var x) {
                take(x, b.input({DType::i64, {2}}), 2);
              }),
              HasSubstr("take: axis 2"));
  EXPECT_THAT(error_on([](Builder& b, Var x) {
                gather(x, b.input({DType::i64, {3, 3}}), 1);
              }),
              HasSubstr("gather: indices of shape (3, 3) into (2, 3)"));
  EXPECT_THAT(error_on([](Builder& b, Var x) {
                take_add(x, b.input({DType::i64, {3}}), 0, 5);
              }),
              HasSubstr("take_add: updates (2, 3) for indices (3) at axis 0"));
}

}  // namespace
}  // namespace tidemark
