// A matrix as the product of two thin ones, and back: X (rows × cols) ≈ Q B, where Q (rows × rank) spans the
// directions in which X is largest and B = QᵀX. One op each way, ordinary nodes of a graph.
//
//   to_low_rank(x) {rank}                     floats of rank 1 and more  →  dtype[low_rank_count]
//   from_low_rank(q) {rank, shape}            dtype[low_rank_count]  →  dtype[shape]
//
//   | Qᵀ: rank × rows | B: rank × cols |      in the dtype of x; the last axis of x are its columns
//
// Q is found as by Halko, Martinsson and Tropp, "Finding structure with randomness" (2011), algorithm 4.3
// with one power iteration: Y = X Ω with a fixed Ω out of Philox, Z = XᵀY, Y = X Z, each made orthonormal
// by Gram-Schmidt, twice. A matrix of that rank or less comes back but for rounding; of any other the part
// along the largest singular values does, and how far off that is shows only in the numbers.
//
// What could go wrong and does not: directions that depend on those before them become zero, so a matrix of
// zeros comes back as zeros. A row that holds an infinity or NaN comes back as NaN, all of it, and does not
// touch the others. Numbers of any magnitude are scaled by powers of two, half in Q and half in B.
//
// Bits depend on the operand alone, not on threads. Neither op has a gradient.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

struct ToLowRankAttrs {
  std::int64_t rank = 16;
  TM_FIELDS(ToLowRankAttrs, rank)
};
struct FromLowRankAttrs {
  std::int64_t rank = 16;
  Dims shape;
  TM_FIELDS(FromLowRankAttrs, rank, shape)
};

// A value seen as a matrix, and the rank that its form has: no more than its sides.
struct MatrixSizes {
  std::int64_t rows = 0, cols = 0, rank = 0;
};
MatrixSizes low_rank_sizes(std::int64_t rank, const Shape& shape);
std::int64_t low_rank_count(std::int64_t rank, const Shape& shape);  // of elements

Var to_low_rank(const Var& x, std::int64_t rank);
Var from_low_rank(const Var& factors, std::int64_t rank, const Type& type);  // type: what x's was

}  // namespace tidemark
