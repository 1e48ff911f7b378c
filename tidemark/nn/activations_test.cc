#include "tidemark/nn/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/errors.h"
#include "tests/support/numeric_gradient.h"
#include "tidemark/nn/embedding.h"
#include "tidemark/nn/norms.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

struct Row {
  const char* name;
  std::function<Tensor(const Tensor&)> ours;
  std::function<double(double)> formula;
};
double logistic(double x) { return 1 / (1 + std::exp(-x)); }
const std::vector<Row>& rows() {
  static const std::vector<Row> list = {
      {"elu", [](const Tensor& x) { return elu(x, 1.5); },
       [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); }},
      {"celu", [](const Tensor& x) { return celu(x, 2); },
       [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
      {"selu", [](const Tensor& x) { return selu(x); },
       [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
      {"mish", [](const Tensor& x) { return mish(x); },
       [](double x) { return x * std::tanh(x > 30 ? x : std::log1p(std::exp(x))); }},
      {"relu6", [](const Tensor& x) { return relu6(x); }, [](double x) { return std::clamp(x, 0.0, 6.0); }},
      {"hardtanh", [](const Tensor& x) { return hardtanh(x); },
       [](double x) { return std::clamp(x, -1.0, 1.0); }},
      {"hardsigmoid", [](const Tensor& x) { return hardsigmoid(x); },
       [](double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; }},
      {"hardswish", [](const Tensor& x) { return hardswish(x); },
       [](double x) { return x * (std::clamp(x + 3, 0.0, 6.0) / 6); }},
      {"logsigmoid", [](const Tensor& x) { return logsigmoid(x); },
       [](double x) { return x < -30 ? x : -std::log1p(std::exp(-x)); }},
      {"softsign", [](const Tensor& x) { return softsign(x); },
       [](double x) { return x / (1 + std::abs(x)); }},
      {"tanhshrink", [](const Tensor& x) { return tanhshrink(x); },
       [](double x) { return x - std::tanh(x); }},
      {"softshrink", [](const Tensor& x) { return softshrink(x); },
       [](double x) { return x - std::clamp(x, -0.5, 0.5); }},
      {"hardshrink", [](const Tensor& x) { return hardshrink(x); },
       [](double x) { return std::abs(x) <= 0.5 ? 0 : x; }},
      {"gelu_tanh", [](const Tensor& x) { return gelu_tanh(x); },
       [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
  };
  return list;
}

TEST(Activations, AreTheirFormulasAndHaveTheirGradients) {
  const std::vector<double> at = {-700, -40, -3.5, -1.2, -0.6, -0.3, 0.2, 0.7, 1.3, 3.3, 6.5, 40, 700};
  const Tensor x = tensor(at, {static_cast<std::int64_t>(at.size())});
  for (const Row& row : rows()) {
    const auto [values, gradient] = value_and_grad([&](Tensor t) { return sum(row.ours(t)); })(x);
    const std::vector<double> y = row.ours(x).to_vector(), g = gradient.to_vector();
    for (std::size_t i = 0; i < at.size(); ++i) {
      EXPECT_NEAR(y[i], row.formula(at[i]), 1e-13 * (1 + std::abs(at[i]))) << row.name << at[i];
      const double h = 1e-6 * (1 + std::abs(at[i]));
      const double difference = (row.formula(at[i] + h) - row.formula(at[i] - h)) / (2 * h);
      EXPECT_NEAR(g[i], difference, 1e-6) << row.name << at[i];
    }
  }
}

TEST(Activations, StandInfinitiesAndNaN) {
  const double infinite = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({1e308, -1e308, std::nan("")});
  for (const Row& row : rows()) {
    const std::vector<double> y = row.ours(x).to_vector();
    EXPECT_FALSE(std::isnan(y[0]) || std::isnan(y[1])) << row.name;
    EXPECT_TRUE(std::isnan(y[2])) << row.name;
  }
  for (double g :
       grad([](Tensor t) { return sum(elu(t) + celu(t) + selu(t)); })(tensor({infinite, 1e5, -1e5}))
           .to_vector()) {
    EXPECT_TRUE(std::isfinite(g));
  }
}

TEST(Activations, OfGatesAndSlopes) {
  const Tensor x = random_normal(key(1), {2, 6, 4}, 0, 1, DType::f64);
  const std::vector<double> v = x.to_vector(), y = glu(x, 1).to_vector();
  EXPECT_NEAR(y[0], v[0] * logistic(v[12]), 1e-15);
  EXPECT_EQ(glu(x).shape(), (Shape{2, 6, 2}));
  const Tensor slopes = random_normal(key(2), {6}, 0, 1, DType::f64);
  const Tensor bent = prelu(x, slopes);
  const double s = slopes.to_vector()[1];
  EXPECT_EQ(bent.to_vector()[5], v[5] > 0 ? v[5] : s * v[5]);
  testing::expect_gradient([](std::pair<Tensor, Tensor> p) { return sum(square(prelu(p.first, p.second))); },
                           std::pair(x, slopes));
  testing::expect_gradient([](std::pair<Tensor, Tensor> p) { return sum(square(prelu(p.first, p.second))); },
                           std::pair(x, tensor({0.25})));
  for (const Activation a :
       {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::tanh}) {
    EXPECT_EQ(activate(zeros({2}), a).to_vector(), (std::vector<double>{0, 0}));
  }
}

TEST(Norms, OfGroupsAndInstancesHaveMeanZeroAndVarianceOne) {
  const Tensor x = random_normal(key(1), {2, 6, 5, 3}, 2, 3, DType::f64);
  const auto in_f64 = [](const auto& layer) {
    return map_tree([](const Tensor& w) { return cast(w, DType::f64); }, layer);
  };
  const Tensor grouped = reshape(in_f64(GroupNorm::init(6, 2))(x), {2, 2, -1}),
               alone = reshape(in_f64(InstanceNorm::init(6))(x), {2, 6, -1}),
               rows_of = in_f64(RmsNorm::init(3))(x);
  for (const Tensor& y : {grouped, alone}) {
    for (double m : mean(y, {-1}).to_vector()) EXPECT_NEAR(m, 0, 1e-12);
    for (double v : var(y, {-1}).to_vector()) EXPECT_NEAR(v, 1, 1e-4);
  }
  for (double v : mean(square(rows_of), {-1}).to_vector()) EXPECT_NEAR(v, 1, 1e-2);
}

TEST(Embedding, DoesNotTrainItsPadding) {
  const Embedding layer = Embedding::init(key(1), 5, 3, 2);
  const Tensor tokens = tensor(std::vector<std::int32_t>{0, 2, 4, 2}, {2, 2});
  EXPECT_EQ(layer(tokens).shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(layer(tokens).at(0, 1).to_vector(), (std::vector<double>{0, 0, 0}));
  const Tensor g = grad([&](const Embedding& p) { return sum(p(tokens)); })(layer).table;
  EXPECT_EQ(sum(g, {1}).to_vector(), (std::vector<double>{3, 0, 0, 0, 3}));
  const Embedding plain = Embedding::init(key(1), 5, 3);
  EXPECT_EQ(grad([&](const Embedding& p) { return sum(p(tokens)); })(plain).table.at(2).to_vector(),
            (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(testing::code_of([] { Embedding::init(key(1), 5, 3, 5); }), ErrorCode::bad_attribute);
}

}  // namespace
}  // namespace tidemark::nn
