// The vector loops under reductions. A block of up to 1024 elements is folded in 16 lanes: element k goes to
// lane k mod 16, lanes are then folded in halves (l with l + 8, l + 4, …). The same lanes whatever the vector
// width, and whether elements lie side by side or in rows, so a layout or a machine does not change the bits.
#pragma once
#include <cstdint>

#include "tidemark/kernel/fold.h"

namespace tidemark {

// n ≤ fold_block elements that lie side by side. C: float, double or int64.
template <class C>
C fold_run(Fold fold, const C* x, std::int64_t n);

// to[i] = fold(to[i], row[i])
template <class C>
void fold_row(Fold fold, C* to, const C* row, std::int64_t n);

// 16-bit floats to f32.
void widen_row(const BFloat16* from, float* to, std::int64_t n);
void widen_row(const Float16* from, float* to, std::int64_t n);

// x[i] ← e^x[i]
void exp_row(float* x, std::int64_t n);
void exp_row(double* x, std::int64_t n);

}  // namespace tidemark
