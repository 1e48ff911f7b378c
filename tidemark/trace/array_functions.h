// Arrays made of arrays: turned, repeated, laid out on diagonals, multiplied pair by pair. Written with the
// ops there are; most are views or one copy.
#pragma once
#include <vector>

#include "tidemark/trace/tensor.h"

namespace tidemark {

// Elements move on by `shift` along the axis, and those pushed out at one end come in at the other.
Tensor roll(const Operand& x, std::int64_t shift, int axis);
// The whole of x so many times along each axis, counted from the last: NumPy's tile, torch's repeat.
Tensor tile(const Operand& x, const Dims& times);
// Each element so many times before the next: torch's repeat_interleave, NumPy's repeat. (repeat of
// control_flow.h is a loop.)
Tensor repeat_interleave(const Operand& x, std::int64_t times, int axis);
// Of vectors of n₀, n₁, … elements, tensors of shape (n₀, n₁, …) that hold the k-th vector along axis k:
// indexing = "ij". (For "xy", swap the first two axes of each.)
std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors,
                             SourceLine where = std::source_location::current());

// ---- diagonals, `offset` above the main one (negative: below)
Tensor diagonal(const Operand& x, std::int64_t offset = 0);  // of the last two dimensions: (…, size)
Tensor trace(const Operand& x, std::int64_t offset = 0);     // its sum
// A vector as the diagonal of a square matrix of zeros; of a matrix, its diagonal.
Tensor diag(const Operand& x, std::int64_t offset = 0);

// ---- products of all pairs
Tensor outer(const Operand& x, const Operand& y);  // vectors (n), (m): (n, m)
// Kronecker's: each element of x times the whole of y. At most four dimensions.
Tensor kron(const Operand& x, const Operand& y);

// ---- writing
Tensor masked_fill(const Operand& x, const Operand& mask, const Operand& value);  // value where mask is true
// x with updates[…, i, …] added to x[…, indices[i], …] along the axis; what is named twice is added twice.
Tensor index_add(const Operand& x, int axis, const Operand& indices, const Operand& updates);

}  // namespace tidemark
