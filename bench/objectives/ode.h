// y₀' = x₀, yᵢ' = xᵢ yᵢ₋₁ from zero to time 2 by the classical Runge–Kutta method (from cmpad).
#pragma once
#include <span>
#include <vector>

namespace tidemark::bench {

struct OdeSolution {
  std::size_t steps = 1;

  // All of y at the end.
  template <class T>
  std::vector<T> all(std::span<const T> x) const {
    const std::size_t n = x.size();
    const double h = 2.0 / static_cast<double>(steps);
    std::vector<T> y(n, T(0.0)), at(n), slope(n), sum(n);
    for (std::size_t step = 0; step < steps; ++step) {
      field(x, y, slope);
      for (std::size_t i = 0; i < n; ++i) sum[i] = slope[i];
      for (const double part : {0.5, 0.5}) {
        for (std::size_t i = 0; i < n; ++i) at[i] = y[i] + part * h * slope[i];
        field(x, at, slope);
        for (std::size_t i = 0; i < n; ++i) sum[i] += 2.0 * slope[i];
      }
      for (std::size_t i = 0; i < n; ++i) at[i] = y[i] + h * slope[i];
      field(x, at, slope);
      for (std::size_t i = 0; i < n; ++i) y[i] += h / 6 * (sum[i] + slope[i]);
    }
    return y;
  }
  template <class T>
  T operator()(std::span<const T> x) const {
    return all(x).back();
  }

 private:
  template <class T>
  static void field(std::span<const T> x, const std::vector<T>& y, std::vector<T>& slope) {
    slope[0] = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) slope[i] = x[i] * y[i - 1];
  }
};

}  // namespace tidemark::bench
