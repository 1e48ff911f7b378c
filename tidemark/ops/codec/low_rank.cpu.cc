#include "tidemark/ops/codec/low_rank.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/kernel/gemm.h"
#include "tidemark/kernel/philox_words.h"
#include "tidemark/kernel/tile_convert.h"
#include "tidemark/ops/codec/orthonormal.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

constexpr std::int64_t rows_per_task = 64;

// Where a kernel's memory is cut into parts.
class Scratch {
 public:
  explicit Scratch(std::byte* begin) : at_(begin) {}
  template <class T>
  T* take(std::int64_t count) {
    std::byte* const begin = at_;
    used_ += align_up(count * static_cast<std::int64_t>(sizeof(T)), buffer_alignment);
    if (at_) at_ += align_up(count * static_cast<std::int64_t>(sizeof(T)), buffer_alignment);
    return reinterpret_cast<T*>(begin);
  }
  std::int64_t used() const { return used_; }

 private:
  std::byte* at_;
  std::int64_t used_ = 0;
};

gemm::Axes axis(std::int64_t count, std::int64_t stride) { return {.size = {count}, .stride = {stride}}; }

// Qᵀ X sums over many rows and has few results, which products in blocks of results are no good at. Rows are
// cut into parts with a sum each, which are added up in order; a part into tiles that stay in the cache.
constexpr std::int64_t most_parts = 16, rows_per_part = 256;
constexpr std::int64_t tile_rows = 32, tile_cols = 128;

std::int64_t parts_of(std::int64_t rows) {
  return std::clamp((rows + rows_per_part - 1) / rows_per_part, std::int64_t{1}, most_parts);
}

// The work of to_low_rank in numbers of type W, and the memory for it.
template <class W>
class RangeFinder {
 public:
  RangeFinder(const MatrixSizes& sizes, std::byte* scratch) : m_(sizes.rows), n_(sizes.cols), r_(sizes.rank) {
    Scratch memory(scratch);
    q_ = memory.take<W>(r_ * m_);
    z_ = memory.take<W>(r_ * n_);
    is_finite_ = memory.take<std::uint8_t>(m_);
    largest_ = memory.take<double>((m_ + rows_per_task - 1) / rows_per_task);
    partial_ = memory.take<double>(std::max(orthonormal_partials(r_, m_), orthonormal_partials(r_, n_)));
    sums_ = memory.take<W>(parts_of(m_) * r_ * n_);
    const gemm::Sizes product{.m = r_, .n = m_, .k = n_};
    product_ = memory.take<std::byte>(
        std::max(gemm::scratch_bytes<W>(product), gemm::scratch_bytes<W>(product, false, true)));
    scratch_bytes_ = memory.used();
  }
  std::int64_t scratch_bytes() const { return scratch_bytes_; }

  void run(ThreadPool& pool, const TensorRef& x, const TensorRef& factors) {
    pool_ = &pool;
    x_ = &x;
    look_at_rows();
    fill_at_random();  // Ωᵀ, in place of Zᵀ
    for (int iteration = 0; iteration < 2; ++iteration) {
      if (iteration > 0) {
        orthonormal_rows(pool, q_, r_, m_, partial_);
        times_x();  // Zᵀ = Yᵀ X
        orthonormal_rows(pool, z_, r_, n_, partial_);
      }
      times_x_transposed();  // Yᵀ = Zᵀ Xᵀ
    }
    orthonormal_rows(pool, q_, r_, m_, partial_);
    times_x();  // B = Qᵀ X
    deliver(factors);
  }

