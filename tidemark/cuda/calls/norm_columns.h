// Batch normalisation whose channels are columns (device/norm_columns.h).
#pragma once
#include <string_view>

#include "tidemark/cuda/kernel_text.h"
#include "tidemark/ir/op.h"
#include "tidemark/ops/normalization/normalize.h"

namespace tidemark::cuda {

enum class NormPart { forward, gradient, parameters };

bool are_columns(const NormForm& form);
KernelText write_norm_columns(const Call& call, const NormForm& form, NormPart part, std::string_view name);
std::int64_t norm_columns_scratch(const Call& call, const NormForm& form);

}  // namespace tidemark::cuda
