// Products of two bf16 operands by the machine's own bf16 instructions (Arm: BFMMLA), at twice the rate of
// f32 and more.
//
// Bits. As in gemm.h, an element's sum depends on k alone, with blocks of k twice as long. Within a block
// four steps are taken at a time, as acc + (a₀b₀ + a₁b₁), then + (a₂b₂ + a₃b₃): products are exact, each of
// the two sums rounds to odd and flushes subnormals, operands included, to zero. So |error| ≤ (k/2 + blocks +
// 2) 2⁻²³ Σ|ab| + k 2⁻¹²⁶: that of a chain of f32 sums. A machine without the instructions widens to f32
// (gemm.h), with the same bound and other bits.
#pragma once
#include "tidemark/kernel/gemm.h"

namespace tidemark::gemm {

// Does this machine have them?
bool multiplies_bf16();

// As run(), where both operands are bf16, m and n above 1, and the machine multiplies_bf16(); the product's
// sources are not read.
void run_bf16(ThreadPool& pool, Product<float> product, const Strided& a, const Strided& b,
              std::byte* scratch);

// Scratch for run_bf16().
std::int64_t scratch_bytes_bf16(const Sizes& sizes, bool staged = false);

}  // namespace tidemark::gemm
