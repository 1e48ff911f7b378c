// Batch normalisation of columns in parts, for targets that say so (Target::splits_norms): what is summed
// down the columns of x (…, C), and elementwise ops that join the groups of what follows and precedes them.
//
//   mean, variance, scale = column_statistics(x, gain)              scale = gain / √(variance + eps)
//   y                     = normalize_columns(x, mean, scale, bias)    = (x - mean) scale + bias
//
//   gain gradient, bias gradient, a, b = column_slopes(x, mean, variance, g)
//   x gradient                         = normalize_columns_grad(x, g, mean, scale, a, b)
//                                      = (g - a - (x - mean) b) scale
//
// a = mean of g, b = mean of g (x - mean) / (variance + eps). Where relu(y) follows, g is the gradient of
// that, and counts where y > 0: column_slopes takes scale and bias as well, normalize_columns_grad bias, and
// neither reads y. Columns of numbers (mean to b, but for gains and biases) are f32 for 16-bit data.
#pragma once
#include "tidemark/ir/builder.h"

namespace tidemark {

inline constexpr std::size_t masked_slopes_operands = 6, masked_grad_operands = 7;

// x as (rows, columns).
struct ColumnsForm {
  std::int64_t rows = 0, columns = 0;
};
ColumnsForm columns_form(const Call& call);

}  // namespace tidemark
