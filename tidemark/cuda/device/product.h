// A product of matrices with any strides, in any dtype, tile by tile: for what cuBLASLt does not take, whole
// numbers and dimensions that do not merge. Every element is one chain of sums along k, in order.
#pragma once
#include "tidemark/cuda/device/elements.h"

namespace tidemark::cuda {

inline constexpr int product_tile = 16;  // rows and columns of a block of threads

// P has the sizes, offsets of rows, columns and batches, and whether a third operand is added.
template <class P>
void multiply_tile(const typename P::Pointers& at) {
  using T = typename P::Element;
  using A = typename P::Sum;
  using Index = typename P::Index;
  constexpr int tile = product_tile;
  constexpr Index tiles_n = (P::n + tile - 1) / tile, tiles_m = (P::m + tile - 1) / tile;
  __shared__ A left[tile * (tile + 1)], right[tile * (tile + 1)];
  const int column = static_cast<int>(threadIdx.x) % tile, row = static_cast<int>(threadIdx.x) / tile;
  const Index block = static_cast<Index>(blockIdx.x);
  const Index batch = block / (tiles_m * tiles_n), inside = block % (tiles_m * tiles_n);
  const Index i0 = inside / tiles_n * tile, j0 = inside % tiles_n * tile;
  const T* const lhs = static_cast<const T*>(at.in[0]) + P::lhs_batch(batch);
  const T* const rhs = static_cast<const T*>(at.in[1]) + P::rhs_batch(batch);
  A sum = 0;
  for (Index k0 = 0; k0 < P::k; k0 += tile) {
    // Each thread loads one element of either; places beyond the ends are zero.
    const Index i = i0 + row, j = j0 + column, kl = k0 + column, kr = k0 + row;
    left[row * (tile + 1) + column] =
        i < P::m && kl < P::k ? static_cast<A>(widened(lhs[P::lhs_row(i) + P::lhs_depth(kl)])) : A(0);
    right[row * (tile + 1) + column] =
        j < P::n && kr < P::k ? static_cast<A>(widened(rhs[P::rhs_depth(kr) + P::rhs_column(j)])) : A(0);
    __syncthreads();
    for (int l = 0; l < tile; ++l) sum += left[row * (tile + 1) + l] * right[l * (tile + 1) + column];
    __syncthreads();
  }
  const Index i = i0 + row, j = j0 + column;
  if (i >= P::m || j >= P::n) return;
  const Index to = (batch * P::m + i) * P::n + j;
  T result = stored<T>(sum);
  if constexpr (P::added)
    result = stored<T>(static_cast<A>(widened(static_cast<const T*>(at.in[2])[to])) +
                       static_cast<A>(widened(result)));
  static_cast<T*>(at.out[0])[to] = result;
}

}  // namespace tidemark::cuda
