// How a transform is computed: by its length alone, so that bits depend neither on how many there are nor on
// threads.
//
// A length whose prime factors are small is cut into stages of radix 8, 4, 2, 3, 5 … (Stockham's form, which
// needs no reordering). Many transforms go at once, one per lane of a vector. Where the length is a
// product of two large factors, the lanes are columns of one transform instead: rows·columns numbers as a
// matrix, transforms of its columns, products with roots, transforms of its rows (Bailey's four steps).
// Any other length is a convolution with a chirp, by transforms of a longer, smooth length (Bluestein).
#pragma once
#include <cstdint>

#include "tidemark/base/bytes.h"
#include "tidemark/ir/op.h"
#include "tidemark/ops/fourier/roots_of_unity.h"

namespace tidemark {

inline constexpr int largest_radix = 31;
inline constexpr std::int64_t shortest_side = 16;  // of a transform that is made of rows and columns

// The stages of one smooth length; more than 64 would not fit in an integer.
struct Radices {
  explicit Radices(std::int64_t n);
  std::int64_t length = 1;
  int count = 0;
  std::int8_t radix[64];
};

// Complex numbers of the smooth transform: `rows` · `columns`; one row where it is not cut.
struct TransformLength {
  explicit TransformLength(std::int64_t n);
  std::int64_t points;         // n
  bool chirp;                  // by convolution
  std::int64_t size;           // of the smooth transform: n itself, or at least 2n - 1
  std::int64_t rows, columns;  // of `size`
  bool cut() const { return rows > 1; }
  std::int64_t side() const { return rows > columns ? rows : columns; }  // the longest that lanes take
};

enum class TransformKind { complex, real_to_half, half_to_real };

// What a kernel knows of its call before it runs.
struct TransformForm {
  TransformForm(TransformKind kind, std::int64_t axis, std::int64_t length, bool swap, double scale,
                double inner);

  // The points come, or go, as pairs of numbers that stand in the tensor: real and imaginary parts, or
  // neighbours that are packed.
  bool pairs_in() const {
    return kind == TransformKind::complex || (kind == TransformKind::real_to_half && packed);
  }
  bool pairs_out() const {
    return kind == TransformKind::complex || (kind == TransformKind::half_to_real && packed);
  }

  TransformKind kind;
  int axis;
  std::int64_t length;  // n, of the real side or of both
  bool swap;  // real and imaginary parts change places on the way in and out: the sign of the exponent
  double scale, inner;
  bool packed;         // n real numbers as n/2 complex ones
  TransformLength by;  // of the complex transform: n, or half of it
  Radices row_stages, column_stages;
  RootsOfUnity roots, chirp_roots, real_roots;
};

TransformForm fft_form(const Call& call);
TransformForm rfft_form(const Call& call);
TransformForm irfft_form(const Call& call);

// n real numbers make n/2 complex ones if n is even.
inline std::int64_t complex_points(TransformKind kind, std::int64_t length) {
  return kind != TransformKind::complex && length % 2 == 0 ? length / 2 : length;
}

// How scratch is cut. Lanes are as many as a vector of 64 bytes has, whatever the machine's are.
template <class T>
struct TransformScratch {
  static constexpr std::int64_t lanes = 64 / static_cast<std::int64_t>(sizeof(T));
  static constexpr std::int64_t most_tasks = 16;          // at once
  static constexpr std::int64_t whole_numbers = 1 << 15;  // that cut transforms hold at once

  TransformScratch(const TransformLength& by, bool packed, std::int64_t transforms, std::byte* at) : at_(at) {
    row_roots = take(2 * by.columns);  // of transforms of rows, which have `columns` numbers
    column_roots = take(by.cut() ? 2 * by.rows : 0);
    twiddles = take(by.cut() ? 2 * by.size : 0);
    chirp = take(by.chirp ? 2 * by.points : 0);
    spectrum = take(by.chirp ? 2 * by.size : 0);
    real_roots = take(packed ? by.points + 2 : 0);  // half of the points, and one
    at_once = by.cut() ? max(1, min(transforms, whole_numbers / by.size)) : 0;
    whole = take(4 * by.size * at_once);
    const std::int64_t groups =
        by.cut() ? at_once * ((by.side() + lanes - 1) / lanes) : (transforms + lanes - 1) / lanes;
    tasks = max(1, min(most_tasks, groups));
    task_elements = 2 * 2 * lanes * by.side();
    working = take(tasks * task_elements);
  }

  T *row_roots, *column_roots;  // pairs
  T* twiddles;                  // real parts of the whole matrix, then imaginary parts
  T *chirp, *spectrum;          // pairs; real parts, then imaginary parts
  T* real_roots;                // pairs
  T* whole;    // per transform: real parts, imaginary parts, and twice more for the turned matrix
  T* working;  // two buffers per task
  std::int64_t at_once, tasks, task_elements, bytes = 0;

 private:
  static std::int64_t min(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
  static std::int64_t max(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
  T* take(std::int64_t elements) {
    std::byte* piece = at_ ? at_ + bytes : nullptr;
    bytes += align_up(elements * static_cast<std::int64_t>(sizeof(T)), buffer_alignment);
    return reinterpret_cast<T*>(piece);
  }
  std::byte* at_;
};

}  // namespace tidemark
