// The n-th roots of unity, e^(-2πi k/n), each from a pair of short tables: the root of the high part of k
// times the root of its low part. The tables are short enough to be made before a plan runs and kept; long
// ones, of every root, are written from them into scratch.
#pragma once
#include <complex>
#include <cstdint>
#include <vector>

namespace tidemark {

class RootsOfUnity {
 public:
  RootsOfUnity() = default;
  explicit RootsOfUnity(std::int64_t n);

  // 0 ≤ k < n. Exact to the last digit where n ≤ 1024, to two beyond.
  std::complex<double> operator[](std::int64_t k) const {
    const std::complex<double> low = low_[static_cast<std::size_t>(k & (low_count - 1))];
    if (k < low_count) return low;
    const std::complex<double> high = high_[static_cast<std::size_t>(k / low_count)];
    return {low.real() * high.real() - low.imag() * high.imag(),
            low.real() * high.imag() + low.imag() * high.real()};
  }

 private:
  static constexpr std::int64_t low_count = 1024;
  std::vector<std::complex<double>> low_, high_;
};

}  // namespace tidemark
