#include "tidemark/ops/reduction/reduce.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/run_kernel.h"
#include "tests/support/sanitized.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> reduced(const Op& op, const Literal& x, const Dims& axes, bool keep = false) {
  return values_of(expect_same_every_way(op, {x}, pack(ReduceAttrs{axes, keep})).front());
}
Literal f64s(const Shape& shape, const std::vector<double>& values) {
  return literal_of(DType::f64, shape, values);
}

// Values that do not add up exactly, so that another order gives other bits.
Literal uneven(DType dtype, const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i) * 1.7) + 0.1;
  return literal_of(dtype, shape, values);
}

TEST(Reduce, FollowsItsDefinition) {
  const Literal x = f64s({2, 3}, {1, 5, 3, -2, 0, 4});
  EXPECT_THAT(reduced(op::reduce_sum, x, {1}), ElementsAre(9, 2));
  EXPECT_THAT(reduced(op::reduce_sum, x, {0}), ElementsAre(-1, 5, 7));
  EXPECT_THAT(reduced(op::reduce_sum, x, {0, 1}), ElementsAre(11));
  EXPECT_THAT(reduced(op::reduce_sum, x, {}), ElementsAre(1, 5, 3, -2, 0, 4));
  EXPECT_THAT(reduced(op::reduce_mean, x, {1}, true), ElementsAre(3, 2.0 / 3));
  EXPECT_THAT(reduced(op::reduce_max, x, {0}), ElementsAre(1, 5, 4));
  EXPECT_THAT(reduced(op::reduce_min, x, {1}), ElementsAre(1, -2));
  EXPECT_THAT(reduced(op::reduce_prod, x, {1}), ElementsAre(15, 0));
  EXPECT_DOUBLE_EQ(reduced(op::reduce_var, x, {1})[0], 8.0 / 3);
  EXPECT_NEAR(reduced(op::reduce_logsumexp, x, {1})[0], std::log(std::exp(1) + std::exp(5) + std::exp(3)),
              1e-14);
}

TEST(Reduce, HasItsIdentityForNothing) {
  const Literal none = f64s({2, 0}, {});
  EXPECT_THAT(reduced(op::reduce_sum, none, {1}), ElementsAre(0, 0));
  EXPECT_THAT(reduced(op::reduce_prod, none, {1}), ElementsAre(1, 1));
  EXPECT_THAT(reduced(op::reduce_logsumexp, none, {1}), ElementsAre(-inf, -inf));
  EXPECT_TRUE(std::isnan(reduced(op::reduce_mean, none, {1})[0]));
  EXPECT_THAT(reduced(op::reduce_sum, none, {0}), ElementsAre());
  EXPECT_THAT(reduced(op::reduce_sum, f64s({}, {3}), {}), ElementsAre(3));
}

TEST(Reduce, NaNAndInfinityPropagate) {
  EXPECT_TRUE(std::isnan(reduced(op::reduce_max, f64s({3}, {1, nan, 2}), {0})[0]));
  EXPECT_TRUE(std::isnan(reduced(op::reduce_min, f64s({3}, {nan, 1, 2}), {0})[0]));
  std::vector<double> many(100, 1.0);
  for (std::size_t at : {0u, 17u, 99u}) {
    many[at] = nan;
    EXPECT_TRUE(std::isnan(reduced(op::reduce_max, f64s({100}, many), {0})[0])) << at;
    EXPECT_TRUE(std::isnan(reduced(op::reduce_min, f64s({10, 10}, many), {0})[at % 10])) << at;
    many[at] = 1;
  }
  EXPECT_EQ(reduced(op::reduce_logsumexp, f64s({2}, {-inf, -inf}), {0})[0], -inf);
  EXPECT_EQ(reduced(op::reduce_logsumexp, f64s({2}, {inf, 0}), {0})[0], inf);
  EXPECT_TRUE(std::isnan(reduced(op::reduce_logsumexp, f64s({2}, {nan, 0}), {0})[0]));
  EXPECT_DOUBLE_EQ(reduced(op::reduce_logsumexp, f64s({2}, {1000, 1000}), {0})[0], 1000 + std::log(2));
}

