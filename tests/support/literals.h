// Literals as test data: drawn from seeds, read and written as doubles, compared by bits.
#pragma once
#include <string>
#include <vector>

#include "tidemark/base/attrs.h"
#include "tidemark/ir/op.h"

namespace tidemark::testing {

Literal literal_of(DType dtype, const Shape& shape, const std::vector<double>& values);
std::vector<double> values_of(const Literal& literal);

// Values of the operand's range, a pure function of the seed. Integers are drawn from [low, high] as whole numbers.
Literal draw(const Sample::Operand& operand, std::uint64_t seed);
Literal draw(const Type& type, double low, double high, std::uint64_t seed);

bool same_bits(const Literal& a, const Literal& b);
// The first difference in words, "" when the bits are the same.
std::string bit_difference(const Literal& a, const Literal& b);

}  // namespace tidemark::testing
