#include <algorithm>
#include <type_traits>

#include "tidemark/kernel/tile_convert.h"
#include "tidemark/ops/contract_layout.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// A finished piece of f32 sums becomes 16-bit storage.
struct Rounding {
  std::byte* out;
  std::int64_t ld;
  gemm::Axes batch;
  TileStore store;

  static void finish(const void* self, const gemm::Finished<float>& piece) {
    const auto& to = *static_cast<const Rounding*>(self);
    constexpr std::int64_t size = 2;
    std::byte* first = to.out + (to.batch.offset(piece.batch) + piece.row * to.ld + piece.col) * size;
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      to.store(reinterpret_cast<const std::byte*>(piece.data + i * piece.ld), piece.cols,
               first + i * to.ld * size);
    }
  }
};

template <class T>
void run_product(const KernelArgs& args, const ContractLayout& layout) {
  const TensorRef &lhs = args.in[0], &rhs = args.in[1], &out = args.out[0];
  const gemm::Strided a{lhs.data, lhs.dtype, layout.m, layout.k_lhs, layout.batch_lhs};
  const gemm::Strided b{rhs.data, rhs.dtype, layout.n, layout.k_rhs, layout.batch_rhs};
  gemm::Product<T> product{.sizes = layout.sizes,
                           .a = gemm::source_of<T>(a),
                           .b = gemm::source_of<T>(b),
                           .c_batch = layout.batch_out};
  const Rounding rounding{out.data, layout.sizes.n, layout.batch_out, tile_store(out.dtype)};
  if constexpr (std::is_same_v<T, float>) {
    if (layout.staged) product.epilogue = {Rounding::finish, &rounding};
  }
  if (!layout.staged) product.c = out.as<T>(), product.ld = layout.sizes.n;
  gemm::run(*args.pool, product, args.scratch);
}

// Integers wrap around, which only unsigned arithmetic may do.
template <class S>
void run_integers(const KernelArgs& args, const ContractLayout& layout) {
  using U = std::make_unsigned_t<S>;
  const S *lhs = args.in[0].as<S>(), *rhs = args.in[1].as<S>();
  const gemm::Sizes& s = layout.sizes;
  const std::int64_t work = std::max<std::int64_t>(s.n * (s.k + 1), 1);
  parallel_for(*args.pool, s.batch * s.m, std::max<std::int64_t>(1, (1 << 16) / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t index = begin; index < end; ++index) {
                   const std::int64_t batch = index / s.m;
                   const S* left = lhs + layout.batch_lhs.offset(batch) + layout.m.offset(index % s.m);
                   const S* right = rhs + layout.batch_rhs.offset(batch);
                   U* out = reinterpret_cast<U*>(args.out[0].as<S>()) + layout.batch_out.offset(batch) +
                            index % s.m * s.n;
                   std::fill(out, out + s.n, U(0));
                   const std::int64_t run = layout.n.size.empty() ? 1 : layout.n.size.back();
                   for (std::int64_t l = 0; l < s.k; ++l) {
                     const U factor = static_cast<U>(left[layout.k_lhs.offset(l)]);
                     const S* row = right + layout.k_rhs.offset(l);
                     const std::int64_t step = layout.n.inner_stride();
                     for (std::int64_t j = 0; j < s.n; j += run) {
                       const S* from = row + layout.n.offset(j);
                       for (std::int64_t i = 0; i < run; ++i) {
                         out[j + i] = static_cast<U>(out[j + i] + factor * static_cast<U>(from[i * step]));
                       }
                     }
                   }
                 }
               });
}

void run_contract(const KernelArgs& args) {
  const TensorRef &lhs = args.in[0], &rhs = args.in[1];
  const ContractLayout layout =
      contract_layout(args.attrs<ContractAttrs>(), lhs.dtype, lhs.shape, lhs.strides, rhs.shape, rhs.strides);
  dispatch(lhs.dtype, [&]<class S>() {
    if constexpr (std::is_same_v<S, double>) {
      run_product<double>(args, layout);
    } else if constexpr (!std::is_integral_v<S>) {
      run_product<float>(args, layout);
    } else if constexpr (!std::is_same_v<S, bool>) {
      run_integers<S>(args, layout);
    }
  });
}

}  // namespace

const CpuKernel cpu::contract = cpu_kernel<ContractAttrs>(run_contract);

}  // namespace tidemark
