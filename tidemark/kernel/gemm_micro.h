// Register kernels, one set per instruction set: tiles of C from packed panels, or straight from strided memory.
#pragma once
#include "tidemark/kernel/gemm.h"

namespace tidemark::gemm {

template <class T>
struct Micro {
  Widths widths;
  // From panels of one depth, which lie one after another.
  void (*packed)(std::int64_t m, std::int64_t n, std::int64_t depth, T alpha, const T* a, const T* b,
                 bool add, T* c, std::int64_t ld);
  // From any strides; depth ≤ deepest.
  void (*strided)(std::int64_t m, std::int64_t n, std::int64_t depth, T alpha, Matrix<const T> a,
                  Matrix<const T> b, bool add, T* c, std::int64_t ld);
};

// That of the machine.
template <class T>
const Micro<T>& micro();

}  // namespace tidemark::gemm
