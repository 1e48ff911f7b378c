// Products of sizes and attributes that come from a file and may be absurd. Type rules compute with these
// first and find the result too large afterwards; a plain product would overflow before anyone could look.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tidemark {

inline constexpr std::int64_t product_bound = std::int64_t{1} << 60;

// a·b cut off at ±2^60, which leaves room to add a few sizes.
constexpr std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return (a < 0) == (b < 0) ? product_bound : -product_bound;
  return std::clamp(product, -product_bound, product_bound);
}

}  // namespace tidemark