 private:
  // Which rows are finite, and the power of two that brings the largest magnitude of those near 1.
  void look_at_rows() {
    parallel_for(*pool_, m_, rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      double largest = 0;
      dispatch_float(x_->dtype, [&]<class T>() {
        for (std::int64_t i = begin; i < end; ++i) {
          const T* row = x_->as<T>() + i * n_;
          constexpr std::int64_t lanes = 16;  // so that compilers may use vectors
          W most[lanes] = {};
          std::uint8_t lost[lanes] = {};
          const auto see = [&](std::int64_t j, std::int64_t k) {
            const W size = std::abs(static_cast<W>(compute_t<T>(row[j])));
            lost[k] |= !(size <= std::numeric_limits<W>::max());
            most[k] = size > most[k] ? size : most[k];
          };
          std::int64_t j = 0;
          for (; j + lanes <= n_; j += lanes) {
            for (std::int64_t k = 0; k < lanes; ++k) see(j + k, k);
          }
          for (std::int64_t k = 0; j + k < n_; ++k) see(j + k, k);
          const bool finite = std::count(lost, lost + lanes, 0) == lanes;
          is_finite_[i] = finite;
          if (finite) largest = std::max(largest, static_cast<double>(*std::max_element(most, most + lanes)));
        }
      });
      largest_[begin / rows_per_task] = largest;
    });
    double largest = 0;
    for (std::int64_t t = 0; t < (m_ + rows_per_task - 1) / rows_per_task; ++t)
      largest = std::max(largest, largest_[t]);
    // Not all the way where it is far off, so that what is scaled keeps its digits.
    constexpr int furthest = std::numeric_limits<W>::max_exponent * 4 / 5;
    exponent_ = largest == 0 ? 0 : std::clamp(std::ilogb(largest), -furthest, furthest);
    scale_ = std::ldexp(W(1), -exponent_);
    all_finite_ = std::find(is_finite_, is_finite_ + m_, 0) == is_finite_ + m_;
  }

  // Uniform in [-1, 1): of few numbers as good as any other, and the same on every machine.
  void fill_at_random() {
    constexpr std::int64_t words = 256;
    parallel_for(*pool_, r_ * n_, words, [&](std::int64_t begin, std::int64_t end) {
      std::uint32_t drawn[words];
      philox_words(Philox{0x6c6f772d72616e6bu}, static_cast<std::uint64_t>(begin / 4), 0, words / 4, drawn);
      for (std::int64_t i = begin; i < end; ++i)
        z_[i] = static_cast<W>(static_cast<std::int32_t>(drawn[i - begin])) * static_cast<W>(0x1p-31);
    });
  }

  void scaled(W* numbers, std::int64_t count) const {
    parallel_for(*pool_, count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) numbers[i] *= scale_;
    });
  }

  // z = (scale · q) X, and q is scaled.
  void times_x() {
    scaled(q_, r_ * m_);
    const std::int64_t parts = parts_of(m_), each = (m_ + parts - 1) / parts;
    dispatch_float(x_->dtype, [&]<class T>() {
      pool_->run(parts, [&](std::int64_t part) {
        W* const sums = sums_ + part * r_ * n_;
        std::fill_n(sums, r_ * n_, W(0));
        const std::int64_t end = std::min((part + 1) * each, m_);
        for (std::int64_t i = part * each; i < end; i += tile_rows) {
          for (std::int64_t j = 0; j < n_; j += tile_cols)
            add_tile<T>(i, std::min(tile_rows, end - i), j, std::min(tile_cols, n_ - j), sums);
        }
      });
    });
    parallel_for(*pool_, r_ * n_, 1 << 12, [&](std::int64_t begin, std::int64_t end) {
      std::copy(sums_ + begin, sums_ + end, z_ + begin);
      for (std::int64_t part = 1; part < parts; ++part) {
        for (std::int64_t i = begin; i < end; ++i) z_[i] += sums_[part * r_ * n_ + i];
      }
    });
  }

  // Adds to the sums what the finite rows of a tile of X give, four at a time.
  template <class T>
  void add_tile(std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols, W* sums) const {
    alignas(buffer_alignment) W widened[std::is_same_v<T, W> ? 1 : tile_rows * tile_cols];
    const W* lines[tile_rows];
    std::int64_t numbers[tile_rows], count = 0;
    for (std::int64_t i = row; i < row + rows; ++i) {
      if (!is_finite_[i]) continue;
      const T* line = x_->as<T>() + i * n_ + col;
      if constexpr (std::is_same_v<T, W>) {
        lines[count] = line;
      } else {
        W* const copied = widened + count * tile_cols;
        tile_load(dtype_of<T>, true)(reinterpret_cast<const std::byte*>(line), 1, cols,
                                     reinterpret_cast<std::byte*>(copied));
        lines[count] = copied;
      }
      numbers[count++] = i;
    }
    for (std::int64_t k = 0; k < r_; ++k) {
      const W* q = q_ + k * m_;
      W sum[tile_cols] = {};
      std::int64_t i = 0;
      for (; i + 4 <= count; i += 4) {
        const W *a = lines[i], *b = lines[i + 1], *c = lines[i + 2], *d = lines[i + 3];
        const W qa = q[numbers[i]], qb = q[numbers[i + 1]], qc = q[numbers[i + 2]], qd = q[numbers[i + 3]];
        for (std::int64_t j = 0; j < cols; ++j) sum[j] += qa * a[j] + qb * b[j] + qc * c[j] + qd * d[j];
      }
      for (; i < count; ++i) {
        for (std::int64_t j = 0; j < cols; ++j) sum[j] += q[numbers[i]] * lines[i][j];
      }
      W* const to = sums + k * n_ + col;
      for (std::int64_t j = 0; j < cols; ++j) to[j] += sum[j];
    }
  }

  // q = (scale · z) Xᵀ, without the rows that are not finite: they spoil nothing but themselves.
  void times_x_transposed() {
    scaled(z_, r_ * n_);
    const gemm::Strided left{reinterpret_cast<const std::byte*>(z_), dtype_of<W>, axis(r_, n_), axis(n_, 1)};
    const gemm::Strided right{x_->data, x_->dtype, axis(m_, n_), axis(n_, 1)};
    gemm::run(*pool_,
              gemm::Product<W>{.sizes = {.m = r_, .n = m_, .k = n_},
                               .a = gemm::source_of<W>(left),
                               .b = gemm::source_of<W>(right),
                               .c = q_,
                               .ld = m_},
              product_);
    for (std::int64_t i = 0; i < m_ && !all_finite_; ++i) {
      if (is_finite_[i]) continue;
      for (std::int64_t k = 0; k < r_; ++k) q_[k * m_ + i] = 0;
    }
  }

  // q is scale · Qᵀ here and z is scale · B. Of large numbers Q takes a half of the magnitude: a sum in B may
  // be larger than the dtype goes.
  void deliver(const TensorRef& factors) const {
    const W back = std::ldexp(W(1), exponent_), half = std::ldexp(W(1), std::max(exponent_, 0) / 2);
    write(q_, r_ * m_, half, back, factors, 0);
    write(z_, r_ * n_, 1 / half, back, factors, r_ * m_);
    for (std::int64_t i = 0; i < m_ && !all_finite_; ++i) {
      if (is_finite_[i]) continue;
      const W nan = std::numeric_limits<W>::quiet_NaN();
      for (std::int64_t k = 0; k < r_; ++k) write(&nan, 1, 1, 1, factors, k * m_ + i);
    }
  }

  void write(const W* from, std::int64_t count, W first, W second, const TensorRef& to,
             std::int64_t at) const {
    parallel_for(*pool_, count, 1 << 13, [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t piece = 128;
      alignas(buffer_alignment) W numbers[piece];
      for (std::int64_t i = begin; i < end; i += piece) {
        const std::int64_t some = std::min(piece, end - i);
        for (std::int64_t k = 0; k < some; ++k) numbers[k] = from[i + k] * first * second;
        std::byte* place = to.data + (at + i) * size_of(to.dtype);
        if (to.dtype == dtype_of<W>) {
          std::copy_n(numbers, some, reinterpret_cast<W*>(place));
        } else {
          tile_store(to.dtype)(reinterpret_cast<const std::byte*>(numbers), some, place);
        }
      }
    });
  }

  const std::int64_t m_, n_, r_;
  W *q_, *z_;                // rank × rows, rank × cols
  std::uint8_t* is_finite_;  // per row
  double *largest_, *partial_;
  W* sums_;  // rank × cols, for each part of the rows
  std::byte* product_;
  std::int64_t scratch_bytes_ = 0;
  ThreadPool* pool_ = nullptr;
  const TensorRef* x_ = nullptr;
  bool all_finite_ = true;
  int exponent_ = 0;
  W scale_ = 1;
};