void expect_same_reduction(const Op& op, const Literal& x, const Dims& axes) {
  expect_same_every_way(op, {x}, pack(ReduceAttrs{axes, false}));
}

// Rows, columns, axes with others between them; sizes around lanes, blocks and strips. Every dtype, every
// layout.
TEST(Reduce, GivesTheSameBitsForEveryLayoutAndThreadCount) {
  struct Case {
    Shape shape;
    Dims axes;
  };
  const Case cases[] = {{{3, 37}, {1}},
                        {{37, 3}, {0}},
                        {{5, 1100}, {1}},
                        {{1100, 131}, {0}},
                        {{4, 9, 21}, {0, 2}},
                        {{6, 5, 4}, {1}},
                        {{3, 1, 7, 1, 5}, {2, 3}},
                        {{2, 3, 4, 5}, {0, 1, 2, 3}},
                        {{2, 2, 1, 3, 2, 1, 2, 3}, {1, 3, 6}}};
  for (const auto& [shape, axes] : cases) {
    for (DType dtype : number_dtypes) {
      const Literal x = is_float(dtype) ? uneven(dtype, shape) : counting(dtype, shape);
      for (const Op* op : {&op::reduce_sum, &op::reduce_max, &op::reduce_min, &op::reduce_prod})
        expect_same_reduction(*op, x, axes);
      if (!is_float(dtype)) continue;
      for (const Op* op : {&op::reduce_mean, &op::reduce_var, &op::reduce_logsumexp})
        expect_same_reduction(*op, x, axes);
    }
    expect_same_reduction(op::reduce_max, counting(DType::boolean, shape), axes);
  }
}

// Few results and many elements: threads share chunks of one sum.
TEST(Reduce, GivesTheSameBitsWhenThreadsShareOneResult) {
  for (const Op* op : {&op::reduce_sum, &op::reduce_logsumexp, &op::reduce_var, &op::reduce_max}) {
    expect_same_reduction(*op, uneven(DType::f32, {100003}), {0});
    expect_same_reduction(*op, uneven(DType::f32, {3, 40001}), {1});
    expect_same_reduction(*op, uneven(DType::f32, {40001, 9}), {0});
    expect_same_reduction(*op, uneven(DType::bf16, {9001, 2, 4}), {0, 2});
  }
}

TEST(Reduce, IsAccurateForLongSums) {
  if (looks_for_races) GTEST_SKIP() << "threads have tests of their own";
  constexpr std::int64_t n = 1 << 20;
  for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Literal x = uneven(dtype, {n});
    double exact = 0, square = 0;
    for (double v : values_of(x)) exact += v;
    for (double v : values_of(x)) square += (v - exact / n) * (v - exact / n);
    const double unit = dtype == DType::f32 ? 1e-6 : dtype == DType::f16 ? 1e-3 : 8e-3;
    if (dtype != DType::f16) {  // the sum is beyond its range
      EXPECT_NEAR(reduced(op::reduce_sum, x, {0})[0], exact, unit * std::abs(exact));
    }
    EXPECT_NEAR(reduced(op::reduce_mean, x, {0})[0], exact / n, unit);
    EXPECT_NEAR(reduced(op::reduce_var, x, {0})[0], square / n, unit);
  }
}

TEST(Reduce, VarianceSurvivesALargeMean) {
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 4096 + (i % 2 ? 0.5 : -0.5);
  EXPECT_NEAR(reduced(op::reduce_var, literal_of(DType::f32, {1000}, values), {0})[0], 0.25, 1e-6);
}

TEST(Reduce, IntegersWrapAndBooleansAnswerAnyAndAll) {
  EXPECT_THAT(reduced(op::reduce_sum, literal_of(DType::u8, {3}, {200, 100, 1}), {0}), ElementsAre(45));
  const Literal flags = literal_of(DType::boolean, {2, 2}, {1, 0, 1, 1});
  EXPECT_THAT(reduced(op::reduce_max, flags, {1}), ElementsAre(1, 1));
  EXPECT_THAT(reduced(op::reduce_min, flags, {1}), ElementsAre(0, 1));
}

