#include "tidemark/ode/odeint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::HasSubstr;

Tensor vector(std::initializer_list<double> values, DType dtype = DType::f64) {
  return cast(tensor(values), dtype);
}

struct Swing {
  Tensor x, v;
  TM_FIELDS(Swing, x, v)
};

// x'' = −x with a force that depends on time: x = cos t + sin 2t solves x'' + x = −3 sin 2t.
Swing forced(Tensor t, Swing s) { return {s.v, -s.x - sin(t * 2) * 3}; }
double forced_error(const OdeOptions& options, double t0 = 0, double t1 = 2) {
  const auto exact = [](double t) {
    return std::pair(std::cos(t) + std::sin(2 * t), -std::sin(t) + 2 * std::cos(2 * t));
  };
  const auto start = exact(t0), end = exact(t1);
  const Swing y = odeint(forced, Swing{vector({start.first}), vector({start.second})}, t0, t1, options);
  return std::hypot(y.x.item() - end.first, y.v.item() - end.second);
}

class Order : public testing::TestWithParam<std::pair<OdeMethod, double>> {};

TEST_P(Order, IsThatOfTheMethodForwardsAndBackwards) {
  const auto [method, order] = GetParam();
  for (const auto& [t0, t1] : {std::pair(0.0, 2.0), std::pair(2.0, -1.0)}) {
    const double coarse = forced_error({.method = method, .steps = 80}, t0, t1);
    const double fine = forced_error({.method = method, .steps = 160}, t0, t1);
    EXPECT_NEAR(std::log2(coarse / fine), order, 0.1) << coarse << " " << fine;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Order,
                         testing::Values(std::pair(OdeMethod::euler, 1.0),
                                         std::pair(OdeMethod::midpoint, 2.0), std::pair(OdeMethod::rk4, 4.0),
                                         std::pair(OdeMethod::implicit_midpoint, 2.0),
                                         std::pair(OdeMethod::leapfrog, 2.0)));

TEST(Dopri5, MeetsItsToleranceInEitherDirection) {
  for (const double rtol : {1e-3, 1e-6, 1e-9}) {
    const OdeOptions options{.rtol = rtol, .atol = rtol};
    EXPECT_LT(forced_error(options), 10 * rtol);
    EXPECT_LT(forced_error(options, 2, -1), 10 * rtol);
  }
  EXPECT_LT(forced_error({.rtol = 1e-10, .atol = 1e-10}), forced_error({.rtol = 1e-5, .atol = 1e-5}) / 1000);
}

// The error of steps of fixed size: with the tolerance wide open the first step is kept until it grows, so
// the span is one step long.
TEST(Dopri5, HasOrderFive) {
  const auto one_step = [](double h) {
    return forced_error({.rtol = 1e6, .atol = 1e6, .first_step = h}, 0.3, 0.3 + h);
  };
  EXPECT_NEAR(std::log2(one_step(0.2) / one_step(0.1)), 6, 0.3);  // locally one more
}

TEST(Dopri5, TakesSmallStepsOnlyWhereTheyAreNeeded) {
  // A narrow bump: y' = b'(t), found although the first steps are long.
  const auto bump = [](Tensor t, Tensor y) {
    const Tensor s = (t - 5) * 10;
    return y * 0 - exp(-s * s) * s * 20;
  };
  const auto end = odeint(bump, vector({0}), 4, 5, {.rtol = 1e-8, .atol = 1e-8, .max_steps = 200});
  EXPECT_NEAR(end.item(), 1, 1e-6);
}

// Van der Pol with a tree of two shapes and captured parameters, one of them not used by all elements.
Tensor loss_of(const Tensor& y0, const Tensor& p, const OdeOptions& options) {
  const auto f = [&](Tensor t, Swing s) {
    return Swing{s.v * p.at(0), (1 - s.x * s.x) * s.v * p.at(1) - s.x + sin(t * p.at(2))};
  };
  const Swing start{y0.at(Range{0, 2}), y0.at(Range{2, 4})};
  const Swing end = odeint(f, start, 0.25, 1.5, options);
  return sum(end.x * end.x) + sum(sin(end.v));
}

struct Case {
  const char* name;
  OdeOptions options;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Gradient : public testing::TestWithParam<Case> {};

TEST_P(Gradient, OfTheStepsAgreesWithFiniteDifferences) {
  const OdeOptions& options = GetParam().options;
  const auto loss = [&](Tensor y0, Tensor p) { return loss_of(y0, p, options); };
  const Tensor y0 = vector({0.7, -0.4, 0.2, 0.9}), p = vector({1.1, 0.8, 1.7});
  const auto gradient = compile(grad<0, 1>(loss))(y0, p);
  const auto eager = grad<0, 1>(loss)(y0, p);
  EXPECT_EQ(std::get<1>(gradient).to_vector(), std::get<1>(eager).to_vector());
  const auto value = compile(loss);
  const double h = 1e-5;
  const auto differences = [&](const Tensor& x, const auto& at) {
    std::vector<double> list;
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const Tensor e = cast(one_hot(scalar(static_cast<double>(i), DType::i64), x.count()), DType::f64) * h;
      list.push_back((at(x + e) - at(x - e)) / (2 * h));
    }
    return list;
  };
  const auto by_y = differences(y0, [&](const Tensor& x) { return value(x, p).item(); });
  const auto by_p = differences(p, [&](const Tensor& x) { return value(y0, x).item(); });
  EXPECT_THAT(std::get<0>(gradient).to_vector(), testing::Pointwise(testing::DoubleNear(1e-6), by_y));
  EXPECT_THAT(std::get<1>(gradient).to_vector(), testing::Pointwise(testing::DoubleNear(1e-6), by_p));
}

INSTANTIATE_TEST_SUITE_P(
    Methods, Gradient,
    testing::Values(
        Case{"euler", {.method = OdeMethod::euler, .steps = 12}},
        Case{"midpoint", {.method = OdeMethod::midpoint, .steps = 12}},
        Case{"rk4", {.method = OdeMethod::rk4, .steps = 12}},
        Case{"rk4_in_little_memory", {.method = OdeMethod::rk4, .steps = 12, .memory = Bytes(400)}},
        // Step sizes are not differentiated: what that leaves out is of the size of the tolerance.
        Case{"dopri5", {.method = OdeMethod::dopri5, .rtol = 1e-9, .atol = 1e-10}},
        Case{"implicit_midpoint", {.method = OdeMethod::implicit_midpoint, .steps = 12}},
        Case{"leapfrog", {.method = OdeMethod::leapfrog, .steps = 12}},
        Case{"leapfrog_reversible",
             {.method = OdeMethod::leapfrog, .gradient = OdeGradient::reversible, .steps = 12}},
        Case{"adjoint_rk4", {.method = OdeMethod::rk4, .gradient = OdeGradient::adjoint, .steps = 200}},
        Case{"adjoint_dopri5", {.gradient = OdeGradient::adjoint, .rtol = 1e-9, .atol = 1e-10}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tidemark
