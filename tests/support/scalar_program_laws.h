// What holds of every random program over scalars: the values of plain double to the bit, reverse mode
// against forward mode, and second derivatives that are symmetric.
#pragma once
#include <gtest/gtest.h>

#include <bit>

#include "tests/support/scalar_program.h"

namespace tidemark::scalars::program {

inline bool same_bits(double x, double y) {
  return (x != x && y != y) || std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}

// Returns false where a derivative overflowed or a value is no number, and nothing of it could be compared.
inline bool check_program(std::uint64_t seed) {
  SCOPED_TRACE(seed);
  const Program program = random_program(seed);
  constexpr int n = Program::inputs;
  const auto unseen = [](const auto&) {};
  const double value = run<double>(program, program.at, unseen);

  Tape tape;
  const std::vector<Real> x = tape.inputs(program.at);
  const Real y = run<Real>(program, x, unseen);
  EXPECT_TRUE(same_bits(y.value(), value)) << y.value() << " and " << value;
  tape.reverse(y);
  const std::vector<double> gradient = tape.gradient(x);

  // The largest slopes on the way say how large rounding errors may be.
  double size = 1;
  std::vector<Dual<n>> duals;
  for (int i = 0; i < n; ++i) duals.push_back(Dual<n>::variable(program.at[i], i));
  const Dual<n> z = run<Dual<n>>(program, duals, [&](const Dual<n>& seen) {
    for (int i = 0; i < n; ++i) size = std::fmax(size, std::fabs(seen.slope(i)));
  });
  EXPECT_TRUE(same_bits(z.value(), value)) << z.value() << " and " << value;
  if (!std::isfinite(size) || size > 1e100 || value != value) return false;
  for (int i = 0; i < n; ++i)
    EXPECT_LE(std::fabs(gradient[i] - z.slope(i)), 1e-12 * size)
        << i << ": " << gradient[i] << " by reverse mode, " << z.slope(i) << " by forward mode";

  double curvature[2] = {}, curved = 1;
  const double directions[2][n] = {{1, 0.5, -1, 2}, {-0.5, 1, 0.25, 1}};
  for (int k = 0; k < 2; ++k) {
    BasicTape<Dual<1>> second;
    std::vector<BasicReal<Dual<1>>> u;
    for (int i = 0; i < n; ++i) {
      Dual<1> at(program.at[i]);
      at.slope() = directions[k][i];
      u.push_back(second.input(at));
    }
    const BasicReal<Dual<1>> w = run<BasicReal<Dual<1>>>(program, u, unseen);
    EXPECT_TRUE(same_bits(w.value().value(), value));
    second.reverse(w);
    for (int i = 0; i < n; ++i) {
      const Dual<1> g = second.gradient(u[i]);
      EXPECT_LE(std::fabs(g.value() - gradient[i]), 1e-12 * size) << i;
      curvature[k] += g.slope() * directions[1 - k][i];
      curved = std::fmax(curved, std::fabs(g.slope()));
    }
  }
  if (!std::isfinite(curved)) return true;
  EXPECT_LE(std::fabs(curvature[0] - curvature[1]), 1e-10 * curved * size)
      << curvature[0] << ' ' << curvature[1];
  return true;
}

}  // namespace tidemark::scalars::program
