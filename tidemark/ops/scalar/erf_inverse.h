// The inverse of erf.
#pragma once

namespace tidemark {

// y with erf(y) = x: infinite at ±1, NaN beyond. Exact to a few units of the last place over the whole range.
double erf_inverse(double x);

}  // namespace tidemark
