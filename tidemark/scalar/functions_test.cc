#include "tidemark/scalar/functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "tidemark/base/philox.h"
#include "tidemark/scalar/scalar.h"

namespace tidemark::scalars {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double edges[] = {0.0,  -0.0, 1,     -1,     0.5,    -0.5,     1.5,       2.5,         -2.5,
                        3,    -3,   1e300, -1e300, 1e-300, 5e-324,   -5e-324,   171,         1e10,
                        1e16, 0.25, 1e-9,  709.5,  -745.2, infinity, -infinity, std::nan("")};

bool same(double x, double y) {
  return (x != x && y != y) || std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}
bool close(double x, double y, double tolerance) {
  return same(x, y) || std::fabs(x - y) <= tolerance * (1 + std::fabs(x) + std::fabs(y));
}
double sample(double low, double high, std::uint64_t i, std::uint64_t stream = 0) {
  const auto words = Philox{17}(i, stream);
  return low + (high - low) * unit_double(words[0], words[1]);
}

struct Slopes {
  double value, x, y = 0;
};
template <class Call>
Slopes by_tape(const Call& call, double at) {
  Tape tape;
  const Real x = tape.input(at);
  const Real z = call(x);
  tape.reverse(z);
  return {z.value(), tape.gradient(x)};
}
template <class Call>
Slopes by_tape(const Call& call, double at_x, double at_y) {
  Tape tape;
  const Real x = tape.input(at_x), y = tape.input(at_y);
  const Real z = call(x, y);
  tape.reverse(z);
  return {z.value(), tape.gradient(x), tape.gradient(y)};
}

// One function against its formula, double, differences, and all kinds of scalars against each other.
template <class F, class Call, class Found, class OfDouble>
void try_unary(const char* name, const Call& call, const Found& found, const OfDouble& of_double, double low,
               double high) {
  SCOPED_TRACE(name);
  for (int i = 0; i < 300; ++i) {
    const double x = sample(low, high, i), y = of_double(x);
    double slope = 0;
    if constexpr (formula::HasSlope<F> || formula::HasPull<F>) slope = formula::pull<F>(1.0, x, y);
    const Slopes taped = by_tape(call, x), other = by_tape(found, x);
    ASSERT_TRUE(same(taped.value, y)) << x << ": " << taped.value << " and " << y;
    ASSERT_TRUE(same(other.value, y) && other.x == taped.x) << x;
    ASSERT_EQ(taped.x, slope) << x;
    const double h = 5e-6;
    const double difference = (of_double(x + h) - of_double(x - h)) / (2 * h);
    if (std::fabs(x) > h) {
      ASSERT_TRUE(close(slope, difference, 1e-7)) << x << ": " << slope << ' ' << difference;
    }

    Dual<3> u(x);
    u.slope(1) = 1, u.slope(2) = -2;
    const Dual<3> v = call(u), w = found(u);
    ASSERT_TRUE(same(v.value(), y) && same(w.value(), y)) << x;
    ASSERT_TRUE(v.slope(0) == 0 && v.slope(1) == slope && v.slope(2) == -2 * slope) << x;

    BasicTape<Dual<1>> tape;
    const auto a = tape.input(Dual<1>::variable(x));
    const BasicReal<Dual<1>> b = call(a);
    tape.reverse(b);
    const double second = (by_tape(call, x + h).x - by_tape(call, x - h).x) / (2 * h);
    ASSERT_TRUE(same(b.value().value(), y) && b.value().slope() == slope) << x;
    ASSERT_EQ(tape.gradient(a).value(), slope) << x;
    if (std::fabs(x) > h) {
      ASSERT_TRUE(close(tape.gradient(a).slope(), second, 2e-7))
          << x << ": " << tape.gradient(a).slope() << ' ' << second;
    }
  }
  for (const double x : edges) {
    const double y = of_double(x);
    double slope = 0;
    if constexpr (formula::HasSlope<F> || formula::HasPull<F>) slope = formula::pull<F>(1.0, x, y);
    const Slopes taped = by_tape(call, x);
    const Dual<1> dual = call(Dual<1>::variable(x));
    EXPECT_TRUE(same(taped.value, y)) << x << ": " << taped.value << " and " << y;
    EXPECT_TRUE(same(dual.value(), y)) << x << ": " << dual.value() << " and " << y;
    EXPECT_TRUE(taped.x == slope || (taped.x != taped.x && slope != slope)) << x << ": " << taped.x;
    EXPECT_TRUE(dual.slope() == slope || (dual.slope() != dual.slope() && slope != slope)) << x;
    const Real passive = call(Real(x));
    EXPECT_TRUE(same(passive.value(), y) && passive.id() == 0) << x;
  }
}

template <class F, class Call, class Found, class OfDouble>
void try_binary(const char* name, const Call& call, const Found& found, const OfDouble& of_double,
                double x_low, double x_high, double y_low, double y_high) {
  SCOPED_TRACE(name);
  for (int i = 0; i < 300; ++i) {
    const double x = sample(x_low, x_high, i, 1), y = sample(y_low, y_high, i, 2), z = of_double(x, y);
    const double by_x = F::pull_x(1.0, x, y, z), by_y = F::pull_y(1.0, x, y, z);
    const Slopes taped = by_tape(call, x, y), other = by_tape(found, x, y);
    ASSERT_TRUE(same(taped.value, z)) << x << ' ' << y << ": " << taped.value << " and " << z;
    ASSERT_TRUE(taped.x == by_x && taped.y == by_y) << x << ' ' << y << ": " << taped.x << ' ' << taped.y;
    ASSERT_TRUE(same(other.value, z) && other.x == by_x && other.y == by_y) << x << ' ' << y;
    const auto of_x = [&](const auto& a) { return call(a, y); };
    const auto of_y = [&](const auto& b) { return call(x, b); };
    ASSERT_TRUE(same(by_tape(of_x, x).value, z) && by_tape(of_x, x).x == by_x) << x << ' ' << y;
    ASSERT_TRUE(same(by_tape(of_y, y).value, z) && by_tape(of_y, y).x == by_y) << x << ' ' << y;
    const double h = 5e-6;
    const double along_x = (of_double(x + h, y) - of_double(x - h, y)) / (2 * h);
    const double along_y = (of_double(x, y + h) - of_double(x, y - h)) / (2 * h);
    if (std::fabs(x - y) > 2 * h && std::fabs(x) > h) {
      ASSERT_TRUE(close(by_x, along_x, 1e-7) && close(by_y, along_y, 1e-7))
          << x << ' ' << y << ": " << by_x << ' ' << along_x << ", " << by_y << ' ' << along_y;
    }
    const Dual<2> dual = call(Dual<2>::variable(x), Dual<2>::variable(y, 1));
    ASSERT_TRUE(same(dual.value(), z) && dual.slope(0) == by_x && dual.slope(1) == by_y) << x << ' ' << y;
    const Dual<1> half = found(x, Dual<1>::variable(y));
    ASSERT_TRUE(same(half.value(), z) && half.slope() == by_y) << x << ' ' << y;

    BasicTape<Dual<1>> tape;
    Dual<1> xd(x), yd(y);
    xd.slope() = 0.75, yd.slope() = -0.5;
    const auto a = tape.input(xd), b = tape.input(yd);
    const BasicReal<Dual<1>> c = call(a, b);
    tape.reverse(c);
    const Slopes up = by_tape(call, x + 0.75 * h, y - 0.5 * h),
                 down = by_tape(call, x - 0.75 * h, y + 0.5 * h);
    ASSERT_TRUE(same(c.value().value(), z));
    if (std::fabs(x - y) > 2 * h) {
      ASSERT_TRUE(close(tape.gradient(a).slope(), (up.x - down.x) / (2 * h), 1e-6)) << x << ' ' << y;
      ASSERT_TRUE(close(tape.gradient(b).slope(), (up.y - down.y) / (2 * h), 1e-6)) << x << ' ' << y;
    }
  }
  for (const double x : edges)
    for (const double y : edges) {
      const double z = of_double(x, y);
      const Slopes taped = by_tape(call, x, y);
      const Dual<2> dual = call(Dual<2>::variable(x), Dual<2>::variable(y, 1));
      // Of zeros of both signs C lets these give either, and it depends on the compiler's options which.
      const bool either = (std::is_same_v<F, own::Fmin> || std::is_same_v<F, own::Fmax>)&&x == 0 && y == 0;
      EXPECT_TRUE(same(taped.value, z) || (either && taped.value == 0))
          << x << ' ' << y << ": " << taped.value << " and " << z;
      EXPECT_TRUE(same(dual.value(), z) || (either && dual.value() == 0))
          << x << ' ' << y << ": " << dual.value() << " and " << z;
      EXPECT_TRUE(taped.x == dual.slope(0) || (taped.x != taped.x && dual.slope(0) != dual.slope(0)))
          << x << ' ' << y << ": " << taped.x << ' ' << dual.slope(0);
      EXPECT_TRUE(taped.y == dual.slope(1) || (taped.y != taped.y && dual.slope(1) != dual.slope(1)))
          << x << ' ' << y << ": " << taped.y << ' ' << dual.slope(1);
      EXPECT_TRUE(same(Real(call(x, Real(y))).value(), z)) << x << ' ' << y;
      EXPECT_TRUE(same(Real(call(Real(x), y)).value(), z)) << x << ' ' << y;
    }
}

TEST(Functions, EveryFunctionOfOneOperandHasTheValueOfDoubleAndTheSlopeOfItsFormula) {
#define TM_UNARY(name, F, low, high)                                                            \
  try_unary<F>(                                                                                 \
      #name, [](const auto& x) { return std::name(x); }, [](const auto& x) { return name(x); }, \
      [](double x) { return std::name(x); }, low, high);
#define TM_TENSOR_UNARY(name, F, low, high)                                                          \
  try_unary<F>(                                                                                      \
      #name, [](const auto& x) { return tidemark::name(x); }, [](const auto& x) { return name(x); }, \
      [](double x) { return F::value(x); }, low, high);
#define TM_BINARY(...)
#define TM_TENSOR_BINARY(...)
#define TM_OWN(name)
#define TM_PLAIN(name)
#define TM_PLAIN_PAIR(name)
#include "tidemark/scalar/functions.def"
}

TEST(Functions, EveryFunctionOfTwoOperandsHasTheValueOfDoubleAndTheSlopesOfItsFormula) {
#define TM_UNARY(...)
#define TM_TENSOR_UNARY(...)
#define TM_BINARY(name, F, ...)                                            \
  try_binary<F>(                                                           \
      #name, [](const auto& x, const auto& y) { return std::name(x, y); }, \
      [](const auto& x, const auto& y) { return name(x, y); },             \
      [](double x, double y) { return std::name(x, y); }, __VA_ARGS__);
#define TM_TENSOR_BINARY(name, F, ...)                                          \
  try_binary<F>(                                                                \
      #name, [](const auto& x, const auto& y) { return tidemark::name(x, y); }, \
      [](const auto& x, const auto& y) { return name(x, y); },                  \
      [](double x, double y) { return F::value(x, y); }, __VA_ARGS__);
#define TM_OWN(name)
#define TM_PLAIN(name)
#define TM_PLAIN_PAIR(name)
#include "tidemark/scalar/functions.def"
#define TM_TRY(name, F)                                                    \
  try_binary<F>(                                                           \
      #name, [](const auto& x, const auto& y) { return std::name(x, y); }, \
      [](const auto& x, const auto& y) { return name(x, y); },             \
      [](double x, double y) { return std::name(x, y); }, -2, 2, -2, 2);
  TM_TRY(max, own::Max)
  TM_TRY(min, own::Min)
  TM_TRY(fmax, own::Fmax)
  TM_TRY(fmin, own::Fmin)
#undef TM_TRY
}

TEST(Functions, PiecewiseConstantFunctionsGivePlainNumbers) {
#define TM_UNARY(...)
#define TM_TENSOR_UNARY(...)
#define TM_BINARY(...)
#define TM_TENSOR_BINARY(...)
#define TM_OWN(name)
#define TM_PLAIN(name)                                                                      \
  for (const double x : edges) {                                                            \
    if (!(std::fabs(x) < 1e15) && std::is_integral_v<decltype(std::name(x))> &&             \
        sizeof(std::name(x)) == sizeof(long))                                               \
      continue;                                                                             \
    static_assert(std::is_same_v<decltype(std::name(Real())), decltype(std::name(x))>);     \
    static_assert(std::is_same_v<decltype(std::name(Dual<2>())), decltype(std::name(x))>);  \
    EXPECT_TRUE(same(std::name(Real(x)), std::name(x))) << #name << ' ' << x;               \
    EXPECT_TRUE(same(name(Real(x) * 1), std::name(x * 1))) << #name << ' ' << x;            \
    EXPECT_TRUE(same(name(Dual<1>(x)), std::name(x))) << #name << ' ' << x;                 \
    EXPECT_TRUE(same(std::name(BasicReal<Dual<1>>(x)), std::name(x))) << #name << ' ' << x; \
  }
#define TM_PLAIN_PAIR(name)                                             \
  for (const double x : edges)                                          \
    for (const double y : edges) {                                      \
      EXPECT_EQ(std::name(Real(x), Real(y)), std::name(x, y)) << #name; \
      EXPECT_EQ(std::name(Real(x), y), std::name(x, y)) << #name;       \
      EXPECT_EQ(name(x, Dual<1>(y)), std::name(x, y)) << #name;         \
    }
#include "tidemark/scalar/functions.def"
}

}  // namespace
}  // namespace tidemark::scalars
