// Register kernels, one set per instruction set: blocks of C from packed panels, or straight from strided
// memory.
#pragma once
#include "tidemark/kernel/gemm.h"

namespace tidemark::gemm {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Rows of the small operand of a thin product (gemm_thin.h).
inline constexpr std::int64_t most_few = 32;
// Blocks of the large one that are best computed together.
inline constexpr int thin_blocks = 4;

template <class T>
struct Micro {
  Widths widths;
  // From panels of one depth, which lie one after another.
  void (*packed)(std::int64_t m, std::int64_t n, std::int64_t depth, T alpha, const T* a, const T* b,
                 bool add, T* c, std::int64_t ld);
  // From any strides; depth ≤ deepest.
  void (*strided)(std::int64_t m, std::int64_t n, std::int64_t depth, T alpha, Matrix<const T> a,
                  Matrix<const T> b, bool add, T* c, std::int64_t ld);
  // Many rows of w, each read once where it lies, against panels of few rows of x: element (i, j) of c
  // becomes alpha w_i x_j (+ c); depth ≤ deepest. `along`: panels of widths.b, for a contiguous depth (w.col
  // is 1). `across`: panels of widths.a, for any w.
  using Thin = void(std::int64_t many, std::int64_t few, std::int64_t depth, T alpha, Matrix<const T> w,
                    const T* x, bool add, Matrix<T> c);
  Thin *thin_along = nullptr, *thin_across = nullptr;
};

// That of the machine.
template <class T>
const Micro<T>& micro();

}  // namespace tidemark::gemm
