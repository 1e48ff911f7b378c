#include <algorithm>
#include <type_traits>

#include "tidemark/ops/contract_layout.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using blas::Matrix;

// What products of a storage type are computed in. Integers wrap around, which only unsigned arithmetic may do.
template <class S>
using Product =
    std::conditional_t<std::is_integral_v<S>,
                       std::conditional_t<sizeof(S) == 8, std::uint64_t, std::uint32_t>, compute_t<S>>;

template <class T>
void multiply(blas::Method method, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a,
              Matrix<const T> b, bool add, Matrix<T> c) {
  if constexpr (std::is_floating_point_v<T>) {
    blas::gemm_serial<T>(method, m, n, k, T(1), a, b, T(add ? 1 : 0), c);
  } else {
    (void)method;
    for (std::int64_t i = 0; i < m; ++i) {
      T* out = c.data + i * c.row;
      if (!add) std::fill(out, out + n, T(0));
      for (std::int64_t l = 0; l < k; ++l) {
        const T factor = a.data[i * a.row + l * a.col];
        const T* in = b.data + l * b.row;
        for (std::int64_t j = 0; j < n; ++j) out[j] += factor * in[j * b.col];
      }
    }
  }
}

struct Range {
  std::int64_t begin, count;
};

// Copies the window outer×inner of an operand into a dense panel, rows along `outer`.
template <class S, class T>
void pack_rows(const S* data, const AxisGroup& outer, Range outer_range, const AxisGroup& inner,
               Range inner_range, T* panel) {
  const std::int64_t run = inner.size.empty() ? 1 : inner.size.back();
  const std::int64_t step = inner.inner_stride();
  for (std::int64_t o = 0; o < outer_range.count; ++o) {
    const S* row = data + outer.offset(outer_range.begin + o);
    for (std::int64_t i = 0; i < inner_range.count;) {
      const std::int64_t index = inner_range.begin + i;
      const std::int64_t length = std::min(run - index % run, inner_range.count - i);
      const S* from = row + inner.offset(index);
      if (step == 1) {
        for (std::int64_t j = 0; j < length; ++j) panel[i + j] = static_cast<T>(from[j]);
      } else {
        for (std::int64_t j = 0; j < length; ++j) panel[i + j] = static_cast<T>(from[j * step]);
      }
      i += length;
    }
    panel += inner_range.count;
  }
}

// A panel of `axis` (m or n) by depth, packed so that the reads are as contiguous as the operand allows.
// Element (i, l) of the result is that of position i on the axis and l on the depth.
template <class S, class T>
Matrix<const T> pack(const S* data, const AxisGroup& axis, Range range, const AxisGroup& depth, Range depths,
                     T* panel) {
  const bool along_depth = depth.inner_stride() == 1 && (axis.inner_stride() != 1 || depth.size.rank() > 0);
  if (std::is_floating_point_v<T> && along_depth) {
    pack_rows(data, axis, range, depth, depths, panel);
    return {panel, depths.count, 1};
  }
  pack_rows(data, depth, depths, axis, range, panel);
  return {panel, 1, range.count};
}

template <class S>
void contract_tile(const ContractLayout& layout, const blas::Tile& tile, const S* lhs, const S* rhs, S* out,
                   std::byte* scratch) {
  using T = Product<S>;
  const blas::Batch::Offsets at = layout.batch.at(tile.batch);
  lhs += at.a, rhs += at.b, out += at.c + tile.row * layout.out_row + tile.col;
  T* lhs_panel = reinterpret_cast<T*>(scratch);
  T* rhs_panel = reinterpret_cast<T*>(scratch + layout.lhs_panel);
  T* staged = reinterpret_cast<T*>(scratch + layout.lhs_panel + layout.rhs_panel);
  const Matrix<T> sum = layout.stage_out ? Matrix<T>{staged, tile.cols, 1}
                                         : Matrix<T>{reinterpret_cast<T*>(out), layout.out_row, 1};
  for (std::int64_t l = 0; l < layout.depth || l == 0; l += layout.panel_depth) {
    const Range depths{l, std::min(layout.panel_depth, layout.depth - l)};
    Matrix<const T> a, b;
    if (layout.pack_lhs) {
      a = pack(lhs, layout.m, {tile.row, tile.rows}, layout.k_lhs, depths, lhs_panel);
    } else {
      const std::int64_t row = layout.m.inner_stride(), col = layout.k_lhs.inner_stride();
      a = {reinterpret_cast<const T*>(lhs) + tile.row * row + l * col, row, col};
    }
    if (layout.pack_rhs) {
      b = pack(rhs, layout.n, {tile.col, tile.cols}, layout.k_rhs, depths, rhs_panel);
      std::swap(b.row, b.col);
    } else {
      const std::int64_t row = layout.k_rhs.inner_stride(), col = layout.n.inner_stride();
      b = {reinterpret_cast<const T*>(rhs) + tile.col * col + l * row, row, col};
    }
    multiply<T>(layout.method, tile.rows, tile.cols, depths.count, a, b, l > 0, sum);
    if (layout.panel_depth == 0) break;
  }
  if (layout.stage_out) {
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      for (std::int64_t j = 0; j < tile.cols; ++j)
        out[i * layout.out_row + j] = static_cast<S>(staged[i * tile.cols + j]);
    }
  }
}

template <class S>
void run_typed(const KernelArgs& args, const ContractLayout& layout) {
  const S* lhs = args.in[0].as<S>();
  const S* rhs = args.in[1].as<S>();
  S* out = args.out[0].as<S>();
  if constexpr (std::is_floating_point_v<S>) {
    if (!layout.pack_lhs && !layout.pack_rhs) {
      blas::gemm<S>(*args.pool, layout.method, layout.batch, layout.rows, layout.cols, layout.depth, S(1),
                    {lhs, layout.m.inner_stride(), layout.k_lhs.inner_stride()},
                    {rhs, layout.k_rhs.inner_stride(), layout.n.inner_stride()}, S(0),
                    {out, layout.out_row, 1});
      return;
    }
  }
  const blas::Tiling& tiling = layout.tiling;
  args.pool->run(layout.slots, [&](std::int64_t slot) {
    std::byte* scratch = args.scratch + slot * layout.slot_bytes();
    for (std::int64_t task = slot; task < tiling.tasks; task += layout.slots) {
      const std::int64_t end = std::min((task + 1) * tiling.group, tiling.tiles);
      for (std::int64_t index = task * tiling.group; index < end; ++index) {
        contract_tile<S>(layout, blas::tile_at(tiling, index, layout.rows, layout.cols), lhs, rhs, out,
                         scratch);
      }
    }
  });
}

void run_contract(const KernelArgs& args) {
  const TensorRef &lhs = args.in[0], &rhs = args.in[1];
  const ContractLayout layout =
      contract_layout(args.attrs<ContractAttrs>(), lhs.dtype, lhs.shape, lhs.strides, rhs.shape, rhs.strides);
  dispatch(lhs.dtype, [&]<class S>() {
    if constexpr (!std::is_same_v<S, bool>) run_typed<S>(args, layout);
  });
}

}  // namespace

const CpuKernel cpu::contract = cpu_kernel<ContractAttrs>(run_contract);

}  // namespace tidemark
