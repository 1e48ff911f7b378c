// Products in registers: the sums of a few rows by some vectors of columns, from packed panels or from rows
// that are read where they lie, to the part of C that there is.
//
// Compiled once per Highway target; include it from a file that uses hwy/foreach_target.h.
#if defined(TIDEMARK_KERNEL_GEMM_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TIDEMARK_KERNEL_GEMM_SUMS_INL_H_
#undef TIDEMARK_KERNEL_GEMM_SUMS_INL_H_
#else
#define TIDEMARK_KERNEL_GEMM_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "tidemark/kernel/gemm.h"
#include "tidemark/kernel/gemm_avx512.h"
#include "tidemark/kernel/gemm_neon.h"

// Loops over registers must be unrolled wholly, or the sums live in memory.
#ifndef TM_UNROLL
#define TM_UNROLL _Pragma("GCC unroll 16")
#endif
#undef TM_LANES
#undef TM_STEP_END

HWY_BEFORE_NAMESPACE();
namespace tidemark::gemm {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vec = hn::Vec<Tag<T>>;

// The block in registers: a few rows by some vectors, chosen for the register file.
//   NEON     4 × 4 vectors: with 16 sums, as many as four pipes of latency four keep busy, 94% of the peak
//            of a Neoverse V1; 8 × 3 gives 89%
//   AVX2     4 × 3 vectors: 12 sums, 3 of b and one of a fill 16 registers
//   AVX-512  8 × 3 vectors: 24 sums
#if HWY_TARGET == HWY_NEON
constexpr int block_rows = 4, block_vectors = 4;
#elif HWY_TARGET <= HWY_AVX3
constexpr int block_rows = 8, block_vectors = 3;
#else
constexpr int block_rows = 4, block_vectors = 3;
#endif

template <class T>
constexpr std::int64_t lanes_of = static_cast<std::int64_t>(hn::MaxLanes(Tag<T>()));
template <class T>
constexpr std::int64_t block_columns = block_vectors* lanes_of<T>;

#if HWY_TARGET == HWY_NEON
// Rows of a lie in lanes: no broadcasts.
#define TM_LANES 1
template <int Lane>
HWY_INLINE Vec<float> add_lane(Vec<float> sum, Vec<float> b, Vec<float> a) {
  return Vec<float>(vfmaq_laneq_f32(sum.raw, b.raw, a.raw, Lane));
}
template <int Lane>
HWY_INLINE Vec<double> add_lane(Vec<double> sum, Vec<double> b, Vec<double> a) {
  return Vec<double>(vfmaq_laneq_f64(sum.raw, b.raw, a.raw, Lane));
}
// The compiler would move loads of later steps up until the sums no longer fit the registers.
#define TM_STEP_END asm volatile("" ::: "memory")
#else
#define TM_LANES 0
#define TM_STEP_END
#endif

// The sums of Rows × Vecs vectors.
template <class T, int Rows, int Vecs>
using Sums = Vec<T>[Rows][Vecs];

template <class T, int Rows, int Vecs>
HWY_INLINE void clear(Sums<T, Rows, Vecs>& sums) {
  TM_UNROLL for (int r = 0; r < Rows; ++r) {
    TM_UNROLL for (int v = 0; v < Vecs; ++v) sums[r][v] = hn::Zero(Tag<T>());
  }
}

template <class T, int Rows, int Vecs>
HWY_INLINE void load(Sums<T, Rows, Vecs>& sums, const T* from) {
  TM_UNROLL for (int r = 0; r < Rows; ++r) {
    TM_UNROLL for (int v = 0; v < Vecs; ++v) sums[r][v] =
        hn::LoadU(Tag<T>(), from + (r * Vecs + v) * lanes_of<T>);
  }
}

template <class T, int Rows, int Vecs>
HWY_INLINE void store(Sums<T, Rows, Vecs>& sums, T alpha, bool add, T* HWY_RESTRICT c, std::int64_t ld) {
  const Tag<T> d;
  if (alpha != T(1)) {
    const Vec<T> factor = hn::Set(d, alpha);
    TM_UNROLL for (int r = 0; r < Rows; ++r) {
      TM_UNROLL for (int v = 0; v < Vecs; ++v) sums[r][v] = hn::Mul(sums[r][v], factor);
    }
  }
  if (add) {
    TM_UNROLL for (int r = 0; r < Rows; ++r) {
      TM_UNROLL for (int v = 0; v < Vecs; ++v) {
        T* p = c + r * ld + v * lanes_of<T>;
        hn::StoreU(hn::Add(hn::LoadU(d, p), sums[r][v]), d, p);
      }
    }
  } else {
    TM_UNROLL for (int r = 0; r < Rows; ++r) {
      TM_UNROLL for (int v = 0; v < Vecs; ++v) hn::StoreU(sums[r][v], d, c + r * ld + v * lanes_of<T>);
    }
  }
}

// One step along k: sums += (block_rows values of a) (Vecs vectors of b).
template <class T, int Vecs>
HWY_INLINE void panel_step(Sums<T, block_rows, Vecs>& sums, const T* HWY_RESTRICT a,
                           const T* HWY_RESTRICT b) {
  const Tag<T> d;
  Vec<T> y[Vecs];
#if TM_LANES
  constexpr int in_vector = static_cast<int>(lanes_of<T>);
  Vec<T> x[block_rows / in_vector];
  TM_UNROLL for (int q = 0; q < block_rows / in_vector; ++q) x[q] = hn::LoadU(d, a + q * in_vector);
  TM_UNROLL for (int v = 0; v < Vecs; ++v) y[v] = hn::LoadU(d, b + v * lanes_of<T>);
  TM_UNROLL for (int v = 0; v < Vecs; ++v) {
    TM_UNROLL for (int q = 0; q < block_rows / in_vector; ++q) {
      auto& row = sums;
      row[q * in_vector][v] = add_lane<0>(row[q * in_vector][v], y[v], x[q]);
      row[q * in_vector + 1][v] = add_lane<1>(row[q * in_vector + 1][v], y[v], x[q]);
      if constexpr (in_vector == 4) {
        row[q * in_vector + 2][v] = add_lane<2>(row[q * in_vector + 2][v], y[v], x[q]);
        row[q * in_vector + 3][v] = add_lane<3>(row[q * in_vector + 3][v], y[v], x[q]);
      }
    }
  }
#else
  TM_UNROLL for (int v = 0; v < Vecs; ++v) y[v] = hn::LoadU(d, b + v * lanes_of<T>);
  TM_UNROLL for (int r = 0; r < block_rows; ++r) {
    const Vec<T> x = hn::Set(d, a[r]);
    TM_UNROLL for (int v = 0; v < Vecs; ++v) sums[r][v] = hn::MulAdd(x, y[v], sums[r][v]);
  }
#endif
  TM_STEP_END;
}

// a: block_rows values per step, a_step apart; b: Vecs vectors per step, b_step apart. The sums go on from
// `begun`, where store() left those of another piece of the depth, or from zero.
template <class T, int Vecs>
HWY_INLINE void from_panels(Sums<T, block_rows, Vecs>& sums, std::int64_t depth, const T* HWY_RESTRICT a,
                            std::int64_t a_step, const T* HWY_RESTRICT b, std::int64_t b_step,
                            const T* begun = nullptr) {
  std::int64_t l = 0;
#if TM_LANES
  if constexpr (std::is_same_v<T, float> && Vecs == 4) {
    if (a_step == 4 && b_step == 16 && depth >= 4) {
      Block4x16 raw;
      panels_4x16(depth / 4, a, b, begun, raw);
      TM_UNROLL for (int r = 0; r < 4; ++r) {
        TM_UNROLL for (int v = 0; v < 4; ++v) sums[r][v] = Vec<T>(raw[r][v]);
      }
      l = depth / 4 * 4;
      a += l * 4, b += l * 16;
    }
  }
#elif HWY_TARGET <= HWY_AVX3
  if constexpr (std::is_same_v<T, float> && Vecs == 3) {
    if (a_step == 8 && b_step == 48 && depth >= 4) {
      HWY_ALIGN float raw[8 * 48];
      if (begun) {
        std::copy_n(begun, 8 * 48, raw);
      } else {
        std::fill_n(raw, 8 * 48, 0.0f);
      }
      panels_8x48(depth / 4, a, b, raw);
      load<T, block_rows, Vecs>(sums, raw);
      l = depth / 4 * 4;
      a += l * 8, b += l * 48;
    }
  }
#endif
  if (l == 0 && begun) load<T, block_rows, Vecs>(sums, begun);
  if (l == 0 && !begun) clear<T, block_rows, Vecs>(sums);
  for (; l + 4 <= depth; l += 4) {
    TM_UNROLL for (int u = 0; u < 4; ++u) {
      panel_step<T, Vecs>(sums, a, b);
      a += a_step, b += b_step;
    }
  }
  for (; l < depth; ++l) {
    panel_step<T, Vecs>(sums, a, b);
    a += a_step, b += b_step;
  }
}

// Rows of a read where they lie.
template <class T, int Rows, int Vecs>
HWY_INLINE void from_rows(Sums<T, Rows, Vecs>& sums, std::int64_t depth, Matrix<const T> a,
                          const T* HWY_RESTRICT b, std::int64_t b_step) {
  const Tag<T> d;
  std::int64_t l = 0;
#if TM_LANES
  if constexpr (std::is_same_v<T, float> && Rows == 4 && Vecs == 4) {
    if (a.col == 1 && depth >= 4) {
      Block4x16 raw;
      rows_4x16(depth / 4, a.data, a.row, b, b_step, raw);
      TM_UNROLL for (int r = 0; r < 4; ++r) {
        TM_UNROLL for (int v = 0; v < 4; ++v) sums[r][v] = Vec<T>(raw[r][v]);
      }
      l = depth / 4 * 4;
      b += l * b_step;
    }
  }
#endif
  if (l == 0) clear<T, Rows, Vecs>(sums);
#if TM_LANES
  if (a.col == 1) {  // contiguous along k: some steps from one vector per row
    constexpr int in_vector = static_cast<int>(lanes_of<T>);
    for (; l + in_vector <= depth; l += in_vector) {
      Vec<T> x[Rows];
      TM_UNROLL for (int r = 0; r < Rows; ++r) x[r] = hn::LoadU(d, a.data + r * a.row + l);
      const auto step = [&]<int Lane>() HWY_ATTR {
        TM_UNROLL for (int v = 0; v < Vecs; ++v) {
          const Vec<T> y = hn::LoadU(d, b + v * lanes_of<T>);
          TM_UNROLL for (int r = 0; r < Rows; ++r) sums[r][v] = add_lane<Lane>(sums[r][v], y, x[r]);
        }
        b += b_step;
        TM_STEP_END;
      };
      step.template operator()<0>();
      step.template operator()<1>();
      if constexpr (in_vector == 4) {
        step.template operator()<2>();
        step.template operator()<3>();
      }
    }
  }
#endif
  for (; l < depth; ++l) {
    Vec<T> y[Vecs];
    TM_UNROLL for (int v = 0; v < Vecs; ++v) y[v] = hn::LoadU(d, b + v * lanes_of<T>);
    TM_UNROLL for (int r = 0; r < Rows; ++r) {
      const Vec<T> x = hn::Set(d, a.data[r * a.row + l * a.col]);
      TM_UNROLL for (int v = 0; v < Vecs; ++v) sums[r][v] = hn::MulAdd(x, y[v], sums[r][v]);
    }
    b += b_step;
  }
}

// Sums to the part of C that there is.
template <class T, int Rows, int Vecs>
HWY_INLINE void deliver(Sums<T, Rows, Vecs>& sums, std::int64_t rows, std::int64_t cols, T alpha, bool add,
                        T* c, std::int64_t ld) {
  if (rows == Rows && cols == Vecs * lanes_of<T>) {
    return store<T, Rows, Vecs>(sums, alpha, add, c, ld);
  }
  HWY_ALIGN T block[Rows * Vecs * lanes_of<T>];
  constexpr std::int64_t width = Vecs * lanes_of<T>;
  store<T, Rows, Vecs>(sums, alpha, false, block, width);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      T& out = c[i * ld + j];
      out = add ? out + block[i * width + j] : block[i * width + j];
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark::gemm
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
