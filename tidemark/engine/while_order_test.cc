// Derivatives of derivatives through loops of unknown length: against the same loop of known length, and
// against finite differences, alone and inside other loops and branches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

Tensor waves(const Shape& shape, double frequency) {
  return sin(reshape(arange(element_count(shape), DType::f64), shape) * frequency + 0.2);
}

// Everything that is differentiated, as one vector, so that second derivatives are mixed ones too: state,
// then weights.
constexpr std::int64_t width = 3;
Tensor state(const Tensor& z) { return z.at(Range{0, width}); }
Tensor weights(const Tensor& z) { return z.at(Range{width, 2 * width}); }
Tensor point() { return waves({2 * width}, 0.8); }
Tensor direction() { return waves({2 * width}, 1.9); }

Tensor step(const Tensor& u, const Tensor& w) { return u * 0.9 + sin(u * w) * 0.4 + w * w * 0.1; }

struct Counted {
  Tensor u, i;
  TM_FIELDS(Counted, u, i)
};
auto counted(std::int64_t trips, std::optional<Bytes> memory = {}) {
  return [=](const Tensor& z) {
    const Tensor w = weights(z);
    const Counted start{state(z), scalar(0, DType::i64)};
    const Counted end = while_loop([&](const Counted& c) { return c.i < trips; },
                                   [&](const Counted& c) {
                                     return Counted{step(c.u, w), c.i + 1};
                                   },
                                   start, {.memory = memory});
    return sum(square(end.u)) + sum(sin(end.u) * w);
  };
}
auto repeated(std::int64_t trips) {
  return [=](const Tensor& z) {
    const Tensor w = weights(z);
    const Tensor u = repeat(
        trips, [&](const Tensor& x) { return step(x, w); }, state(z));
    return sum(square(u)) + sum(sin(u) * w);
  };
}

// The Hessian times v in every order of the two modes.
template <class F>
std::vector<std::vector<double>> hessian_times(const F& f, const Tensor& z, const Tensor& v) {
  const auto slope = [&](const Tensor& x) { return sum(grad(f)(x) * v); };
  return {grad(slope)(z).to_vector(),
          compile(grad(slope))(z).to_vector(),
          hvp(f, z, v).to_vector(),
          compile([&](Tensor x) { return hvp(f, x, v); })(z).to_vector(),
          vjp(grad(f), z).second(v).to_vector(),
          grad([&](const Tensor& x) { return jvp(f, x, v).second; })(z).to_vector()};
}

template <class F>
std::vector<double> differences(const F& f, const Tensor& z, const Tensor& v) {
  const double h = 1e-5;
  const auto gradient = compile(grad(f));
  return ((gradient(z + v * h) - gradient(z - v * h)) / (2 * h)).to_vector();
}

// Differences are good to 1e-7; the last order, in which no gradient of a loop is differentiated, to
// rounding.
template <class F>
void expect_second_order(const F& f) {
  const std::vector<double> expected = differences(f, point(), direction());
  const std::vector<std::vector<double>> all = hessian_times(f, point(), direction());
  for (const std::vector<double>& found : all) {
    EXPECT_THAT(found, Pointwise(DoubleNear(1e-7), expected));
    EXPECT_THAT(found, Pointwise(DoubleNear(1e-11), all.back()));
  }
}

TEST(WhileOrder, SecondDerivativesAreThoseOfTheLoopOfKnownLength) {
  for (const std::int64_t trips : {0, 1, 2, 9}) {
    const std::vector<double> expected = hessian_times(repeated(trips), point(), direction()).front();
    for (const std::vector<double>& found : hessian_times(counted(trips), point(), direction()))
      EXPECT_THAT(found, Pointwise(DoubleNear(1e-12), expected)) << trips;
  }
}

TEST(WhileOrder, FewSlotsGiveTheSameBits) {
  const auto second = [](std::optional<Bytes> memory) {
    return compile(grad([=](const Tensor& z) { return sum(grad(counted(9, memory))(z) * direction()); }))(
               point())
        .to_vector();
  };
  for (const std::int64_t bytes : {1, 64, 200}) EXPECT_EQ(second(Bytes(bytes)), second({}));
}

