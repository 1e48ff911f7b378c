// The three ways to the gradient of odeint against one another: closeness, memory, drift, second order; and
// mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

Tensor waves(const Shape& shape, double frequency, DType dtype = DType::f64) {
  return sin(reshape(arange(element_count(shape), dtype), shape) * frequency + 0.3);
}

// A small net as vector field.
Tensor net_loss(const Tensor& w, const Tensor& y0, const OdeOptions& options) {
  const auto f = [&](Tensor t, Tensor y) { return tanh(matmul(y, w) + t); };
  return sum(square(odeint(f, y0, 0, 1.5, options)));
}
std::vector<double> net_gradient(const OdeOptions& options) {
  return compile(grad([&](Tensor w) {
           return net_loss(w, waves({3, 4}, 0.9), options);
         }))(waves({4, 4}, 1.7))
      .to_vector();
}

TEST(OdeGradients, UndoneStepsGiveTheDiscreteGradientUpToRounding) {
  const auto drift = std::make_shared<OdeDrift>();
  const std::vector<double> discrete = net_gradient({.method = OdeMethod::leapfrog, .steps = 50});
  const std::vector<double> undone = net_gradient({.method = OdeMethod::leapfrog,
                                                   .gradient = OdeGradient::reversible,
                                                   .steps = 50,
                                                   .drift_tolerance = 1e-12,
                                                   .drift = drift});
  EXPECT_THAT(undone, Pointwise(DoubleNear(1e-12), discrete));
  EXPECT_GT(drift->latest, 0);
  EXPECT_LT(drift->latest, 1e-13);
}

TEST(OdeGradients, TheAdjointComesCloserAsStepsBecomeSmaller) {
  const auto distance = [](std::int64_t steps) {
    OdeOptions options{.method = OdeMethod::rk4, .steps = steps, .drift = std::make_shared<OdeDrift>()};
    const std::vector<double> exact = net_gradient(options);
    options.gradient = OdeGradient::adjoint;
    const std::vector<double> adjoint = net_gradient(options);
    double most = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) most = std::max(most, std::abs(exact[i] - adjoint[i]));
    return std::pair(most, options.drift->latest);
  };
  const auto [coarse, coarse_drift] = distance(5);
  const auto [fine, fine_drift] = distance(40);
  EXPECT_GT(coarse, 1e-6);
  EXPECT_LT(fine, coarse / 1000);
  EXPECT_LT(fine_drift, coarse_drift / 1000);
}

TEST(OdeGradients, BackwardsTakeNoMoreMemoryForMoreSteps) {
  const auto peak = [](OdeMethod method, OdeGradient gradient, std::int64_t steps) {
    const OdeOptions options{.method = method, .gradient = gradient, .steps = steps};
    const auto loss = [&](Tensor w, Tensor y0) { return net_loss(w, y0, options); };
    return compile(grad<0, 1>(loss)).prepare(waves({8, 8}, 1.7), waves({16, 8}, 0.9)).peak().count;
  };
  const auto growth = [&](OdeMethod method, OdeGradient gradient) {
    return static_cast<double>(peak(method, gradient, 400)) /
           static_cast<double>(peak(method, gradient, 100));
  };
  EXPECT_GT(growth(OdeMethod::leapfrog, OdeGradient::discrete), 3);
  // The numbers of the steps, 8 bytes each, are all that grows.
  EXPECT_LT(growth(OdeMethod::leapfrog, OdeGradient::reversible), 1.3);
  EXPECT_LT(growth(OdeMethod::rk4, OdeGradient::adjoint), 1.3);
}

template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Lorenz {
  Tensor x, y, z;
  TM_FIELDS(Lorenz, x, y, z)
};

TEST(OdeDrift, IsAnErrorOnAChaoticSystem) {
  const auto drift = std::make_shared<OdeDrift>();
  const auto loss = [&](double end, OdeGradient gradient) {
    return [=](Tensor rho) {
      const auto f = [&](Tensor, Lorenz s) {
        return Lorenz{(s.y - s.x) * 10, s.x * (rho - s.z) - s.y, s.x * s.y - s.z * (8.0 / 3)};
      };
      const Tensor one = ones({}, DType::f64);
      return odeint(f, Lorenz{one, one, one}, 0, end,
                    {.gradient = gradient, .rtol = 1e-8, .atol = 1e-8, .drift = drift})
          .x;
    };
  };
  const Tensor rho = scalar(28, DType::f64);
  const std::string text = message([&] { grad(loss(1.5, OdeGradient::adjoint))(rho); });
  EXPECT_THAT(text, HasSubstr("missed y0 by"));
  EXPECT_THAT(text, HasSubstr("gradients_test.cc"));
  EXPECT_THAT(text, HasSubstr("drift_tolerance"));
  EXPECT_FALSE(drift->latest <= 1e-3);
  // No gradient, no error; and none from the steps themselves.
  EXPECT_TRUE(std::isfinite(loss(1.5, OdeGradient::adjoint)(rho).item()));
  EXPECT_TRUE(std::isfinite(grad(loss(1.5, OdeGradient::discrete))(rho).item()));
  EXPECT_EQ(message([&] { grad(loss(0.5, OdeGradient::adjoint))(rho); }), "no error");
}

