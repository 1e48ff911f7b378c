// Literals as test data: made from numbers or drawn from seeds, read back, compared by bits or within a
// tolerance.
#pragma once
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/attrs.h"
#include "tidemark/ir/op.h"

namespace tidemark::testing {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr DType every_dtype[] = {DType::f32, DType::f64, DType::bf16, DType::f16,
                                        DType::i32, DType::i64, DType::u8,   DType::boolean};
inline constexpr std::span<const DType> number_dtypes{every_dtype, 7};  // all but bool

// From numbers, rounded to the dtype; and back.
Literal literal_of(DType dtype, const Shape& shape, const std::vector<double>& values);
std::vector<double> values_of(const Literal& literal);

// From elements of the dtype itself, bit for bit; and back.
template <class T>
Literal literal_of(const Shape& shape, const std::vector<T>& elements) {
  TM_CHECK(static_cast<std::int64_t>(elements.size()) == element_count(shape));
  Literal literal{dtype_of<T>, shape, std::vector<std::byte>(elements.size() * sizeof(T))};
  std::byte* to = literal.bytes.data();
  for (const T element : elements) {
    std::memcpy(to, &element, sizeof(T));
    to += sizeof(T);
  }
  return literal;
}
template <class T>
std::vector<T> values_of(const Literal& literal) {
  TM_CHECK(literal.dtype == dtype_of<T>);
  std::vector<T> values(literal.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), literal.bytes.data(), literal.bytes.size());
  return values;
}

// Values of the operand's range, a pure function of the seed. Integers are drawn from [low, high] as whole
// numbers.
Literal draw(const Sample::Operand& operand, std::uint64_t seed);
// Uniform in [low, high), a pure function of the seed; cut to whole numbers for integers.
Literal random_literal(DType dtype, const Shape& shape, std::uint64_t seed = 1, double low = -1,
                       double high = 1);
// Values of a small cycle: whole numbers between -4 and 4 (0 to 8 for u8, 0 and 1 for bool), exact in every
// dtype.
Literal counting(DType dtype, const Shape& shape, std::int64_t seed = 1);

// The first difference in words, "" when the bits are the same.
enum class NaNs {
  by_bits,
  alike,  // any NaN equals any other
};
std::string bit_difference(const Literal& a, const Literal& b, NaNs nans = NaNs::by_bits);
std::string bit_difference(const std::vector<Literal>& a, const std::vector<Literal>& b,
                           NaNs nans = NaNs::by_bits);

// The largest difference relative to max(1, |expected|).
double distance(const std::vector<double>& a, const std::vector<double>& expected);
// Expects each |got - want| ≤ tolerance × (1 + |want|), NaN where NaN is wanted, and infinities as they are.
void expect_near(const std::vector<double>& got, const std::vector<double>& want, double tolerance);

}  // namespace tidemark::testing
