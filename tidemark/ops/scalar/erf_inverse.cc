#include "tidemark/ops/scalar/erf_inverse.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tidemark/ops/scalar/normal_quantile_number.h"

namespace tidemark {

// Φ⁻¹(p)/√2 with erf = 2Φ - 1. Towards the ends p = (1 - |x|)/2 is exact; in the middle (1 + x)/2 is not, and
// a step of Newton's method gives the lost digits back.
double erf_inverse(double x) {
  const double a = std::fabs(x);
  if (!(a < 1)) {
    return a == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x)
                  : std::numeric_limits<double>::quiet_NaN();
  }
  constexpr double root_half = std::numbers::sqrt2 / 2;
  if (a > 0.5) return std::copysign(as241::quantile(0.5 * (1 - a)) * root_half, x);
  const double y = as241::quantile(0.5 + 0.5 * a) * root_half;
  const double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-y * y);
  return std::copysign(y - (std::erf(y) - a) / slope, x);
}

}  // namespace tidemark
