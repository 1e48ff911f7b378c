#include "tidemark/ops/contract_layout.h"

#include <algorithm>

#include "tidemark/kernel/args.h"

namespace tidemark {
namespace {

constexpr std::int64_t max_slots = 8;
// Rows that do not merge become separate products when each still has this many; below, packing is cheaper.
constexpr std::int64_t least_rows_per_product = 32;

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

// Moves all but the innermost dimension of `group` into the batch.
void hoist(AxisGroup& group, const Dims& out_stride, bool is_lhs, blas::Batch& batch) {
  for (int i = 0; i + 1 < group.size.rank(); ++i) {
    batch.size.push_back(group.size[i]);
    batch.a.push_back(is_lhs ? group.stride[i] : 0);
    batch.b.push_back(is_lhs ? 0 : group.stride[i]);
    batch.c.push_back(out_stride[i]);
  }
  group = {.size = {group.size.back()}, .stride = {group.stride.back()}};
}

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

}  // namespace

Dims free_dims(int rank, const Dims& batch, const Dims& contracted) {
  Dims free;
  for (int d = 0; d < rank; ++d) {
    if (!contains(batch, d) && !contains(contracted, d)) free.push_back(d);
  }
  return free;
}

ContractLayout contract_layout(const ContractAttrs& attrs, DType dtype, const Shape& lhs,
                               const Strides& lhs_strides, const Shape& rhs, const Strides& rhs_strides) {
  const Dims lhs_free = free_dims(lhs.rank(), attrs.lhs_batch, attrs.lhs_contract);
  const Dims rhs_free = free_dims(rhs.rank(), attrs.rhs_batch, attrs.rhs_contract);
  Shape out;
  for (std::int64_t d : attrs.lhs_batch) out.push_back(lhs[static_cast<int>(d)]);
  for (std::int64_t d : lhs_free) out.push_back(lhs[static_cast<int>(d)]);
  for (std::int64_t d : rhs_free) out.push_back(rhs[static_cast<int>(d)]);
  const Strides out_strides = dense_strides(out);

  ContractLayout layout;
  Merged batch, m, n, k;
  int at = 0;
  for (int i = 0; i < attrs.lhs_batch.rank(); ++i, ++at) {
    const int l = static_cast<int>(attrs.lhs_batch[i]), r = static_cast<int>(attrs.rhs_batch[i]);
    batch.append(lhs[l], lhs_strides[l], rhs_strides[r], out_strides[at]);
  }
  for (std::int64_t d : lhs_free) {
    const int l = static_cast<int>(d);
    layout.rows *= lhs[l];
    m.append(lhs[l], lhs_strides[l], 0, out_strides[at++]);
  }
  for (std::int64_t d : rhs_free) {
    const int r = static_cast<int>(d);
    layout.cols *= rhs[r];
    n.append(rhs[r], rhs_strides[r], 0, out_strides[at++]);
  }
  for (int i = 0; i < attrs.lhs_contract.rank(); ++i) {
    const int l = static_cast<int>(attrs.lhs_contract[i]), r = static_cast<int>(attrs.rhs_contract[i]);
    layout.depth *= lhs[l];
    k.append(lhs[l], lhs_strides[l], rhs_strides[r], 0);
  }
  layout.batch = {.size = batch.size, .a = batch.s0, .b = batch.s1, .c = batch.s2};
  layout.m = {m.size, m.s0};
  layout.n = {n.size, n.s0};
  layout.k_lhs = {k.size, k.s0};
  layout.k_rhs = {k.size, k.s1};
  layout.out_row = layout.cols;

  layout.method = blas::method_for(layout.rows, layout.cols, layout.depth);

  const bool blas_dtype = dtype == DType::f32 || dtype == DType::f64;
  const auto readable = [&](std::int64_t count, std::int64_t stride, const AxisGroup& depth) {
    return blas_dtype && k.size.rank() <= 1 &&
           blas::is_direct(count, layout.depth, stride, depth.inner_stride());
  };
  const auto settle = [&](AxisGroup& group, const AxisGroup& depth, const Dims& out_stride,
                          std::int64_t& count, bool is_lhs) {
    if (layout.method != blas::Method::small && group.size.rank() > 1 &&
        group.size.back() >= least_rows_per_product &&
        readable(group.size.back(), group.stride.back(), depth)) {
      hoist(group, out_stride, is_lhs, layout.batch);
      count = group.size.back();
    }
    return group.size.rank() > 1 || !readable(count, group.inner_stride(), depth);
  };
  layout.pack_lhs = settle(layout.m, layout.k_lhs, m.s2, layout.rows, true);
  layout.pack_rhs = settle(layout.n, layout.k_rhs, n.s2, layout.cols, false);
  // The right operand's matrix is depth×cols; readable() saw its transpose, which BLAS reads just as well.

  layout.stage_out = dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::u8;
  layout.tiling = blas::tile(layout.batch.count(), layout.rows, layout.cols, layout.depth);
  if (layout.pack_lhs || layout.pack_rhs || layout.stage_out) {
    const std::int64_t width = std::max<std::int64_t>(size_of(dtype), 4);
    layout.slots = std::min(layout.tiling.tasks, max_slots);
    layout.panel_depth = std::min(layout.depth, blas::depth_block);
    if (layout.pack_lhs) layout.lhs_panel = aligned(layout.tiling.rows * layout.panel_depth * width);
    if (layout.pack_rhs) layout.rhs_panel = aligned(layout.tiling.cols * layout.panel_depth * width);
    if (layout.stage_out) layout.out_tile = aligned(layout.tiling.rows * layout.tiling.cols * width);
  }
  return layout;
}

}  // namespace tidemark
