// What the objectives share: sums of squares, the logarithm of a sum of exponentials, the logistic function.
// All objectives are templates of their scalar: double, a type that records or carries derivatives, one that
// counts.
#pragma once
#include <cmath>
#include <cstddef>
#include <span>

namespace tidemark::bench {

template <class T>
T sum_of_squares(std::span<const T> x) {
  T sum = 0.0;
  for (const T& each : x) sum += each * each;
  return sum;
}

// The greatest is taken off first, so that no exponential overflows.
template <class T>
T log_sum_exp(std::span<const T> x) {
  using std::exp, std::log;
  T greatest = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) {
    if (x[i] > greatest) greatest = x[i];
  }
  T sum = 0.0;
  for (const T& each : x) sum += exp(each - greatest);
  return log(sum) + greatest;
}

template <class T>
T logistic(const T& x) {
  using std::exp;
  return 1.0 / (1.0 + exp(-x));
}

}  // namespace tidemark::bench
