#include "tidemark/autodiff/jacobian.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

void expect_near(const Tensor& given, const std::vector<double>& expected, double tolerance = 1e-12) {
  const std::vector<double> values = given.to_vector();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
}

const Tensor point = tensor<double>({0.3, -1.2, 2.0});

struct Affine {
  Tensor w, b;
  TM_FIELDS(Affine, w, b)
};
Affine some_affine() {
  return {random_normal(key(1), {2, 3}, 0, 1, DType::f64), random_normal(key(2), {2}, 0, 1, DType::f64)};
}

// Every entry, one pullback at a time.
Tensor entry_by_entry(const auto& f, const Tensor& x) {
  const auto [y, pullback] = vjp(f, x);
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < y.type().count(); ++i) {
    const Tensor seed = reshape(cast(one_hot(scalar(i, DType::i64), y.type().count()), y.dtype()), y.shape());
    rows.push_back(reshape(pullback(seed), {x.type().count()}));
  }
  Shape shape = y.shape();
  for (std::int64_t size : x.shape()) shape.push_back(size);
  return reshape(stack(rows), shape);
}

TEST(Jacobian, HessianIsSymmetricAndAgreesWithHvp) {
  const auto f = [](Tensor x) { return sum(sin(x) * flip(x * x, {0})); };
  const Tensor h = hessian(f)(point);
  ASSERT_EQ(h.shape(), (Shape{3, 3}));
  expect_near(h, transpose(h).to_vector());
  const Tensor v = tensor<double>({1, -2, 0.5});
  expect_near(hvp(f, point, v), matmul(h, v).to_vector());
}

TEST(Jacobian, JacobianRunsByRowsOrByColumns) {
  const auto wide = [](Tensor x) { return concat({x, x * x}, 0); };
  const auto narrow = [](Tensor x) { return reshape(sum(x * x), {1}); };
  const Tensor x = tensor<double>({2, 3});
  expect_near(jacobian(wide)(x), {1, 0, 0, 1, 4, 0, 0, 6});
  expect_near(jacobian(narrow)(x), {4, 6});
}

TEST(Jacobian, OfTreesIsATreeOfTrees) {
  const Affine p = some_affine();
  const Tensor x = tensor<double>({1, -2, 0.5});
  const auto f = [&](const Affine& a) {
    return std::pair(tanh(matmul(a.w, x) + a.b), std::vector<Tensor>{sum(a.w * a.w)});
  };
  for (const JacobianMode mode : {JacobianMode::automatic, JacobianMode::reverse, JacobianMode::forward}) {
    for (const std::int64_t chunk : {0, 1, 2, 100}) {
      const auto [value, squares] = jacobian(f, {.mode = mode, .chunk = chunk})(p);
      EXPECT_EQ(value.w.shape(), (Shape{2, 2, 3}));
      EXPECT_EQ(value.b.shape(), (Shape{2, 2}));
      EXPECT_EQ(squares[0].w.shape(), (Shape{2, 3}));
      EXPECT_EQ(squares[0].b.shape(), (Shape{2}));
      expect_near(value.w, entry_by_entry([&](Tensor w) { return f({w, p.b}).first; }, p.w).to_vector());
      expect_near(value.b, entry_by_entry([&](Tensor b) { return f({p.w, b}).first; }, p.b).to_vector());
      expect_near(squares[0].w, (2 * p.w).to_vector());
      expect_near(squares[0].b, {0, 0});
    }
  }
}