TEST(OdeDrift, IsAnErrorOnAStiffSystem) {
  const auto loss = [](OdeMethod method, OdeGradient gradient) {
    return [=](Tensor rate) {
      return odeint([&](Tensor, Tensor y) { return -y * rate; }, ones({}, DType::f64), 0, 2,
                    {.method = method, .gradient = gradient, .steps = 400});
    };
  };
  const Tensor rate = scalar(50, DType::f64);
  EXPECT_THAT(message([&] { compile(grad(loss(OdeMethod::leapfrog, OdeGradient::reversible)))(rate); }),
              HasSubstr("missed y0 by"));
  EXPECT_THAT(message([&] { compile(grad(loss(OdeMethod::midpoint, OdeGradient::adjoint)))(rate); }),
              HasSubstr("missed y0 by"));
}

TEST(ImplicitMidpoint, TakesLongStepsThroughAStiffSystem) {
  // y = cos t, with perturbations damped at a rate of 10,000.
  const auto end = [](OdeMethod method, Tensor rate) {
    const auto f = [&](Tensor t, Tensor y) { return (cos(t) - y) * rate - sin(t); };
    return odeint(f, ones({1}, DType::f64), 0, 1, {.method = method, .steps = 20});
  };
  const Tensor rate = scalar(1e4, DType::f64);
  EXPECT_NEAR(end(OdeMethod::implicit_midpoint, rate).item(), std::cos(1.0), 2e-3);
  EXPECT_GT(std::abs(end(OdeMethod::rk4, rate).item()), 1e10);
}

TEST(ImplicitMidpoint, SaysWhenNewtonDoesNotConverge) {
  const auto f = [](Tensor, Tensor y) { return exp(y * y); };
  EXPECT_THAT(message([&] {
                odeint(f, ones({1}, DType::f64), 0, 100,
                       {.method = OdeMethod::implicit_midpoint, .steps = 1, .newton_steps = 5});
              }),
              HasSubstr("goes on after 5 steps"));
}

class SecondOrder : public testing::TestWithParam<OdeMethod> {};

TEST_P(SecondOrder, AgreesWithDifferencesOfTheGradient) {
  // Step sizes are not differentiated: what that leaves out is of the size of the tolerance.
  const OdeOptions options{.method = GetParam(), .steps = 6, .rtol = 1e-10, .atol = 1e-10};
  const auto loss = [&](Tensor p) {
    return sum(
        odeint([&](Tensor, Tensor y) { return sin(y * p) - y * y * y; }, waves({2}, 1), 0, 1, options));
  };
  const Tensor p = tensor({0.9, 1.4}), v = tensor({0.3, -0.8});
  const double h = 1e-5;
  const std::vector<double> differences =
      ((grad(loss)(p + v * h) - grad(loss)(p - v * h)) / (2 * h)).to_vector();
  EXPECT_THAT(hvp(loss, p, v).to_vector(), Pointwise(DoubleNear(1e-7), differences));
  EXPECT_THAT(grad([&](Tensor q) { return sum(grad(loss)(q) * v); })(p).to_vector(),
              Pointwise(DoubleNear(1e-7), differences));
}

INSTANTIATE_TEST_SUITE_P(Methods, SecondOrder,
                         testing::Values(OdeMethod::rk4, OdeMethod::dopri5, OdeMethod::implicit_midpoint,
                                         OdeMethod::leapfrog));

// Of a gradient that was integrated backwards, the derivative is that of its own steps, and so as close to
// the exact one as the gradient is.
TEST(OdeGradients, FromBackwardsAreDifferentiatedAgain) {
  const auto second = [](const OdeOptions& options) {
    const auto loss = [&](Tensor p) {
      return sum(
          odeint([&](Tensor, Tensor y) { return sin(y * p) - y * y * y; }, waves({2}, 1), 0, 1, options));
    };
    const Tensor p = tensor({0.9, 1.4}), v = tensor({0.3, -0.8});
    return std::pair(grad([&](Tensor q) { return sum(grad(loss)(q) * v); })(p).to_vector(),
                     compile([&](Tensor q) { return hvp(loss, q, v); })(p).to_vector());
  };
  const std::vector<double> exact = second({.method = OdeMethod::rk4, .steps = 100}).first;
  using enum OdeGradient;
  const std::pair<OdeOptions, double> cases[] = {
      {{.method = OdeMethod::rk4, .gradient = adjoint, .steps = 40}, 1e-6},
      {{.method = OdeMethod::dopri5, .gradient = adjoint, .rtol = 1e-9, .atol = 1e-9}, 1e-6},
      {{.method = OdeMethod::leapfrog, .gradient = adjoint, .steps = 200}, 1e-3},
      {{.method = OdeMethod::leapfrog, .gradient = reversible, .steps = 200}, 1e-3},
  };
  for (const auto& [options, tolerance] : cases) {
    const auto [reverse, forward] = second(options);
    EXPECT_THAT(reverse, Pointwise(DoubleNear(tolerance), exact)) << static_cast<int>(options.method);
    EXPECT_THAT(forward, Pointwise(DoubleNear(tolerance), exact)) << static_cast<int>(options.method);
  }
  OdeOptions steps{.method = OdeMethod::leapfrog, .steps = 50};
  const std::vector<double> by_steps = second(steps).first;
  steps.gradient = reversible;
  EXPECT_THAT(second(steps).first, Pointwise(DoubleNear(1e-11), by_steps));
}

