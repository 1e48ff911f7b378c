// Elementwise operations on graph values. Operands broadcast as in NumPy (aligned at the last dimension;
// sizes equal or 1), so a bias or a scalar is never materialised. Dtypes must agree; use cast.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

// A constant of rank 0, of x's dtype, in x's graph.
Var constant_like(const Var& x, const Number& value);
Var constant(Builder& builder, DType dtype, const Number& value);
Var constant(Builder& builder, Literal literal);
Var zeros(Builder& builder,
          const Type& type);  // a broadcast constant, materialised only if someone needs it dense
Var zeros_like(const Var& x);
Var ones_like(const Var& x);
Var full(Builder& builder, const Type& type, const Number& value);

Var neg(const Var& x);
Var abs(const Var& x);
Var sign(const Var& x);
Var exp(const Var& x);
Var exp2(const Var& x);
Var expm1(const Var& x);
Var log(const Var& x);
Var log1p(const Var& x);
Var log2(const Var& x);
Var log10(const Var& x);
Var sqrt(const Var& x);
Var rsqrt(const Var& x);
Var sin(const Var& x);
Var cos(const Var& x);
Var tan(const Var& x);
Var asin(const Var& x);
Var acos(const Var& x);
Var atan(const Var& x);
Var sinh(const Var& x);
Var cosh(const Var& x);
Var tanh(const Var& x);
Var asinh(const Var& x);
Var acosh(const Var& x);
Var atanh(const Var& x);
Var sigmoid(const Var& x);
Var erf(const Var& x);
Var erfinv(const Var& x);
Var lgamma(const Var& x);                // log|Γ(x)|
Var digamma(const Var& x);               // ψ, the derivative of lgamma
Var polygamma(int order, const Var& x);  // the derivative of ψ of this order; order 0 is ψ itself
Var relu(const Var& x);
Var gelu(const Var& x);        // exact, by erf
Var gelu_slope(const Var& x);  // the derivative of gelu
Var silu(const Var& x);
Var softplus(const Var& x);
Var floor(const Var& x);
Var ceil(const Var& x);
Var round(const Var& x);  // half to even
Var square(const Var& x);
Var reciprocal(const Var& x);
Var logical_not(const Var& x);

Var add(const Var& x, const Var& y);
Var sub(const Var& x, const Var& y);
Var mul(const Var& x, const Var& y);
Var div(const Var& x, const Var& y);  // integers: downwards, as in Python; x / 0 is -1, all bits set
Var pow(const Var& x, const Var& y);
Var atan2(const Var& y, const Var& x);  // the angle of (x, y), in [-π, π]
Var maximum(const Var& x, const Var& y);
Var minimum(const Var& x, const Var& y);
Var mod(const Var& x, const Var& y);  // sign of the divisor, as in Python; integers: x % 0 is x
Var equal(const Var& x, const Var& y);
Var not_equal(const Var& x, const Var& y);
Var less(const Var& x, const Var& y);
Var less_equal(const Var& x, const Var& y);
Var greater(const Var& x, const Var& y);
Var greater_equal(const Var& x, const Var& y);
Var logical_and(const Var& x, const Var& y);
Var logical_or(const Var& x, const Var& y);
Var logical_xor(const Var& x, const Var& y);

Var select(const Var& condition, const Var& on_true, const Var& on_false);
Var clamp(const Var& x, double low, double high);
Var cast(const Var& x, DType dtype);  // no node when the dtype is already right
Var stop_gradient(const Var& x);

inline Var operator+(const Var& x, const Var& y) { return add(x, y); }
inline Var operator-(const Var& x, const Var& y) { return sub(x, y); }
inline Var operator*(const Var& x, const Var& y) { return mul(x, y); }
inline Var operator/(const Var& x, const Var& y) { return div(x, y); }
inline Var operator-(const Var& x) { return neg(x); }
inline Var operator+(const Var& x, double c) { return add(x, constant_like(x, c)); }
inline Var operator-(const Var& x, double c) { return sub(x, constant_like(x, c)); }
inline Var operator*(const Var& x, double c) { return mul(x, constant_like(x, c)); }
inline Var operator/(const Var& x, double c) { return div(x, constant_like(x, c)); }
inline Var operator+(double c, const Var& x) { return add(constant_like(x, c), x); }
inline Var operator-(double c, const Var& x) { return sub(constant_like(x, c), x); }
inline Var operator*(double c, const Var& x) { return mul(constant_like(x, c), x); }
inline Var operator/(double c, const Var& x) { return div(constant_like(x, c), x); }

// Φ(x), the normal distribution, as (1 + erf(x/√2))/2.
Var normal_distribution(const Var& x);
Var normal_density(const Var& x);  // φ(x) = Φ'(x)

// The sum of two gradients or tangents, either of which may be empty (zero).
Var sum_of(const Var& a, const Var& b);

// The shape two operands broadcast to; throws shape_mismatch naming the op and the user's line.
Shape broadcast_shapes(const Call& call, const Shape& a, const Shape& b);

}  // namespace tidemark
