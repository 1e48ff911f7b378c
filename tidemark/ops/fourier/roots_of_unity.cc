#include "tidemark/ops/fourier/roots_of_unity.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tidemark {
namespace {

// By an angle of at most π/4: what the other octants have is the same sine and cosine, to the bit, so that
// roots that are conjugates or opposites of each other are so exactly.
std::complex<double> root_of_unity(std::int64_t k, std::int64_t n) {
  const std::int64_t eighths = 8 * k / n;          // n is at most 2⁴⁸ or so: no tensor is longer
  const std::int64_t quarter = (eighths + 1) / 2;  // the nearest multiple of π/2
  const double angle =
      std::numbers::pi / 2 * (static_cast<double>(4 * k - quarter * n) / static_cast<double>(n));
  const double c = std::cos(angle), s = std::sin(angle);
  const bool swapped = quarter % 2 == 1, flipped = quarter % 4 >= 2;
  const double x = swapped ? -s : c, y = swapped ? c : s;
  return flipped ? std::complex(-x, y) : std::complex(x, -y);
}

}  // namespace

RootsOfUnity::RootsOfUnity(std::int64_t n) {
  for (std::int64_t k = 0; k < std::min(n, low_count); ++k) low_.push_back(root_of_unity(k, n));
  for (std::int64_t k = 0; k < n; k += low_count) high_.push_back(root_of_unity(k, n));
}

}  // namespace tidemark
