// Constant data for tests, and equality by bits in which any NaN equals any other.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tidemark/base/attrs.h"

namespace tidemark {

template <class T>
Literal literal_from(const Shape& shape, const std::vector<T>& elements) {
  Literal literal{.dtype = dtype_of<T>, .shape = shape, .bytes = {}};
  for (const T element : elements) {
    std::byte raw[sizeof(T)];
    std::memcpy(raw, &element, sizeof(T));
    literal.bytes.insert(literal.bytes.end(), raw, raw + sizeof(T));
  }
  return literal;
}

inline testing::AssertionResult same_bits(const Literal& a, const Literal& b) {
  if (a.dtype != b.dtype || a.shape != b.shape || a.bytes.size() != b.bytes.size()) {
    return testing::AssertionFailure() << "the types differ";
  }
  return dispatch(a.dtype, [&]<class T>() -> testing::AssertionResult {
    for (std::size_t at = 0; at < a.bytes.size(); at += sizeof(T)) {
      if (std::memcmp(a.bytes.data() + at, b.bytes.data() + at, sizeof(T)) == 0) continue;
      T x, y;
      std::memcpy(&x, a.bytes.data() + at, sizeof(T));
      std::memcpy(&y, b.bytes.data() + at, sizeof(T));
      if constexpr (!std::is_integral_v<T>) {
        using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
        const Wide u = static_cast<Wide>(x), v = static_cast<Wide>(y);
        if (u != u && v != v) continue;
        return testing::AssertionFailure() << "element " << at / sizeof(T) << ": " << u << " and " << v;
      } else {
        return testing::AssertionFailure() << "element " << at / sizeof(T) << ": " << +x << " and " << +y;
      }
    }
    return testing::AssertionSuccess();
  });
}

inline testing::AssertionResult same_bits(const std::vector<Literal>& a, const std::vector<Literal>& b) {
  if (a.size() != b.size())
    return testing::AssertionFailure() << a.size() << " and " << b.size() << " results";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (testing::AssertionResult same = same_bits(a[i], b[i]); !same) return same << " in result " << i;
  }
  return testing::AssertionSuccess();
}

}  // namespace tidemark
