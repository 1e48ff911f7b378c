// Products with few rows on one side and much on the other, as the steps of a recurrent network or of
// generating text are: the large operand is read once, where it lies, instead of being copied into panels at
// every call.
#pragma once
#include "tidemark/kernel/gemm.h"

namespace tidemark::gemm {

// By the sizes alone: is one of m and n small beside the other? m and n are above 1.
bool is_thin(const Sizes& sizes);

// Panels of the small operand.
template <class T>
std::int64_t thin_scratch_bytes(const Sizes& sizes);

// Both sources are memory that is read as it lies.
template <class T>
void run_thin(ThreadPool& pool, const Product<T>& product, std::byte* scratch);

}  // namespace tidemark::gemm
