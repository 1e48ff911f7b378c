#include <algorithm>
#include <type_traits>

#include "tidemark/kernel/gemm_bf16.h"
#include "tidemark/kernel/tile_convert.h"
#include "tidemark/ops/contraction/contract_layout.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

// Takes finished pieces of a product from scratch to the result: rounded to 16 bits, added to a sum, or both.
struct Delivery {
  std::byte* out;
  const std::byte* sum;  // nullptr: none; may be `out`
  DType dtype;
  std::int64_t ld;
  gemm::Axes batch;

  template <class T>
  static void finish(const void* self, const gemm::Finished<T>& piece) {
    const auto& to = *static_cast<const Delivery*>(self);
    const std::int64_t size = size_of(to.dtype);
    const std::int64_t first = to.batch.offset(piece.batch) + piece.row * to.ld + piece.col;
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      const std::int64_t at = (first + i * to.ld) * size;
      if (size == sizeof(T)) {
        add_row(piece.data + i * piece.ld, piece.cols, reinterpret_cast<const T*>(to.sum + at),
                reinterpret_cast<T*>(to.out + at));
      } else if constexpr (sizeof(T) == sizeof(float)) {
        to.round_row(piece.data + i * piece.ld, piece.cols, at);
      }
    }
  }
  template <class T>
  static void add_row(const T* product, std::int64_t n, const T* sum, T* out) {
    for (std::int64_t j = 0; j < n; ++j) out[j] = sum[j] + product[j];
  }

  // As a product followed by an addition would: each rounds to 16 bits.
  void round_row(const float* product, std::int64_t n, std::int64_t at) const {
    const TileStore store = tile_store(dtype);
    const auto bytes = [](const float* p) { return reinterpret_cast<const std::byte*>(p); };
    if (!sum) return store(bytes(product), n, out + at);
    const TileLoad load = tile_load(dtype, true);
    constexpr std::int64_t piece = 128;
    alignas(buffer_alignment) std::byte rounded[2 * piece];
    alignas(buffer_alignment) float x[piece], y[piece];
    for (std::int64_t j = 0; j < n; j += piece) {
      const std::int64_t some = std::min(piece, n - j);
      store(bytes(product + j), some, rounded);
      load(rounded, 1, some, reinterpret_cast<std::byte*>(x));
      load(sum + at + 2 * j, 1, some, reinterpret_cast<std::byte*>(y));
      add_row(x, some, y, y);
      store(bytes(y), some, out + at + 2 * j);
    }
  }
};

template <class T>
void copy(ThreadPool& pool, const T* from, T* to, std::int64_t count) {
  if (from == to) return;
  parallel_for(pool, count, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    std::copy(from + begin, from + end, to + begin);
  });
}

template <class T>
void run_product(const KernelArgs& args, const ContractLayout& layout) {
  const TensorRef &lhs = args.in[0], &rhs = args.in[1], &out = args.out[0];
  const bool added = args.in.size() == 3;
  const gemm::Strided a{lhs.data, lhs.dtype, layout.m, layout.k_lhs, layout.batch_lhs};
  const gemm::Strided b{rhs.data, rhs.dtype, layout.n, layout.k_rhs, layout.batch_rhs};
  gemm::Product<T> product{.sizes = layout.sizes,
                           .a = gemm::source_of<T>(a),
                           .b = gemm::source_of<T>(b),
                           .c_batch = layout.batch_out};
  const Delivery delivery{out.data, added ? args.in[2].data : nullptr, out.dtype, layout.sizes.n,
                          layout.batch_out};
  if (layout.staged) {
    product.epilogue = {Delivery::finish<T>, &delivery};
  } else {
    if (added) copy(*args.pool, args.in[2].as<T>(), out.as<T>(), out.count());
    product.c = out.as<T>(), product.ld = layout.sizes.n, product.add = added;
  }
  if constexpr (std::is_same_v<T, float>) {
    const bool halves = lhs.dtype == DType::bf16 && rhs.dtype == DType::bf16;
    if (halves && layout.sizes.m > 1 && layout.sizes.n > 1 && gemm::multiplies_bf16()) {
      return gemm::run_bf16(*args.pool, product, a, b, args.scratch);
    }
  }
  gemm::run(*args.pool, product, args.scratch);
}

// Integers wrap around, which only unsigned arithmetic may do.
template <class S>
void run_integers(const KernelArgs& args, const ContractLayout& layout) {
  using U = std::make_unsigned_t<S>;
  const S *lhs = args.in[0].as<S>(), *rhs = args.in[1].as<S>();
  U* const result = reinterpret_cast<U*>(args.out[0].as<S>());
  const gemm::Sizes& s = layout.sizes;
  const bool added = args.in.size() == 3;
  if (added) copy(*args.pool, reinterpret_cast<const U*>(args.in[2].as<S>()), result, args.out[0].count());
  const auto row = [&](std::int64_t batch, std::int64_t i) {
    const S* left = lhs + layout.batch_lhs.offset(batch) + layout.m.offset(i);
    const S* right = rhs + layout.batch_rhs.offset(batch);
    U* out = result + layout.batch_out.offset(batch) + i * s.n;
    if (!added) std::fill(out, out + s.n, U(0));
    const std::int64_t run = layout.n.size.empty() ? 1 : layout.n.size.back();
    const std::int64_t step = layout.n.inner_stride();
    for (std::int64_t l = 0; l < s.k; ++l) {
      const U factor = static_cast<U>(left[layout.k_lhs.offset(l)]);
      for (std::int64_t j = 0; j < s.n; j += run) {
        const S* from = right + layout.k_rhs.offset(l) + layout.n.offset(j);
        for (std::int64_t r = 0; r < run; ++r) {
          out[j + r] = static_cast<U>(out[j + r] + factor * static_cast<U>(from[r * step]));
        }
      }
    }
  };
  const std::int64_t work = std::max<std::int64_t>(s.n * (s.k + 1), 1);
  parallel_for(*args.pool, s.batch * s.m, std::max<std::int64_t>(1, (1 << 16) / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t index = begin; index < end; ++index) row(index / s.m, index % s.m);
               });
}

void run_contract(const KernelArgs& args) {
  const TensorRef &lhs = args.in[0], &rhs = args.in[1];
  const ContractLayout layout = contract_layout(args.attrs<ContractAttrs>(), lhs.dtype, lhs.shape,
                                                lhs.strides, rhs.shape, rhs.strides, args.in.size() == 3);
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

Cost cost(const Call& call) {
  double flops = 2;
  for (const Type& type : call.out) flops *= static_cast<double>(type.count());
  for (std::int64_t d : call.attrs_as<ContractAttrs>().lhs_contract) {
    flops *= static_cast<double>(call.in[0].shape[static_cast<int>(d)]);
  }
  return {.flops = flops, .bytes = bytes_moved(call)};
}

std::int64_t scratch(const Call& call) {
  return contract_layout(call.attrs_as<ContractAttrs>(), call.in[0].dtype, call.in[0].shape,
                         operand_strides(call, 0), call.in[1].shape, operand_strides(call, 1),
                         call.in.size() == 3)
      .scratch_bytes;
}

// The sum that a product is added to is read where it lies: dense.
bool in_place(const Call& call, int, int operand) { return operand == 2 && call.is_dense_operand(2); }
bool strided(const Call&, int operand) { return operand < 2; }

}  // namespace

const CpuKernel cpu::contract = cpu_kernel<ContractAttrs>(
    run_contract, {.cost = cost, .scratch = scratch, .in_place = in_place, .strided = strided});

}  // namespace tidemark
