// Attention and its gradient as CUDA C++: a call's sizes and options as constants, and kernels over blocks of
// queries and keys (device/attention_*.h). No (T, T) matrix is in memory, and no kernel adds to what another
// block of threads adds to, so that bits are always the same.
//
//   bf16, f16   up to width 256: on tensor cores, products summed in f32; probabilities and their slopes are
//               rounded to the dtype before they are multiplied. On 9.0, heads of width 64 without mask and
//               dropout: by warpgroups (device/attention_warpgroups.h)
//   f32         up to width 256: fused products in f32
//   the rest    f64, wider heads: a block of threads for each row, much slower
#pragma once
#include <cstdint>
#include <string_view>

#include "tidemark/cuda/group_source.h"
#include "tidemark/ir/op.h"

namespace tidemark::cuda {

// Is it a call of attention or attention_grad that kernels can be written for?
bool has_attention_kernel(const Call& call);
std::int64_t attention_scratch(const Call& call);

// Operand `operand` may lie in steps, but for the elements of a row, which lie side by side.
bool attention_takes_strides(const Call& call, int operand);

// Operands and results in the op's order. `name`: of the kernels, which several calls in one program must not
// share.
KernelText write_attention(const Call& call, std::string_view name = "tidemark_attention");

}  // namespace tidemark::cuda