TEST(WhileOrder, AgreesWithDifferencesWhereTheDataSayHowLong) {
  expect_second_order([](const Tensor& z) {
    const Tensor w = weights(z);
    return sum(exp(while_loop([](const Tensor& u) { return sum(u * u) < 40; },
                              [&](const Tensor& u) { return u * 1.2 + cos(u * w) * 0.3; }, state(z)) *
                   0.2));
  });
}

TEST(WhileOrder, GoesOnToTheThird) {
  const Tensor v = direction(), z = point();
  const auto third = [&](const auto& f) {
    const auto curvature = [&](const Tensor& x) { return sum(hvp(f, x, v) * v); };
    const auto reverse = [&](const Tensor& x) {
      return sum(grad([&](const Tensor& y) { return sum(grad(f)(y) * v); })(x) * v);
    };
    return std::pair(grad(curvature)(z).to_vector(), compile(grad(reverse))(z).to_vector());
  };
  const std::vector<double> expected = third(repeated(4)).first;
  const auto [mixed, reverse] = third(counted(4));
  EXPECT_THAT(mixed, Pointwise(DoubleNear(1e-11), expected));
  EXPECT_THAT(reverse, Pointwise(DoubleNear(1e-11), expected));
}

Tensor grown(const Tensor& u, const Tensor& w) {
  return while_loop([](const Tensor& x) { return sum(x * x) < 4; },
                    [&](const Tensor& x) { return x * 1.3 + sin(x * w) * 0.2; }, u);
}

TEST(WhileOrder, InsideRepeat) {
  expect_second_order([](const Tensor& z) {
    const Tensor w = weights(z);
    return sum(sin(repeat(
        3, [&](const Tensor& u) { return grown(u * 0.4, w) + w; }, state(z))));
  });
}

TEST(WhileOrder, InsideScan) {
  expect_second_order([](const Tensor& z) {
    const auto body = [&](const Tensor& u, const Tensor& x) {
      const Tensor next = grown(u * 0.3 + x, weights(z));
      return std::pair(next, sum(next * x));
    };
    const auto [end, ys] = scan(body, state(z), waves({4, width}, 0.5));
    return sum(end) + sum(ys * ys);
  });
}

TEST(WhileOrder, InsideBranches) {
  for (const double limit : {-100.0, 100.0}) {
    expect_second_order([=](const Tensor& z) {
      const Tensor w = weights(z);
      return sum(square(cond(
          sum(z) > limit, [&](const Tensor& u) { return grown(u, w); },
          [&](const Tensor& u) { return grown(u * u, w) * w; }, state(z))));
    });
  }
}

TEST(WhileOrder, InsideOneAnother) {
  expect_second_order([](const Tensor& z) {
    const Tensor w = weights(z);
    return sum(sin(while_loop([](const Tensor& u) { return sum(u * u) < 60; },
                              [&](const Tensor& u) { return grown(u * 0.5, w) + u; }, state(z)) *
                   0.3));
  });
}

TEST(WhileOrder, BudgetsHold) {
  const auto second = [](const Tensor& z) { return hvp(counted(40), z, direction()); };
  const auto free = compile(second);
  const std::vector<double> expected = free(point()).to_vector();
  const Bytes budget(free.plan().peak().count / 2);
  const auto tight = compile(second, {.memory = budget});
  EXPECT_EQ(tight(point()).to_vector(), expected);
  EXPECT_LE(tight.plan().peak().count, budget.count);
}

TEST(WhileOrder, ACustomPullbackInTheBodyIsSaid) {
  const auto f = [](const Tensor& x) {
    const auto twice =
        custom_vjp([](Tensor u) { return u * 2; }, [](Tensor, Tensor, Tensor seed) { return seed * 2; });
    return sum(while_loop([](const Tensor& u) { return sum(u) < 10; }, twice, x));
  };
  EXPECT_EQ(grad(f)(ones({2})).to_vector(), (std::vector<double>{8, 8}));
  try {
    hvp(f, ones({2}), ones({2}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("custom_vjp"));
    EXPECT_THAT(error.what(), HasSubstr("while_order_test.cc"));
  }
}

}  // namespace
}  // namespace tidemark
