#include "tidemark/ops/contraction/contract_layout.h"

#include <algorithm>

#include "tidemark/kernel/gemm_bf16.h"

namespace tidemark {
namespace {

bool contains(const Dims& dims, std::int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

// Dimensions with up to three strides each, merged while they are appended, outermost first.
struct Merged {
  Dims size, s0, s1, s2;

  void append(std::int64_t n, std::int64_t a, std::int64_t b, std::int64_t c) {
    if (n == 1) return;
    if (!size.empty() && s0.back() == n * a && s1.back() == n * b && s2.back() == n * c) {
      size.back() *= n, s0.back() = a, s1.back() = b, s2.back() = c;
      return;
    }
    size.push_back(n), s0.push_back(a), s1.push_back(b), s2.push_back(c);
  }
};

}  // namespace

Dims free_dims(int rank, const Dims& batch, const Dims& contracted) {
  Dims free;
  for (int d = 0; d < rank; ++d) {
    if (!contains(batch, d) && !contains(contracted, d)) free.push_back(d);
  }
  return free;
}

ContractLayout contract_layout(const ContractAttrs& attrs, DType dtype, const Shape& lhs,
                               const Strides& lhs_strides, const Shape& rhs, const Strides& rhs_strides,
                               bool added) {
  const Dims lhs_free = free_dims(lhs.rank(), attrs.lhs_batch, attrs.lhs_contract);
  const Dims rhs_free = free_dims(rhs.rank(), attrs.rhs_batch, attrs.rhs_contract);
  Shape out;
  for (std::int64_t d : attrs.lhs_batch) out.push_back(lhs[static_cast<int>(d)]);
  for (std::int64_t d : lhs_free) out.push_back(lhs[static_cast<int>(d)]);
  for (std::int64_t d : rhs_free) out.push_back(rhs[static_cast<int>(d)]);
  const Strides out_strides = dense_strides(out);

  ContractLayout layout;
  gemm::Sizes& sizes = layout.sizes;
  sizes.m = sizes.n = sizes.k = 1;
  Merged batch, m, n, k;
  int at = 0;
  for (int i = 0; i < attrs.lhs_batch.rank(); ++i, ++at) {
    const int l = static_cast<int>(attrs.lhs_batch[i]), r = static_cast<int>(attrs.rhs_batch[i]);
    sizes.batch *= lhs[l];
    batch.append(lhs[l], lhs_strides[l], rhs_strides[r], out_strides[at]);
  }
  for (std::int64_t d : lhs_free) {
    const int l = static_cast<int>(d);
    sizes.m *= lhs[l];
    m.append(lhs[l], lhs_strides[l], 0, 0);
  }
  for (std::int64_t d : rhs_free) {
    const int r = static_cast<int>(d);
    sizes.n *= rhs[r];
    n.append(rhs[r], rhs_strides[r], 0, 0);
  }
  for (int i = 0; i < attrs.lhs_contract.rank(); ++i) {
    const int l = static_cast<int>(attrs.lhs_contract[i]), r = static_cast<int>(attrs.rhs_contract[i]);
    sizes.k *= lhs[l];
    k.append(lhs[l], lhs_strides[l], rhs_strides[r], 0);
  }
  layout.batch_lhs = {batch.size, batch.s0};
  layout.batch_rhs = {batch.size, batch.s1};
  layout.batch_out = {batch.size, batch.s2};
  layout.m = {m.size, m.s0};
  layout.n = {n.size, n.s0};
  layout.k_lhs = {k.size, k.s0};
  layout.k_rhs = {k.size, k.s1};

  layout.staged = dtype == DType::bf16 || dtype == DType::f16 || (added && sizes.k > gemm::deepest);
  if (is_float(dtype)) {
    const bool plain = m.size.rank() <= 1 && n.size.rank() <= 1 && k.size.rank() <= 1 &&
                       (dtype == DType::f32 || dtype == DType::f64);
    layout.scratch_bytes = dtype == DType::f64 ? gemm::scratch_bytes<double>(sizes, layout.staged, plain)
                                               : gemm::scratch_bytes<float>(sizes, layout.staged, plain);
    if (dtype == DType::bf16) {  // of whichever way the machine has
      layout.scratch_bytes = std::max(layout.scratch_bytes, gemm::scratch_bytes_bf16(sizes, layout.staged));
    }
  }
  return layout;
}

}  // namespace tidemark
