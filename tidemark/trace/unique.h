// The distinct values of a tensor. How many there are is known only when a program runs, memory is planned
// before, so the caller names the room: `capacity`.
#pragma once
#include "tidemark/trace/tensor.h"

namespace tidemark {

struct Unique {
  Tensor values;   // (capacity): ascending; those beyond `count` hold the fill value
  Tensor count;    // i64, rank 0: how many distinct values x has, be there room for them or not
  Tensor inverse;  // i64, x's shape: where each element stands among the distinct values
  Tensor counts;   // i64 (capacity): how often each value occurs; 0 beyond `count`
};

// Where x has more distinct values than there is room for, the smallest are given, `count` is above the
// capacity, and elements whose values were left out have places from `capacity` on in `inverse`, at which
// take(values, inverse, 0) stops with an error: nothing is mistaken for another value, and a step that can do
// with the smallest goes on. A capacity of 0 is room for as many as x has elements. All NaN are one value,
// the last, and -0 is 0. The gradient of a value goes to its first occurrence. Results that nobody reads cost
// nothing in a compiled function.
Unique unique(const Operand& x, std::int64_t capacity = 0, const Number& fill = 0);

}  // namespace tidemark