template <class F>
void with_numbers(DType dtype, const F& f) {
  dtype == DType::f64 ? f.template operator()<double>() : f.template operator()<float>();
}

std::int64_t scratch_to(const Call& call) {
  const MatrixSizes sizes = low_rank_sizes(call.attrs_as<ToLowRankAttrs>().rank, call.in[0].shape);
  std::int64_t bytes = 0;
  with_numbers(call.in[0].dtype, [&]<class W>() { bytes = RangeFinder<W>(sizes, nullptr).scratch_bytes(); });
  return sizes.rank == 0 ? 0 : bytes;
}

void run_to(const KernelArgs& args) {
  const MatrixSizes sizes = low_rank_sizes(args.attrs<ToLowRankAttrs>().rank, args.in[0].shape);
  if (sizes.rank == 0) return;
  with_numbers(args.in[0].dtype, [&]<class W>() {
    RangeFinder<W>(sizes, args.scratch).run(*args.pool, args.in[0], args.out[0]);
  });
}

// Rounds finished pieces of a product to the result's dtype.
struct RoundedPieces {
  const TensorRef& out;
  std::int64_t cols;
  static void finish(const void* self, const gemm::Finished<float>& piece) {
    const auto& to = *static_cast<const RoundedPieces*>(self);
    const TileStore store = tile_store(to.out.dtype);
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      store(reinterpret_cast<const std::byte*>(piece.data + i * piece.ld), piece.cols,
            to.out.data + ((piece.row + i) * to.cols + piece.col) * size_of(to.out.dtype));
    }
  }
};

