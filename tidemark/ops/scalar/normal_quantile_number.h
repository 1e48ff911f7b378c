// The normal quantile of one number: algorithm AS 241 of Wichura (1988), of sums, products, quotients and one
// root, so that its bits are the same everywhere. Kernels on a GPU include this text too.
#pragma once
#include <cmath>

namespace tidemark::as241 {

// Of algorithm AS 241, the highest power first.
constexpr double center_top[] = {2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
                                 4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
                                 1.3314166789178437745e2, 3.3871328727963666080e0};
constexpr double center_bottom[] = {
    5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
    5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0};
constexpr double tail_top[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2,
                               2.41780725177450611770e-1, 1.27045825245236838258e0,
                               3.64784832476320460504e0,  5.76949722146069140550e0,
                               4.63033784615654529590e0,  1.42343711074968357734e0};
constexpr double tail_bottom[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                  1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                  6.89767334985100004550e-1, 1.67638483018380384940e0,
                                  2.05319162663775882187e0,  1.0};
constexpr double far_top[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                              2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
                              5.46378491116411436990e0,  6.65790464350110377720e0};
constexpr double far_bottom[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                 1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                 1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                 5.99832206555887937690e-1,  1.0};
constexpr double center = 0.425, center_square = 0.180625, tail_origin = 1.6, far = 5;

// ln p for p in (0, 1) from sums and products only: p = m 2^e with m in [√½, √2), ln m = 2
// artanh((m-1)/(m+1)).
constexpr double root_half = 0.70710678118654752, ln_2 = 0.693147180559945309;
constexpr int log_terms = 12;

inline double polynomial(const double (&coefficients)[8], double x) {
  double y = coefficients[0];
  for (int i = 1; i < 8; ++i) y = y * x + coefficients[i];
  return y;
}

inline double plain_log(double p) {
  int exponent = 0;
  double m = std::frexp(p, &exponent);  // exact
  if (m < root_half) m *= 2, --exponent;
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double series = 0;
  for (int k = log_terms; k >= 1; --k) series = (series + 1.0 / (2 * k + 1)) * s2;
  return exponent * ln_2 + 2 * (s + s * series);
}

// For p in (0, 1).
inline double quantile(double p) {
  const double q = p - 0.5;
  if (std::fabs(q) <= center) {
    const double r = center_square - q * q;
    return q * polynomial(center_top, r) / polynomial(center_bottom, r);
  }
  const double r = std::sqrt(-plain_log(q < 0 ? p : 1 - p));
  const double x = r <= far ? polynomial(tail_top, r - tail_origin) / polynomial(tail_bottom, r - tail_origin)
                            : polynomial(far_top, r - far) / polynomial(far_bottom, r - far);
  return q < 0 ? -x : x;
}

}  // namespace tidemark::as241
