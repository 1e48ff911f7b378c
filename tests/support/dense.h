// Dense test data: literals drawn from a fixed generator or read back as doubles, and one op run on them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tidemark/base/philox.h"
#include "tidemark/cpu/interpret.h"

namespace tidemark::testing {

inline Literal literal_from(DType dtype, const Shape& shape, const std::vector<double>& values) {
  TM_CHECK(static_cast<std::int64_t>(values.size()) == element_count(shape));
  Literal literal{.dtype = dtype, .shape = shape, .bytes = {}};
  literal.bytes.resize(values.size() * static_cast<std::size_t>(size_of(dtype)));
  dispatch(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      if constexpr (sizeof(T) == 2) {
        element = T(static_cast<float>(values[i]));
      } else {
        element = static_cast<T>(values[i]);
      }
      std::memcpy(literal.bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return literal;
}

inline std::vector<double> doubles_of(const Literal& literal) {
  std::vector<double> values(static_cast<std::size_t>(element_count(literal.shape)));
  dispatch(literal.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, literal.bytes.data() + i * sizeof(T), sizeof(T));
      if constexpr (sizeof(T) == 2) {
        values[i] = static_cast<float>(element);
      } else {
        values[i] = static_cast<double>(element);
      }
    }
  });
  return values;
}

// Uniform in [low, high), rounded to whole numbers for integers.
inline Literal random_literal(DType dtype, const Shape& shape, std::uint64_t seed, double low = -1,
                              double high = 1) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto words = Philox{seed}(i);
    values[i] = low + (high - low) * unit_double(words[0], words[1]);
    if (!is_float(dtype)) values[i] = static_cast<double>(static_cast<std::int64_t>(values[i]));
  }
  return literal_from(dtype, shape, values);
}

inline Literal run_op(const Op& op, const std::vector<Literal>& operands, const Attrs& attrs, int threads = 1,
                      std::size_t result = 0) {
  ThreadPool pool(threads);
  return interpret(op, operands, attrs, pool)[result];
}

// The largest difference relative to max(1, |expected|).
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  TM_CHECK(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i]));
    if (!(d <= most)) most = d;
  }
  return most;
}

}  // namespace tidemark::testing
