// Statistics of tensors and questions about their elements, written with the ops there are: what is planned,
// differentiated and fused is those ops. Reductions go over all axes unless some are given.
#pragma once
#include "tidemark/trace/tensor.h"

namespace tidemark {

// ---- spread. The sum of squares is divided by n - correction: 0 is var(x) of functions.h, 1 the estimate
// from a sample (Bessel). Where n ≤ correction the result is NaN, or infinite.
Tensor var(const Operand& x, const Dims& axes, bool keep, double correction);
// √var, torch's std. Its derivative where all elements are equal is taken as 0.
Tensor stddev(const Operand& x);
Tensor stddev(const Operand& x, const Dims& axes, bool keep = false, double correction = 0);

// ---- norms: (Σ|x|ᵖ)^(1/p) for p above 0, the largest |x| for p = infinity. Powers are taken of x over its
// largest element, so that they neither overflow nor vanish. The derivative with respect to an element that
// is 0, or where the norm is, is taken as 0.
Tensor norm(const Operand& x, double p = 2);
Tensor norm(const Operand& x, double p, const Dims& axes, bool keep = false);

// ---- order statistics: of sorted values, linearly between two of them, q in [0, 1]. NaN if a value is NaN.
// The median of an even number of values is the mean of the middle two, as in NumPy (torch takes the lower).
Tensor quantile(const Operand& x, double q);
Tensor quantile(const Operand& x, double q, int axis, bool keep = false);
Tensor median(const Operand& x);
Tensor median(const Operand& x, int axis, bool keep = false);

// ---- places: argmax and argmin along an axis are in functions.h. Of all elements: the place in their order,
// i64, as in torch and NumPy.
Tensor argmax(const Operand& x);
Tensor argmin(const Operand& x);

// ---- truth. A number counts as true unless it is 0. Of nothing, all are true and not any is.
Tensor any_of(const Operand& x);  // any of torch and NumPy
Tensor any_of(const Operand& x, const Dims& axes, bool keep = false);
Tensor all_of(const Operand& x);  // all of torch and NumPy; here `all` is a range
Tensor all_of(const Operand& x, const Dims& axes, bool keep = false);
Tensor isnan(const Operand& x);
Tensor isinf(const Operand& x);
Tensor isfinite(const Operand& x);

// ---- counting and finding
// How often each of 0 … length - 1 occurs in x (integers of any shape): i64 (length).
Tensor bincount(const Operand& x, std::int64_t length);
// The sum of the weights of those occurrences, in the weights' dtype; x and weights have one shape.
Tensor bincount(const Operand& x, std::int64_t length, const Operand& weights);
// For each value, how many elements of `sorted` (n), which ascend, are below it: where it could be put in.
// With `right`, those equal to it count too. NaN counts as larger than any number, as it does for sort.
Tensor searchsorted(const Operand& sorted, const Operand& values, bool right = false);

}  // namespace tidemark
