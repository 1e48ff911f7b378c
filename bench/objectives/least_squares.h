// Half the squared distance of a polynomial from the sign function on `points` points of [-1, 1] (from
// cmpad).
#pragma once
#include <span>

namespace tidemark::bench {

struct LeastSquares {
  std::size_t points = 2;

  template <class T>
  T operator()(std::span<const T> x) const {
    T sum = 0.0;
    for (std::size_t i = 0; i < points; ++i) {
      const double t = -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(points - 1);
      T rest = static_cast<double>((t > 0) - (t < 0));
      double power = 1;
      for (const T& coefficient : x) {
        rest -= coefficient * power;
        power *= t;
      }
      sum += rest * rest;
    }
    return 0.5 * sum;
  }
};

}  // namespace tidemark::bench
