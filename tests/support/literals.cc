#include "tests/support/literals.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "tidemark/base/philox.h"

namespace tidemark::testing {

Literal literal_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  TM_CHECK(static_cast<std::int64_t>(values.size()) == element_count(shape));
  Literal literal{dtype, shape,
                  std::vector<std::byte>(values.size() * static_cast<std::size_t>(size_of(dtype)))};
  dispatch(dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
        element = T(static_cast<float>(values[i]));
      } else {
        element = static_cast<T>(values[i]);
      }
      std::memcpy(literal.bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return literal;
}

std::vector<double> values_of(const Literal& literal) {
  std::vector<double> values(static_cast<std::size_t>(element_count(literal.shape)));
  dispatch(literal.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, literal.bytes.data() + i * sizeof(T), sizeof(T));
      if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
        values[i] = static_cast<double>(static_cast<float>(element));
      } else {
        values[i] = static_cast<double>(element);
      }
    }
  });
  return values;
}

Literal draw(const Sample::Operand& operand, std::uint64_t seed) {
  const Philox random{seed};
  std::vector<double> values(static_cast<std::size_t>(operand.type.count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto words = random(i);
    const double unit = unit_double(words[0], words[1]);
    double value = operand.low + (operand.high - operand.low) * unit;
    if (operand.type.dtype == DType::boolean) {
      value = words[2] & 1u;
    } else if (is_integer(operand.type.dtype)) {
      value = std::floor(operand.low + (operand.high - operand.low + 1) * unit);
      if (operand.type.dtype == DType::u8) value = std::abs(value);
    }
    if (operand.nonzero && std::abs(value) < 0.25) value = value < 0 ? value - 0.5 : value + 0.5;
    if (operand.nonzero && is_integer(operand.type.dtype))
      value = value < 0 ? std::floor(value) : std::ceil(value);
    values[i] = value;
  }
  if (operand.diagonal != 0 && operand.type.count() > 0) {
    const auto n = static_cast<std::size_t>(operand.type.shape.back());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i / n % n == i % n) values[i] += operand.diagonal;
    }
  }
  return literal_of(operand.type.dtype, operand.type.shape, values);
}

Literal draw(const Type& type, double low, double high, std::uint64_t seed) {
  return draw(Sample::Operand{.type = type, .low = low, .high = high}, seed);
}

bool same_bits(const Literal& a, const Literal& b) { return a == b; }

std::string bit_difference(const Literal& a, const Literal& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return "the types differ";
  if (a.bytes == b.bytes) return "";
  const auto size = static_cast<std::size_t>(size_of(a.dtype));
  for (std::size_t i = 0; i < a.bytes.size(); i += size) {
    if (std::memcmp(&a.bytes[i], &b.bytes[i], size) == 0) continue;
    return fmt::format("element {} is {} and {}", i / size, values_of(a)[i / size], values_of(b)[i / size]);
  }
  return "";
}

}  // namespace tidemark::testing
