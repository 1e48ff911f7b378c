#include "tidemark/kernel/gemm_micro.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/kernel/gemm_micro.cc"
#include <hwy/foreach_target.h>  // first: compiles the rest once per target

#include "tidemark/kernel/gemm_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark::gemm {
namespace HWY_NAMESPACE {
namespace {

// Calls f with as many vectors as `cols` columns need.
template <class T, class F>
HWY_INLINE void with_vectors(std::int64_t cols, const F& f) {
  if (cols > (block_vectors - 1) * lanes_of<T>) return f.template operator()<block_vectors>();
  if (cols <= lanes_of<T>) return f.template operator()<1>();
  if (cols <= 2 * lanes_of<T>) return f.template operator()<2>();
  if constexpr (block_vectors > 3) f.template operator()<3>();
}
// Rows of a that are read where they lie: as many as give enough sums at once even with one vector of
// columns.
constexpr std::int64_t direct_rows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

// Calls f with the number of rows, from 1 to direct_rows.
template <int Rows = 1, class F>
HWY_INLINE void with_rows(std::int64_t rows, const F& f) {
  if constexpr (Rows == direct_rows) {
    f.template operator()<Rows>();
  } else {
    rows == Rows ? f.template operator()<Rows>() : with_rows<Rows + 1>(rows, f);
  }
}

template <class T>
void packed(std::int64_t m, std::int64_t n, std::int64_t depth, T alpha, const T* a, const T* b, bool add,
            T* c, std::int64_t ld) {
  constexpr std::int64_t width = block_columns<T>;
  for (std::int64_t j = 0; j < n; j += width) {
    const std::int64_t cols = std::min(width, n - j);
    with_vectors<T>(cols, [&]<int Vecs>() HWY_ATTR {
      for (std::int64_t i = 0; i < m; i += block_rows) {
        // What the sums go to is fetched while they are computed.
        TM_UNROLL for (int r = 0; r < block_rows; ++r)
            __builtin_prefetch(c + std::min(i + r, m - 1) * ld + j, 1, 2);
        Sums<T, block_rows, Vecs> sums;
        from_panels<T, Vecs>(sums, depth, a + i * depth, block_rows, b + j * depth, width);
        deliver<T, block_rows, Vecs>(sums, std::min<std::int64_t>(block_rows, m - i), cols, alpha, add,
                                     c + i * ld + j, ld);
      }
    });
  }
}

// Columns of b that are not contiguous, or end within a vector, are copied into a panel first.
template <class T>
const T* columns(Matrix<const T> b, std::int64_t depth, std::int64_t cols, T* panel, std::int64_t& step) {
  constexpr std::int64_t width = block_columns<T>;
  if (b.col == 1 && cols % lanes_of<T> == 0) {
    step = b.row;
    return b.data;
  }
  step = width;
  const std::int64_t padded = (cols + lanes_of<T> - 1) / lanes_of<T> * lanes_of<T>;
  pack_rows(b.data, b.col, b.row, cols, depth, width, panel);
  for (std::int64_t l = 0; l < depth && cols < padded; ++l) {
    std::fill(panel + l * width + cols, panel + l * width + padded, T(0));
  }
  return panel;
}

template <class T>
void strided(std::int64_t m, std::int64_t n, std::int64_t depth, T alpha, Matrix<const T> a,
             Matrix<const T> b, bool add, T* c, std::int64_t ld) {
  constexpr std::int64_t width = block_columns<T>;
  HWY_ALIGN T panel[deepest * width];
  const bool rows_contiguous = a.row == 1 && a.col != 1;
  for (std::int64_t j = 0; j < n; j += width) {
    const std::int64_t cols = std::min(width, n - j);
    std::int64_t step = width;
    const T* right = columns<T>(b.at(0, j), depth, cols, panel, step);
    with_vectors<T>(cols, [&]<int Vecs>() HWY_ATTR {
      std::int64_t i = 0;
      if (rows_contiguous) {
        for (; i + block_rows <= m; i += block_rows) {
          Sums<T, block_rows, Vecs> sums;
          from_panels<T, Vecs>(sums, depth, a.data + i, a.col, right, step);
          deliver<T, block_rows, Vecs>(sums, block_rows, cols, alpha, add, c + i * ld + j, ld);
        }
      }
      for (; i < m; i += direct_rows) {
        with_rows(std::min(direct_rows, m - i), [&]<int Rows>() HWY_ATTR {
          Sums<T, Rows, Vecs> sums;
          from_rows<T, Rows, Vecs>(sums, depth, a.at(i, 0), right, step);
          deliver<T, Rows, Vecs>(sums, Rows, cols, alpha, add, c + i * ld + j, ld);
        });
      }
    });
  }
}

// Panels of `rows` rows of w that may lie side by side, step after step.
template <class T>
void copy_strip(Matrix<const T> w, std::int64_t rows, std::int64_t steps, T* panels) {
  constexpr std::int64_t width = block_columns<T>;
  if (w.row == 1 && rows == thin_blocks * width) {
    for (std::int64_t l = 0; l < steps; ++l) {
      const T* from = w.data + l * w.col;
      TM_UNROLL for (int t = 0; t < thin_blocks; ++t) {
        TM_UNROLL for (int v = 0; v < block_vectors; ++v) {
          hn::StoreU(hn::LoadU(Tag<T>(), from + t * width + v * lanes_of<T>), Tag<T>(),
                     panels + (t * steps + l) * width + v * lanes_of<T>);
        }
      }
    }
    return;
  }
  for (std::int64_t t = 0; t < rows; t += width) {
    const std::int64_t cols = std::min(width, rows - t);
    T* panel = panels + t * steps;
    pack_rows(w.data + t * w.row, w.row, w.col, cols, steps, width, panel);
    for (std::int64_t l = 0; l < steps && cols < width; ++l)
      std::fill(panel + l * width + cols, panel + (l + 1) * width, T(0));
  }
}

// A block to the part of c that there is, whichever of its strides is 1. `Turned`: the block's rows are
// columns of c.
template <class T, int Rows, int Vecs, bool Turned>
HWY_INLINE void deliver_to(Sums<T, Rows, Vecs>& sums, std::int64_t rows, std::int64_t cols, T alpha, bool add,
                           Matrix<T> c) {
  const std::int64_t row = Turned ? c.col : c.row, col = Turned ? c.row : c.col;
  if (col == 1) return deliver<T, Rows, Vecs>(sums, rows, cols, alpha, add, c.data, row);
  HWY_ALIGN T block[Rows * Vecs * lanes_of<T>];
  constexpr std::int64_t width = Vecs * lanes_of<T>;
  store<T, Rows, Vecs>(sums, alpha, false, block, width);
  for (std::int64_t j = 0; j < cols; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      T& out = c.data[i * row + j * col];
      out = add ? out + block[i * width + j] : block[i * width + j];
    }
  }
}

// The depth of w is contiguous: rows of w are the block's rows, x its columns.
template <class T>
void thin_along(std::int64_t many, std::int64_t few, std::int64_t depth, T alpha, Matrix<const T> w,
                const T* x, bool add, Matrix<T> c) {
  constexpr std::int64_t width = block_columns<T>, line = 64 / sizeof(T), lines = 4;
  for (std::int64_t i = 0; i < many; i += direct_rows) {
    // The hardware follows rows that it has seen begin.
    for (std::int64_t r = i + direct_rows; r < std::min(i + 2 * direct_rows, many); ++r) {
      TM_UNROLL for (int q = 0; q < lines; ++q)
          __builtin_prefetch(w.data + r * w.row + std::min(q * line, depth - 1), 0, 3);
    }
    for (std::int64_t j = 0; j < few; j += width) {
      const std::int64_t cols = std::min(width, few - j);
      with_vectors<T>(cols, [&]<int Vecs>() HWY_ATTR {
        with_rows(std::min(direct_rows, many - i), [&]<int Rows>() HWY_ATTR {
          Sums<T, Rows, Vecs> sums;
          from_rows<T, Rows, Vecs>(sums, depth, w.at(i, 0), x + j * depth, width);
          deliver_to<T, Rows, Vecs, false>(sums, Rows, cols, alpha, add, c.at(i, j));
        });
      });
    }
  }
}

// Rows of w lie side by side: they are the block's columns, x its rows. Some of them and of the depth are
// copied into panels that stay in the nearest cache: at the usual distances the lines of w themselves drive
// each other out of it, and each step of a narrower strip would be on another page. The chains of sums go on
// from piece to piece.
template <class T>
void thin_across(std::int64_t many, std::int64_t few, std::int64_t depth, T alpha, Matrix<const T> w,
                 const T* x, bool add, Matrix<T> c) {
  constexpr std::int64_t width = block_columns<T>, strip = thin_blocks * width;
  constexpr std::int64_t piece = std::max<std::int64_t>(64, 8192 / strip / 4 * 4);
  HWY_ALIGN T panels[strip * piece];
  HWY_ALIGN T chains[most_few * strip];
  for (std::int64_t i = 0; i < many; i += strip) {
    const std::int64_t rows = std::min(strip, many - i);
    for (std::int64_t l = 0; l < depth || l == 0; l += piece) {
      const std::int64_t steps = std::min(piece, depth - l);
      const bool first = l == 0, last = l + piece >= depth;
      copy_strip<T>(w.at(i, l), rows, steps, panels);
      for (std::int64_t t = 0; t < rows; t += width) {
        const std::int64_t cols = std::min(width, rows - t);
        with_vectors<T>(cols, [&]<int Vecs>() HWY_ATTR {
          for (std::int64_t j = 0; j < few; j += block_rows) {
            T* chain = chains + j * strip + t * block_rows;
            Sums<T, block_rows, Vecs> sums;
            from_panels<T, Vecs>(sums, steps, x + j * depth + l * block_rows, block_rows, panels + t * steps,
                                 width, first ? nullptr : chain);
            if (last) {
              deliver_to<T, block_rows, Vecs, true>(sums, std::min<std::int64_t>(block_rows, few - j), cols,
                                                    alpha, add, c.at(i + t, j));
            } else {
              store<T, block_rows, Vecs>(sums, T(1), false, chain, Vecs * lanes_of<T>);
            }
          }
        });
      }
    }
  }
}

const Micro<float>* micro_f32() {
  static constexpr Micro<float> table = {{block_rows, block_columns<float>},
                                         packed<float>,
                                         strided<float>,
                                         thin_along<float>,
                                         thin_across<float>};
  return &table;
}
const Micro<double>* micro_f64() {
  static constexpr Micro<double> table = {{block_rows, block_columns<double>},
                                          packed<double>,
                                          strided<double>,
                                          thin_along<double>,
                                          thin_across<double>};
  return &table;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark::gemm
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark::gemm {
namespace {
HWY_EXPORT(micro_f32);
HWY_EXPORT(micro_f64);
}  // namespace

template <>
const Micro<float>& micro<float>() {
  return *HWY_DYNAMIC_DISPATCH(micro_f32)();
}
template <>
const Micro<double>& micro<double>() {
  return *HWY_DYNAMIC_DISPATCH(micro_f64)();
}

}  // namespace tidemark::gemm
#endif
