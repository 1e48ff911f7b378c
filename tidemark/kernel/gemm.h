// Matrix products C = alpha A B (+ C) in blocks: panels of A and B are packed by their sources into shared
// scratch, blocks of C are computed from them by register kernels, and a finished block is handed to an
// epilogue while it is in the cache.
//
//      n chunk ─────────────►                 one phase: pack the chunk's panels of A and B (tasks), then
//    m ┌───────┬───────┬────┐                 compute its blocks (tasks); k is cut into blocks of depth_block(k)
//  chunk│ block│ block │    │
//      ▼├──────┼───────┼────┤                 kernels allocate nothing: scratch_bytes() says what run() needs
//       └──────┴───────┴────┘
//
// Bits. An element of C is Σ over blocks of k, in order, of alpha · (one chain of fused multiply-adds along
// the block, in order, from zero), added to what was there first (beta = 1). Nothing else shows: not blocks
// of C, edges, threads, strides, transposes, batches, nor which of the paths below computes it. (Targets
// without fused multiply-add round twice.) One rule by the sizes: run() with m = 1 or n = 1 sums a block in
// four lanes (gemm_vector.h), at the memory's speed.
#pragma once
#include <cstdint>

#include "tidemark/base/bytes.h"
#include "tidemark/base/dtype.h"
#include "tidemark/base/parallel.h"
#include "tidemark/base/shape.h"

namespace tidemark::gemm {

// The length of the blocks that k is cut into: a function of k alone, at most `deepest`, a multiple of 8
// unless k is less.
inline constexpr std::int64_t deepest = 512;
constexpr std::int64_t depth_block(std::int64_t k) {
  const std::int64_t blocks = (k + deepest - 1) / deepest;
  if (blocks <= 1) return k;
  return ((k + blocks - 1) / blocks + 7) / 8 * 8;
}

// --- Sources: where panels come from
// ---------------------------------------------------------------------------------

// A part of an operand, to be packed. `first` and `count` are rows of A, or columns of B; k0 and depth the
// inner dimension.
struct Part {
  std::int64_t batch = 0;
  std::int64_t first = 0, count = 0;
  std::int64_t k0 = 0, depth = 0;
  std::int64_t width = 0;  // of a panel: the register kernel's rows (A) or columns (B)
};

// An operand is what packs its panels. Panel p holds rows (columns) first + p·width …: its element for row
// first + p·width + i and depth k0 + l goes to panels[(p·depth + l)·width + i]; places past `count` in the
// last panel must become zero. Called from several threads at once, for different parts.
struct Strided;
template <class T>
struct Source {
  void (*pack)(const void* self, const Part& part, T* panels) = nullptr;
  const void* self = nullptr;
  const Strided* plain = nullptr;  // where the operand is memory that small products can read as it lies
};

// Dimensions that together form one axis, outermost first, with their strides in elements. Empty: one
// element.
struct Axes {
  Dims size, stride;
  std::int64_t count() const { return element_count(size); }
  std::int64_t offset(std::int64_t index) const { return offset_at(size, stride, index); }
  std::int64_t inner_stride() const { return size.empty() ? 1 : stride.back(); }
};

// An operand in memory with any strides, also of 16-bit floats (f64 only for T = double): views and
// transposes cost nothing extra. `outer` runs along the rows of A or the columns of B.
struct Strided {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  Axes outer = {}, depth = {}, batch = {};
};
// `strided` must outlive the source.
template <class T>
Source<T> source_of(const Strided& strided);

// Packs `count` ≤ width rows with the given strides into one panel (or into the part of a panel that starts
// at `panel`); lanes from `count` on are left alone. For sources that gather their rows from several places.
template <class T>
void pack_rows(const T* from, std::int64_t row_stride, std::int64_t depth_stride, std::int64_t count,
               std::int64_t depth, std::int64_t width, T* panel);

// --- The product
// -----------------------------------------------------------------------------------------------------

// A finished piece of C. `data` may be changed; element (row + i, col + j) is data[i * ld + j].
template <class T>
struct Finished {
  std::int64_t batch = 0;
  std::int64_t row = 0, rows = 0, col = 0, cols = 0;
  T* data = nullptr;
  std::int64_t ld = 0;
};
// Called once on every element of C, in pieces, from several threads at once.
template <class T>
struct Epilogue {
  void (*finish)(const void* self, const Finished<T>& piece) = nullptr;
  const void* self = nullptr;
};

struct Sizes {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 1;
};

template <class T>
struct Micro;  // register kernels: gemm_micro.h
template <class T>
struct Product {
  Sizes sizes = {};
  Source<T> a = {}, b = {};
  T* c = nullptr;  // nullptr: C only exists in scratch, piece by piece, and the epilogue takes it from there
  std::int64_t ld = 0;  // between rows of C; its columns are contiguous
  Axes c_batch = {};    // offsets of C by batch
  T alpha = 1;
  bool add = false;  // C += instead of C =; then c is not nullptr
  Epilogue<T> epilogue = {};
  const Micro<T>* kernels =
      nullptr;  // nullptr: the machine's for T; others see panels of the sources' making
};

// Scratch for run(), by the sizes alone. `staged`: c is nullptr. `plain`: both sources are source_of(strided)
// of T with one stride per axis, so that small products are computed without packing, and thin ones
// (gemm_thin.h) with little.
template <class T>
std::int64_t scratch_bytes(const Sizes& sizes, bool staged = false, bool plain = false);

template <class T>
void run(ThreadPool& pool, const Product<T>& product, std::byte* scratch);

// --- On one thread, for blocks in the cache
// --------------------------------------------------------------------------

// A strided matrix: element (i, j) is data[i * row + j * col].
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t row = 0, col = 1;
  Matrix at(std::int64_t i, std::int64_t j) const { return {data + i * row + j * col, row, col}; }
};

// C = alpha A B (+ C) straight from any strides, for small or thin blocks: no scratch.
template <class T>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a, Matrix<const T> b,
              bool add, T* c, std::int64_t ld);

// The panels' widths on this machine, and no machine's is wider than these.
struct Widths {
  std::int64_t a = 0, b = 0;
};
template <class T>
Widths widths();
inline constexpr Widths widest{8, 48};

// Elements that the panels of `count` rows or columns take.
constexpr std::int64_t panel_elements(std::int64_t count, std::int64_t depth, std::int64_t width) {
  return (count + width - 1) / width * width * depth;
}

// C = alpha A B (+ C) from packed panels of `depth` ≤ deepest: for callers that pack a block once and use it
// often.
template <class T>
void multiply_packed(std::int64_t m, std::int64_t n, std::int64_t depth, T alpha, const T* a_panels,
                     const T* b_panels, bool add, T* c, std::int64_t ld);

}  // namespace tidemark::gemm