TEST(ArgExtremum, TakesTheFirstOfEqualsAndTheFirstNaN) {
  const auto run = [](const Op& op, const Literal& x, std::int64_t axis) {
    return values_of(expect_same_every_way(op, {x}, pack(AxisAttrs{axis})).front());
  };
  const Literal x = f64s({2, 3}, {1, 5, 5, -2, nan, nan});
  EXPECT_THAT(run(op::argmax, x, 1), ElementsAre(1, 1));
  EXPECT_THAT(run(op::argmin, x, 1), ElementsAre(0, 1));
  EXPECT_THAT(run(op::argmax, x, 0), ElementsAre(0, 1, 1));
  for (DType dtype : number_dtypes) run(op::argmax, counting(dtype, {5, 33, 7}), 1);
}

TEST(Cumsum, RunsEitherWayAndInPlace) {
  const auto run = [](const Literal& x, std::int64_t axis, bool reverse) {
    return values_of(expect_same_every_way(op::cumsum, {x}, pack(CumsumAttrs{axis, reverse})).front());
  };
  const Literal x = f64s({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(run(x, 1, false), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(run(x, 1, true), ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(run(x, 0, false), ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(run(f64s({0}, {}), 0, false), ElementsAre());
  for (DType dtype : number_dtypes) run(counting(dtype, {5, 33, 7}), 1, dtype == DType::f32);
}

// d result / d x, from the rule itself.
std::vector<double> slope(const Op& op, const std::vector<double>& x) {
  Graph graph;
  Builder builder(graph);
  const Shape shape{static_cast<std::int64_t>(x.size())};
  const Var in = builder.input({DType::f64, shape});
  const Var out = builder.call1(op, {in}, pack(ReduceAttrs{{0}, false}));
  const Var seed = ones_like(out);
  const Node node = graph.nodes()[0];
  const NodeCall call(graph, node);
  const std::vector<Var> gradient = op.vjp({builder, call, {&in, 1}, {&out, 1}, {&seed, 1}});
  graph.add_output(gradient[0].id());
  return values_of(run(graph, {f64s(shape, x)}).front());
}

TEST(Reduce, GradientsAreFiniteAtZerosTiesAndInfinities) {
  EXPECT_THAT(slope(op::reduce_prod, {0, 2, 3, 4, 5}), ElementsAre(120, 0, 0, 0, 0));
  EXPECT_THAT(slope(op::reduce_prod, {0, 2, 0}), ElementsAre(0, 0, 0));
  EXPECT_THAT(slope(op::reduce_prod, {7}), ElementsAre(1));
  EXPECT_THAT(slope(op::reduce_max, {1, 3, 3, 2}), ElementsAre(0, 0.5, 0.5, 0));
  EXPECT_THAT(slope(op::reduce_min, {1, 1, 1, 1}), ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(slope(op::reduce_logsumexp, {-inf, -inf}), ElementsAre(0, 0));
  EXPECT_THAT(slope(op::reduce_logsumexp, {-inf, 0, 0}), ElementsAre(0, 0.5, 0.5));
}

TEST(Reduce, MistakesPointAtTheUsersLine) {
  const Type type{DType::f32, {2, 0}};
  EXPECT_THAT(error_of([&](Builder& b) { reduce_sum(b.input(type), {2}); }),
              HasSubstr("reduce_sum: axis 2 of a tensor of rank 2"));
  EXPECT_THAT(error_of([&](Builder& b) {
                reduce_sum(b.input(type), {1, 0});
              }),
              HasSubstr("ascending axes, each once"));
  EXPECT_THAT(error_of([&](Builder& b) { reduce_max(b.input(type), {1}); }),
              HasSubstr("reduce_max: nothing to choose from along axes (1) of (2, 0)"));
  EXPECT_THAT(error_of([&](Builder& b) { argmax(b.input(type), 1); }), HasSubstr("nothing to choose from"));
  EXPECT_THAT(error_of([&](Builder& b) {
                reduce_mean(b.input({DType::i32, {2}}), {0});
              }),
              HasSubstr("one of f32, f64, bf16, f16"));
}

}  // namespace
}  // namespace tidemark
