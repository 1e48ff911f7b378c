// The functions of C++ for Reals and Duals in namespace std.
//
// Existing code says std::sin(x), std::max(x, 0.0) and std::pow(x, 2), and a qualified name is looked up in
// its namespace alone, not by arguments. So these are named there, by using-declarations of constrained
// templates that take nothing but Reals, their expressions and Duals: no call that has a meaning without
// them gets another. (The standard leaves to implementations what further names in std do; every automatic
// differentiation library that takes existing code adds them, and compilers accept it.)
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/scalar/functions.h"

namespace std {  // NOLINT(cert-dcl58-cpp)

#define TM_NAMED(name) using tidemark::scalars::functions::name;
#define TM_UNARY(name, ...) TM_NAMED(name)
#define TM_BINARY(name, ...) TM_NAMED(name)
#define TM_OWN(name) TM_NAMED(name)
#define TM_PLAIN(name) TM_NAMED(name)
#define TM_PLAIN_PAIR(name) TM_NAMED(name)
#define TM_TENSOR_UNARY(name, ...)
#define TM_TENSOR_BINARY(name, ...)
#include "tidemark/scalar/functions.def"
#undef TM_NAMED
using tidemark::scalars::functions::frexp, tidemark::scalars::functions::modf,
    tidemark::scalars::functions::remquo;

// The limits of the number inside: epsilon() and its kin are plain numbers, which fit wherever a Real does.
template <class T>
struct numeric_limits<tidemark::scalars::BasicReal<T>> : numeric_limits<T> {};
template <tidemark::scalars::Carrier D>
struct numeric_limits<D> : numeric_limits<double> {};

}  // namespace std
