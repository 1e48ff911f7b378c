// The normal quantile of many numbers at once. Each has the bits of normal_quantile (random.h), whatever its
// neighbours.
#pragma once
#include <cstdint>

namespace tidemark {

inline constexpr std::int64_t quantile_chunk = 512;

// x[i] = normal_quantile(p[i]) for i < n ≤ quantile_chunk.
void normal_quantiles(const double* p, std::int64_t n, double* x);

}  // namespace tidemark
