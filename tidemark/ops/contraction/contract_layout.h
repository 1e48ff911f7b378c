// How a contraction lies in memory, seen as matrix products: dimensions grouped into batch, M, N and K,
// merged where the strides allow. Products read any strides and groups (kernel/gemm.h), so nothing is copied
// beforehand.
//
//   result[batch…, m…, n…] = Σ_k left[batch…, m…, k…] right[batch…, k…, n…]
//
// Facts (the scratch claim) and kernel read the same struct, so the claim is exact.
#pragma once
#include "tidemark/kernel/gemm.h"
#include "tidemark/ops/contraction/contract.h"

namespace tidemark {

struct ContractLayout {
  gemm::Sizes sizes;
  gemm::Axes batch_lhs, batch_rhs, batch_out;
  gemm::Axes m, n;  // m in the left, n in the right operand
  gemm::Axes k_lhs, k_rhs;
  bool staged = false;  // the sums are made in scratch: see below
  std::int64_t scratch_bytes = 0;
};

// Strides of the result are dense. `dtype` is that of all three. Sums are made in scratch and then go to the
// result where that is of 16 bits, so that they are rounded once; and where a product of several blocks is
// `added` to something: it must be whole by then to give the bits of a product followed by an addition.
ContractLayout contract_layout(const ContractAttrs& attrs, DType dtype, const Shape& lhs,
                               const Strides& lhs_strides, const Shape& rhs, const Strides& rhs_strides,
                               bool added = false);

// The dimensions of an operand of the given rank that are neither batch nor contracted, ascending.
Dims free_dims(int rank, const Dims& batch, const Dims& contracted);

}  // namespace tidemark
