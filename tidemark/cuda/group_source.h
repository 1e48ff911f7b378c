// A fusion group as CUDA C++: one kernel that loads every operand once, computes the group's steps in
// registers and stores the results that have memory. A reduction at the end folds in the CPU's order
// (device/folds.h); where few results are shared by many threads a second, small kernel adds up their parts.
// No kernel adds atomically or depends on which thread comes first, so a group's bits are always the same.
#pragma once
#include <span>
#include <string_view>

#include "tidemark/cuda/kernel_text.h"
#include "tidemark/runtime/commands.h"

namespace tidemark::cuda {

// Can its calls be steps of generated kernels: a pointwise op, or a reduction as the last step?
bool can_generate(const Op& op);
// Can it be a step that reads a window (Fusion::window)?
bool is_group_window(const Call& call);
std::int64_t group_scratch(const Call& last);  // of a group that ends with this call

// The steps as a device gets them (runtime/commands.h). `name`: of the kernels, which several groups in one
// program must not share. Shapes, strides and attributes become constants; addresses need no alignment, but
// aligned ones are accessed in packs of 16 bytes.
KernelText write_group(std::span<const GroupStep> steps, std::string_view name = "tidemark_group");

}  // namespace tidemark::cuda