TEST(Jacobian, OfAStructIsAMapByPathsAndSoIsAHessian) {
  const Affine p = some_affine();
  const auto loss = [](const Affine& a, Tensor x) { return sum(exp(matmul(a.w, x) * a.b)); };
  const Tensor x = tensor<double>({1, -2, 0.5});
  const std::map<std::string, Affine> h = hessian(loss)(p, x);
  ASSERT_EQ(h.size(), 2u);
  EXPECT_EQ(h.at("w").b.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(h.at("b").w.shape(), (Shape{2, 2, 3}));
  expect_near(h.at("w").b, transpose(h.at("b").w, {1, 2, 0}).to_vector());
  // Columns against hvp.
  const Affine v{ones({2, 3}, DType::f64), zeros({2}, DType::f64)};
  const auto of_p = [&](const Affine& a) { return loss(a, x); };
  const Affine product = hvp(of_p, p, v);
  expect_near(sum(h.at("w").w, {2, 3}), product.w.to_vector(), 1e-11);
  expect_near(sum(h.at("b").w, {1, 2}), product.b.to_vector(), 1e-11);
  for (const JacobianMode mode : {JacobianMode::reverse, JacobianMode::forward}) {
    const auto again = compile(hessian(loss, {.mode = mode}))(p, x);
    expect_near(again.at("w").w, h.at("w").w.to_vector(), 1e-11);
    expect_near(again.at("b").b, h.at("b").b.to_vector(), 1e-11);
  }
}

TEST(Jacobian, GoesThroughLoopsBranchesAndIntegers) {
  const Tensor w = random_normal(key(5), {3, 3}, 0, 0.5, DType::f64);
  const auto rolled = [&](Tensor x) {
    return scan([&](Tensor s, Tensor u) { return tanh(matmul(w, s)) + u; }, x, stack({x, x * x}));
  };
  const auto until = [](Tensor x) {
    return while_loop([](Tensor s) { return sum(abs(s)) > 0.5; }, [](Tensor s) { return sin(s) * 0.7; }, x);
  };
  const auto branched = [](Tensor x) {
    return cond(
        sum(x) > 0, [](Tensor u) { return u * u; }, [](Tensor u) { return exp(u); }, x);
  };
  for (const JacobianMode mode : {JacobianMode::reverse, JacobianMode::forward}) {
    for (const std::int64_t chunk : {0, 2}) {
      const JacobianOptions options{.mode = mode, .chunk = chunk};
      expect_near(jacobian(rolled, options)(point), entry_by_entry(rolled, point).to_vector());
      expect_near(compile(jacobian(rolled, options))(point), entry_by_entry(rolled, point).to_vector());
      expect_near(jacobian(until, options)(point), entry_by_entry(until, point).to_vector());
      expect_near(compile(jacobian(until, options))(point), entry_by_entry(until, point).to_vector());
      expect_near(compile(jacobian(branched, options))(point), entry_by_entry(branched, point).to_vector());
    }
    const auto [slope, whole] =
        jacobian([](Tensor x) { return std::pair(x * x, argmax(x, 0)); }, {.mode = mode})(point);
    expect_near(slope, {0.6, 0, 0, 0, -2.4, 0, 0, 0, 4});
    expect_near(whole, {0, 0, 0});
  }
  expect_near(jacobian([](Tensor x) { return x * 2; })(zeros({0}, DType::f64)), {});
  expect_near(jacobian([](Tensor x) { return zeros({0}, DType::f64) * sum(x); })(point), {});
  EXPECT_EQ(jacobian([](Tensor x) { return x * x; })(scalar(3, DType::f64)).item(), 6);
  // No room for a dimension of rows, and none is needed.
  expect_near(jacobian([](Tensor x) { return sum(x * x); })(full({1, 1, 1, 1, 1, 1, 2, 1}, 3, DType::f64)),
              {6, 6});
}

TEST(Jacobian, OfChunksStaysInsideASmallerBudget) {
  const Tensor wide = random_normal(key(5), {512, 16}, 0, 0.2),
               back = random_normal(key(7), {16, 512}, 0, 0.1);
  const auto f = [&](Tensor x) {
    for (int i = 0; i < 3; ++i) x = matmul(back, tanh(matmul(wide, x)));
    return x;
  };
  const Tensor x = random_normal(key(6), {16});
  const auto whole = compile(jacobian(f));
  const std::vector<double> expected = whole(x).to_vector();
  const auto cut = compile(jacobian(f, {.chunk = 2}));
  EXPECT_LT(cut.prepare(x).peak().count, whole.prepare(x).peak().count);
  expect_near(cut(x), expected, 1e-4);
  const Bytes budget{whole.prepare(x).peak().count};
  const auto within = compile(jacobian(f), {.memory = budget});
  EXPECT_EQ(within(x).to_vector(), expected);
  EXPECT_LE(within.prepare(x).peak().count, budget.count);
}

TEST(Jacobian, MistakesAreExplained) {
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("jacobian_test.cc"));
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message([] { jacobian([](Tensor x) { return x * 2; })(arange(3)); }),
              ::testing::HasSubstr("floating-point"));
  EXPECT_THAT(message([] { jacobian([](Tensor) { return 3; })(point); }),
              ::testing::HasSubstr("returns no tensor"));
  EXPECT_THAT(message([] { jacobian([](Tensor x) { return x; }, {.chunk = -1})(point); }),
              ::testing::HasSubstr("chunks of -1"));
}

}  // namespace
}  // namespace tidemark
