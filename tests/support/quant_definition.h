// The formats of ops/quantization by their definition, number by number with a search over codes: what the
// kernels are held against.
#pragma once
#include <vector>

#include "tidemark/base/attrs.h"
#include "tidemark/ops/quantization/quant_format.h"

namespace tidemark::testing {

// The numbers of a floating-point dtype.
struct FloatRange {
  double largest, smallest_normal, smallest;
  int max_exponent;
};
FloatRange float_range(DType dtype);

// A float format: exponent bits are what the sign and the digits leave.
struct CodeLayout {
  int digits, bias;
};
CodeLayout layout_of(QuantFormat format);
double value_of(CodeLayout layout, std::uint32_t code);  // of a code without sign
std::uint32_t last_code(QuantFormat format);             // of the largest number, without sign

struct DefinedQuantization {
  std::vector<std::uint8_t> bytes;
  std::vector<double> decoded;  // in the dtype that computes; stored, it is rounded to the value's own
};
DefinedQuantization defined_quantization(QuantFormat format, const Literal& x);  // to nearest

}  // namespace tidemark::testing
