// Rows made orthonormal, by classical Gram-Schmidt done twice (Giraud, Langou, Rozložník and van den Eshof
// 2005): each row loses what it has along those before it, and becomes zero where nothing but rounding is
// left.
#pragma once
#include <cstdint>

#include "tidemark/base/parallel.h"

namespace tidemark {

// `partial`: memory for orthonormal_partials(rows, length) numbers.
template <class T>
void orthonormal_rows(ThreadPool& pool, T* matrix, std::int64_t rows, std::int64_t length, double* partial);
std::int64_t orthonormal_partials(std::int64_t rows, std::int64_t length);

}  // namespace tidemark
