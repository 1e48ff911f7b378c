// One call of a pointwise op on one element, as CUDA C++. Formulas are named, never written again: what an
// elementwise op computes stands in ops/scalar/scalar_math.inc, which kernels include.
#pragma once
#include <span>
#include <string>

#include "tidemark/ir/op.h"

namespace tidemark::cuda {

// The type that stores elements of the dtype in generated code: "float", "BFloat16", "std::int32_t".
std::string_view storage_type(DType dtype);

// Can calls of this op be part of a generated kernel?
bool has_element_code(const Op& op);

// An expression of the result's storage type. `operands`: names of variables of the operands' storage types.
std::string element_code(const Call& call, std::span<const std::string> operands);

}  // namespace tidemark::cuda
