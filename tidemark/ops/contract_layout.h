// How a contraction lies in memory, seen as matrix products: dimensions grouped into batch, M, N and K, merged where
// the strides allow, and what of it BLAS cannot read and must be packed panel by panel into scratch first.
//
//   result[batch…, m…, n…] = Σ_k left[batch…, m…, k…] right[batch…, k…, n…]
//
// Facts (the scratch claim) and kernel read the same struct, so the claim is exact.
#pragma once
#include "tidemark/kernel/blas.h"
#include "tidemark/ops/contract.h"

namespace tidemark {

// Dimensions that together form one axis of a matrix, outermost first, with their strides in one operand.
struct AxisGroup {
  Dims size, stride;
  std::int64_t count() const { return element_count(size); }
  std::int64_t offset(std::int64_t index) const { return offset_at(size, stride, index); }
  std::int64_t inner_stride() const { return size.empty() ? 1 : stride.back(); }
};

struct ContractLayout {
  blas::Batch batch;  // also rows or columns that do not merge with the rest
  AxisGroup m, n;     // m in the left, n in the right operand
  AxisGroup k_lhs, k_rhs;
  std::int64_t rows = 1, cols = 1, depth = 1;
  std::int64_t out_row = 1;  // stride between rows of the result; its columns are contiguous

  bool pack_lhs = false, pack_rhs = false;
  bool stage_out = false;                     // accumulate a tile in the compute type, then round once
  blas::Method method = blas::Method::small;  // by the sizes alone, so that views give the bits of copies
  blas::Tiling tiling;

  // A packed panel is at most this deep; slots each hold their panels and their tile.
  std::int64_t panel_depth = 0;
  std::int64_t slots = 0;
  std::int64_t lhs_panel = 0, rhs_panel = 0, out_tile = 0;  // bytes in each slot
  std::int64_t slot_bytes() const { return lhs_panel + rhs_panel + out_tile; }
  std::int64_t scratch_bytes() const { return slots * slot_bytes(); }
};

// Strides of the result are dense. `dtype` is that of all three.
ContractLayout contract_layout(const ContractAttrs& attrs, DType dtype, const Shape& lhs,
                               const Strides& lhs_strides, const Shape& rhs, const Strides& rhs_strides);

// The dimensions of an operand of the given rank that are neither batch nor contracted, ascending.
Dims free_dims(int rank, const Dims& batch, const Dims& contracted);

}  // namespace tidemark