// exp(y²) overflows in the first trial, which is far too long; the steps that are taken are not affected.
TEST(Dopri5, RejectedTrialsLeaveNoTraceInTheGradient) {
  const auto end = [](double first_step) {
    return [=](Tensor p) {
      return sum(odeint([&](Tensor, Tensor y) { return y * exp(y * y * p) * -0.5; }, full({2}, 3, DType::f64),
                        0, 1, {.rtol = 1e-8, .atol = 1e-8, .first_step = first_step}));
    };
  };
  const Tensor p = tensor({1.3, 0.7}), v = tensor({0.4, -1.0});
  const auto rash = end(1), careful = end(1e-7);
  EXPECT_NEAR(rash(p).item(), careful(p).item(), 1e-6);
  EXPECT_THAT(grad(rash)(p).to_vector(), Pointwise(DoubleNear(1e-6), grad(careful)(p).to_vector()));
  EXPECT_THAT(compile(grad(rash))(p).to_vector(), Pointwise(DoubleNear(1e-6), grad(careful)(p).to_vector()));
  EXPECT_NEAR(jvp(rash, p, v).second.item(), jvp(careful, p, v).second.item(), 1e-6);
  EXPECT_THAT(hvp(rash, p, v).to_vector(), Pointwise(DoubleNear(1e-5), hvp(careful, p, v).to_vector()));
  const auto slope = [&](Tensor q) { return sum(grad(rash)(q) * v); };
  EXPECT_THAT(grad(slope)(p).to_vector(), Pointwise(DoubleNear(1e-5), hvp(careful, p, v).to_vector()));
}

TEST(Odeint, WorksInF32AndInsideLoops) {
  const auto segment = [](Tensor y, Tensor rate) {
    return odeint([&](Tensor, Tensor x) { return x * rate; }, y, 0, 0.5);
  };
  const auto end = [&](Tensor rates) { return sum(scan(segment, ones({2}), rates)); };
  const Tensor rates = cast(tensor({0.5, -1.0, 0.2}), DType::f32);
  EXPECT_NEAR(end(rates).item(), 2 * std::exp(-0.15), 1e-5);
  EXPECT_THAT(compile(grad(end))(rates).to_vector(),
              Pointwise(DoubleNear(1e-4), std::vector<double>(3, std::exp(-0.15))));
}

TEST(OdeOptions, MistakesAreErrorsAtTheLineOfTheCall) {
  const auto text = [](const OdeOptions& options, double t1 = 1, DType dtype = DType::f64) {
    return message([&] { odeint([](Tensor, Tensor y) { return -y; }, ones({2}, dtype), 0, t1, options); });
  };
  EXPECT_THAT(text({}, 0), HasSubstr("from t0 = 0 to t1 = 0"));
  EXPECT_THAT(text({}, std::nan("")), HasSubstr("two different finite times"));
  EXPECT_THAT(text({.method = OdeMethod::rk4, .steps = 0}), HasSubstr("steps = 0"));
  EXPECT_THAT(text({.rtol = -1e-6}), HasSubstr("rtol = -1e-06"));
  EXPECT_THAT(text({.rtol = 0, .atol = 0}), HasSubstr("not both 0"));
  EXPECT_THAT(text({.max_steps = 0}), HasSubstr("max_steps = 0"));
  EXPECT_THAT(text({.max_steps = 3}), HasSubstr("goes on after 3 steps"));
  EXPECT_THAT(text({.first_step = -0.1}), HasSubstr("first_step = -0.1"));
  EXPECT_THAT(text({.method = OdeMethod::implicit_midpoint, .newton_tolerance = 0}),
              HasSubstr("more than 0"));
  EXPECT_THAT(text({.drift_tolerance = 0}), HasSubstr("drift_tolerance = 0"));
  EXPECT_THAT(text({.method = OdeMethod::rk4, .gradient = OdeGradient::reversible}), HasSubstr("leapfrog"));
  EXPECT_THAT(text({.method = OdeMethod::implicit_midpoint, .gradient = OdeGradient::adjoint}),
              HasSubstr("OdeGradient::discrete"));
  EXPECT_THAT(text({}, 1, DType::i64), HasSubstr("one float dtype"));
  EXPECT_THAT(text({.rtol = -1}), HasSubstr("gradients_test.cc"));
  EXPECT_THAT(message([] { odeint([](Tensor, Tensor y) { return sum(y); }, ones({2}), 0, 1); }),
              HasSubstr("returns f32[] for a y of f32[2]"));
}

}  // namespace
}  // namespace tidemark
