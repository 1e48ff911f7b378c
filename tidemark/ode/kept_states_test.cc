// The adjoint with states kept along the way: what it does to drift, gradient, memory and bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;
using testing::SizeIs;

constexpr double any_drift = std::numeric_limits<double>::infinity();

struct Attractor {
  Tensor x, y, z;
  TM_FIELDS(Attractor, x, y, z)
};

// A chaotic system: how x at the end depends on ρ.
auto lorenz_end(double end, const OdeOptions& options) {
  return [=](Tensor rho) {
    const auto f = [&](Tensor, Attractor s) {
      return Attractor{(s.y - s.x) * 10, s.x * (rho - s.z) - s.y, s.x * s.y - s.z * (8.0 / 3)};
    };
    const Tensor one = ones({}, DType::f64);
    return odeint(f, Attractor{one, one, one}, 0, end, options).x;
  };
}

Tensor swell(const Shape& shape, double frequency, DType dtype = DType::f64) {
  return sin(reshape(arange(element_count(shape), dtype), shape) * frequency + 0.3);
}

template <class F>
std::string complaint(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Distance {
  double gradient = 0, drift = 0;  // relative error next to the discrete gradient; and the worst drift
};

template <class Loss>
Distance distance_of(const Loss& loss, OdeOptions options, double at, std::int64_t kept) {
  const Tensor p = scalar(at, DType::f64);
  const double exact = compile(grad(loss(options)))(p).item();
  options.gradient = OdeGradient::adjoint;
  options.kept_states = kept;
  options.drift = std::make_shared<OdeDrift>();
  options.drift_tolerance = any_drift;
  const double found = compile(grad(loss(options)))(p).item();
  EXPECT_THAT(options.drift->pieces, SizeIs(static_cast<std::size_t>(kept) + 1));
  return {std::abs(found - exact) / std::abs(exact), options.drift->latest};
}

TEST(KeptStates, BringTheAdjointOfAChaoticSystemBack) {
  const auto loss = [](const OdeOptions& options) { return lorenz_end(2, options); };
  const OdeOptions options{.method = OdeMethod::rk4, .steps = 1000};
  std::vector<Distance> found;
  for (const std::int64_t kept : {0, 3, 15, 63}) found.push_back(distance_of(loss, options, 28, kept));
  EXPECT_FALSE(found[0].gradient < 1e-2) << "without, the way back is another one";
  EXPECT_FALSE(found[0].drift < 1e-2);
  for (std::size_t i = 1; i < found.size(); ++i) {
    EXPECT_LT(found[i].drift, std::isfinite(found[i - 1].drift) ? found[i - 1].drift / 3 : 1);
    if (i > 1) {
      EXPECT_LT(found[i].gradient, found[i - 1].gradient * 1.01);
    }
  }
  EXPECT_LT(found.back().gradient, 1e-5);
  EXPECT_LT(found.back().drift, 1e-7);
}

TEST(KeptStates, BringTheAdjointOfADampedSystemBack) {
  const auto loss = [](const OdeOptions& options) {
    return [=](Tensor rate) {
      return odeint([&](Tensor t, Tensor y) { return (cos(t) - y) * rate; }, zeros({}, DType::f64), 0, 2,
                    options);
    };
  };
  const OdeOptions options{.method = OdeMethod::rk4, .steps = 800};
  EXPECT_GT(distance_of(loss, options, 50, 0).drift, 1);
  const Distance kept = distance_of(loss, options, 50, 39);  // over a piece, errors grow by exp(2.5)
  EXPECT_LT(kept.drift, 1e-5);
  EXPECT_LT(kept.gradient, 1e-4);
}

// y over one piece of the damped system grows by exp(rate · length): each doubling of the pieces takes the
// square root of the amplification.
TEST(KeptStates, DriftFallsAsThePiecesBecomeShorter) {
  const auto loss = [](const OdeOptions& options) {
    return [=](Tensor rate) {
      return odeint([&](Tensor, Tensor y) { return -y * rate; }, ones({}, DType::f64), 0, 1, options);
    };
  };
  double before = any_drift;
  for (const std::int64_t pieces : {1, 2, 4, 8, 16, 32}) {
    const double drift = distance_of(loss, {.method = OdeMethod::rk4, .steps = 320}, 30, pieces - 1).drift;
    EXPECT_LT(drift, before / 1.5) << pieces;
    before = drift;
  }
}

TEST(KeptStates, LeaveTheForwardRunAndItsBitsAlone) {
  const Tensor y0 = swell({3}, 1.1), w = swell({3, 3}, 0.7);
  const auto f = [&](Tensor t, Tensor y) { return tanh(matmul(y, w) + t); };
  for (const OdeMethod method : {OdeMethod::euler, OdeMethod::midpoint, OdeMethod::rk4, OdeMethod::leapfrog})
    for (const double t1 : {1.3, -0.7}) {
      const std::vector<double> plain = odeint(f, y0, 0.1, t1, {.method = method, .steps = 17}).to_vector();
      for (std::int64_t kept = 1; kept < 17; kept += kept == 1 ? 1 : 3)
        EXPECT_EQ(
            odeint(f, y0, 0.1, t1,
                   {.method = method, .gradient = OdeGradient::adjoint, .steps = 17, .kept_states = kept})
                .to_vector(),
            plain)
            << static_cast<int>(method) << " " << kept;
    }
}

struct Two {
  Tensor a, b;
  TM_FIELDS(Two, a, b)
};

TEST(KeptStates, GiveTheGradientOfEveryMethodAtEveryNumber) {
  const auto loss = [](OdeMethod method, std::int64_t steps, std::int64_t kept, OdeGradient gradient,
                       double t1) {
    return [=](Tensor w, Tensor b) {
      const auto f = [&](Tensor t, Two y) { return Two{tanh(matmul(y.a, w) + t), -y.b * sin(t) + sum(y.a)}; };
      const Two end = odeint(f, Two{swell({2, 4}, 0.9), b}, 0.2, t1,
                             {.method = method,
                              .gradient = gradient,
                              .steps = steps,
                              .rtol = 1e-9,
                              .atol = 1e-9,
                              .kept_states = kept});
      return sum(square(end.a)) + sum(end.b * end.b * end.b);
    };
  };
  const Tensor w = swell({4, 4}, 1.7) * 0.5, b = swell({3}, 2.0);
  for (const auto& [method, tolerance] :
       {std::pair(OdeMethod::rk4, 1e-6), std::pair(OdeMethod::midpoint, 2e-2),
        std::pair(OdeMethod::leapfrog, 2e-2), std::pair(OdeMethod::dopri5, 1e-6)})
    for (const double t1 : {1.2, -0.8}) {
      const auto [by_w, by_b] = compile(grad<0, 1>(loss(method, 50, 0, OdeGradient::discrete, t1)))(w, b);
      for (const std::int64_t kept : {1, 7, 49}) {
        const auto [w_found, b_found] =
            compile(grad<0, 1>(loss(method, 50, kept, OdeGradient::adjoint, t1)))(w, b);
        EXPECT_THAT(w_found.to_vector(), Pointwise(DoubleNear(tolerance), by_w.to_vector()))
            << static_cast<int>(method) << " " << kept;
        EXPECT_THAT(b_found.to_vector(), Pointwise(DoubleNear(tolerance), by_b.to_vector()))
            << static_cast<int>(method) << " " << kept;
      }
    }
}

Tensor wide_loss(const Tensor& w, const Tensor& y0, const OdeOptions& options) {
  const auto f = [&](Tensor t, Tensor y) { return tanh(matmul(y, w) + t); };
  return sum(square(odeint(f, y0, 0, 1.5, options)));
}

TEST(KeptStates, TakeTheMemoryOfSoManyStates) {
  const std::int64_t state = 64 * 32 * 8;
  const auto peak = [](std::int64_t kept) {
    const OdeOptions options{
        .method = OdeMethod::rk4, .gradient = OdeGradient::adjoint, .steps = 240, .kept_states = kept};
    const auto loss = [&](Tensor w, Tensor y0) { return wide_loss(w, y0, options); };
    return compile(grad<0, 1>(loss)).prepare(swell({32, 32}, 1.7), swell({64, 32}, 0.9)).peak().count;
  };
  for (const auto& [few, many] : {std::pair<std::int64_t, std::int64_t>{3, 5}, {5, 9}, {9, 29}, {29, 79}}) {
    const std::int64_t more = peak(many) - peak(few);
    // Beside them lie numbers of steps and pieces, and drifts, of 8 bytes each.
    EXPECT_NEAR(static_cast<double>(more), static_cast<double>((many - few) * state), 2048)
        << few << " to " << many;
  }
}

TEST(KeptStates, GiveTheSameBitsWithinEveryBudget) {
  const OdeOptions options{
      .method = OdeMethod::rk4, .gradient = OdeGradient::adjoint, .steps = 30, .kept_states = 7};
  const auto loss = [&](Tensor w, Tensor y0) { return wide_loss(w, y0, options); };
  const Tensor w = swell({16, 16}, 1.7), y0 = swell({32, 16}, 0.9);
  const auto free = compile(grad<0, 1>(loss));
  const auto [by_w, by_y] = free(w, y0);
  const std::int64_t whole = free.plan().peak().count;
  for (const double share : {0.95, 0.8}) {
    const auto tight = compile(
        grad<0, 1>(loss),
        {.memory = Bytes(static_cast<std::int64_t>(share * static_cast<double>(whole))), .effort = 0.1});
    try {
      const auto [w_found, y_found] = tight(w, y0);
      EXPECT_EQ(w_found.to_vector(), by_w.to_vector()) << share;
      EXPECT_EQ(y_found.to_vector(), by_y.to_vector()) << share;
    } catch (const InfeasibleBudget&) {
      EXPECT_LT(share, 0.9);
    }
  }
}

TEST(KeptStates, SayWherePiecesDriftTooFar) {
  const auto drift = std::make_shared<OdeDrift>();
  const OdeOptions options{.method = OdeMethod::rk4,
                           .gradient = OdeGradient::adjoint,
                           .steps = 400,
                           .drift_tolerance = 1e-12,
                           .kept_states = 9,
                           .drift = drift};
  const std::string text = complaint([&] { grad(lorenz_end(1.5, options))(scalar(28, DType::f64)); });
  EXPECT_THAT(text, AllOf(HasSubstr("the state missed kept state"), HasSubstr("kept_states_test.cc"),
                          HasSubstr("drift_tolerance")));
  EXPECT_THAT(drift->pieces, SizeIs(10));
  EXPECT_EQ(drift->latest, *std::max_element(drift->pieces.begin(), drift->pieces.end()));
  EXPECT_GT(drift->latest, 1e-12);
  // y escapes to infinity on its way back: that is more than any tolerance.
  const auto damped = [](Tensor rate) {
    return odeint(
        [&](Tensor, Tensor y) { return -y * y * y * rate; }, full({}, 3, DType::f64), 0, 2,
        {.method = OdeMethod::euler, .gradient = OdeGradient::adjoint, .steps = 200, .kept_states = 1});
  };
  EXPECT_THAT(complaint([&] { grad(damped)(scalar(9, DType::f64)); }), HasSubstr("missed"));
}

TEST(KeptStates, AreDifferentiatedAgainAndWorkInF32) {
  const auto second = [](const OdeOptions& options) {
    const auto loss = [&](Tensor p) {
      return sum(
          odeint([&](Tensor, Tensor y) { return sin(y * p) - y * y * y; }, swell({2}, 1), 0, 1, options));
    };
    const Tensor p = tensor({0.9, 1.4}), v = tensor({0.3, -0.8});
    return grad([&](Tensor q) { return sum(grad(loss)(q) * v); })(p).to_vector();
  };
  const std::vector<double> exact = second({.method = OdeMethod::rk4, .steps = 100});
  EXPECT_THAT(
      second({.method = OdeMethod::rk4, .gradient = OdeGradient::adjoint, .steps = 40, .kept_states = 6}),
      Pointwise(DoubleNear(1e-5), exact));
  const auto decay = [](Tensor rate) {
    return sum(odeint([&](Tensor, Tensor y) { return -y * rate; }, ones({4}), 0, 1,
                      {.gradient = OdeGradient::adjoint, .rtol = 1e-5, .atol = 1e-5, .kept_states = 8}));
  };
  EXPECT_NEAR(compile(grad(decay))(scalar(5)).item(), -4 * std::exp(-5.0), 1e-3);
}

TEST(KeptStates, WorkInsideLoops) {
  const auto end = [](OdeGradient gradient, std::int64_t kept) {
    return [=](Tensor rates) {
      const auto stretch = [&](Tensor y, Tensor rate) {
        return odeint([&](Tensor t, Tensor x) { return sin(x * rate) + t; }, y, 0, 0.5,
                      {.method = OdeMethod::rk4, .gradient = gradient, .steps = 20, .kept_states = kept});
      };
      return sum(square(scan(stretch, swell({3}, 1.3), rates)));
    };
  };
  const Tensor rates = tensor({0.5, -1.0, 0.2, 1.4});
  EXPECT_THAT(compile(grad(end(OdeGradient::adjoint, 6)))(rates).to_vector(),
              Pointwise(DoubleNear(1e-6), compile(grad(end(OdeGradient::discrete, 0)))(rates).to_vector()));
}

TEST(KeptStates, MistakesAreErrorsAtTheLineOfTheCall) {
  const auto text = [](const OdeOptions& options) {
    return complaint([&] { odeint([](Tensor, Tensor y) { return -y; }, ones({2}), 0, 1, options); });
  };
  using enum OdeGradient;
  EXPECT_THAT(text({.gradient = adjoint, .kept_states = -1}), HasSubstr("kept_states = -1"));
  EXPECT_THAT(text({.method = OdeMethod::rk4, .gradient = adjoint, .steps = 5, .kept_states = 5}),
              HasSubstr("fewer than the 5 steps"));
  EXPECT_THAT(text({.gradient = adjoint, .kept_states = std::numeric_limits<std::int64_t>::max()}),
              HasSubstr("fewer than"));
  EXPECT_THAT(text({.kept_states = 3}),
              AllOf(HasSubstr("OdeGradient::adjoint"), HasSubstr("kept_states_test.cc")));
  EXPECT_THAT(text({.method = OdeMethod::leapfrog, .gradient = reversible, .kept_states = 3}),
              HasSubstr("OdeGradient::adjoint"));
}

}  // namespace
}  // namespace tidemark
