// exp, log and pow with the same bits on every machine. C libraries round the last bit of these as they
// please, and a search that compares such numbers then takes another turn. Here they are sums and products of
// doubles alone, which IEEE 754 rounds in one way (nothing is contracted: -ffp-contract=off). Good to a few
// units in the last place, which is plenty for decisions; kernels have functions of their own
// (ops/scalar/scalar_math.h).
#pragma once

namespace tidemark::repeatable {

double exp(double x);            // 0 below about -745, infinity above about 710
double log(double x);            // of x > 0; -infinity at 0, NaN below
double log2(double x);           // exact at powers of two
double pow(double x, double y);  // of x > 0: exp(y log x)

}  // namespace tidemark::repeatable
