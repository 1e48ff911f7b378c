// Axes as users write them: negative ones count from the last dimension.
#pragma once
#include "tidemark/trace/tensor.h"

namespace tidemark {

// Throws index_out_of_range at the operand's line for an axis that it does not have.
int absolute_axis(const Operand& x, std::int64_t axis);
// Ascending; throws also for a dimension that is named twice.
Dims absolute_axes(const Operand& x, const Dims& axes);

}  // namespace tidemark
