// The logarithm of the gamma function and its derivatives.
#pragma once

namespace tidemark {

// log|Γ(x)|: infinite at 0, -1, -2, … and at both infinities. Any number of threads may ask at once.
double log_gamma(double x);

// ψ(x) = Γ'(x)/Γ(x). At ±0 it is ∓infinity, since the sign tells the side; at -1, -2, … and -infinity NaN.
// Exact to a few units of the last place, next to its zeros below 0 of the terms that cancel there.
double digamma_of(double x);

// The derivative of ψ of this order, at least 1. At 0, -1, -2, … infinite for odd orders, which have the same
// limit from both sides, and NaN for even ones (at 0 -infinity).
double polygamma_of(int order, double x);

}  // namespace tidemark