void run_from(const KernelArgs& args) {
  const TensorRef &in = args.in[0], &out = args.out[0];
  const auto [rows, cols, rank] = low_rank_sizes(args.attrs<FromLowRankAttrs>().rank, out.shape);
  if (rank == 0) return;
  const gemm::Strided q{in.data, in.dtype, axis(rows, 1), axis(rank, rows)};
  const gemm::Strided b{in.data + rank * rows * size_of(in.dtype), in.dtype, axis(cols, 1), axis(rank, cols)};
  with_numbers(in.dtype, [&, rows = rows, cols = cols, rank = rank]<class W>() {
    gemm::Product<W> product{
        .sizes = {.m = rows, .n = cols, .k = rank}, .a = gemm::source_of<W>(q), .b = gemm::source_of<W>(b)};
    product.a.plain = product.b.plain = nullptr;
    const RoundedPieces rounded{out, cols};
    if (out.dtype == dtype_of<W>) {
      product.c = out.as<W>(), product.ld = cols;
    } else if constexpr (std::is_same_v<W, float>) {
      product.epilogue = {RoundedPieces::finish, &rounded};
    }
    gemm::run(*args.pool, product, args.scratch);
  });
}

std::int64_t scratch_from(const Call& call) {
  const MatrixSizes sizes = low_rank_sizes(call.attrs_as<FromLowRankAttrs>().rank, call.out[0].shape);
  if (sizes.rank == 0) return 0;
  const gemm::Sizes product{.m = sizes.rows, .n = sizes.cols, .k = sizes.rank};
  const DType dtype = call.out[0].dtype;
  return dtype == DType::f64 ? gemm::scratch_bytes<double>(product)
                             : gemm::scratch_bytes<float>(product, dtype != DType::f32);
}

// Two products each way with the matrix, of which it is read rather than computed with where the rank is
// small (bench/micro_codec); what is made orthonormal is thin.
Cost cost_to(const Call& call) {
  const MatrixSizes sizes = low_rank_sizes(call.attrs_as<ToLowRankAttrs>().rank, call.in[0].shape);
  const auto m = static_cast<double>(sizes.rows), n = static_cast<double>(sizes.cols),
             r = static_cast<double>(sizes.rank);
  constexpr double in_tiles = 4;  // the time of a flop there over that of one in a product
  return {.flops = (4 + 4 * in_tiles) * m * n * r + 8 * in_tiles * (2 * m + n) * r * r,
          .bytes = bytes_moved(call) + 5 * static_cast<double>(call.in[0].bytes())};
}
Cost cost_from(const Call& call) {
  const MatrixSizes sizes = low_rank_sizes(call.attrs_as<FromLowRankAttrs>().rank, call.out[0].shape);
  return {.flops = 2 * static_cast<double>(call.out[0].count()) * static_cast<double>(sizes.rank),
          .bytes = bytes_moved(call)};
}

}  // namespace

const CpuKernel cpu::to_low_rank =
    cpu_kernel<ToLowRankAttrs>(run_to, {.cost = cost_to, .scratch = scratch_to});
const CpuKernel cpu::from_low_rank =
    cpu_kernel<FromLowRankAttrs>(run_from, {.cost = cost_from, .scratch = scratch_from});

}  // namespace tidemark
