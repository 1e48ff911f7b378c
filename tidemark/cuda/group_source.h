// A fusion group as CUDA C++: one kernel that loads every operand once, computes the group's steps in
// registers and stores the results that have memory. A reduction at the end folds in the CPU's order
// (device/folds.h); where few results are shared by many threads a second, small kernel adds up their parts.
// No kernel adds atomically or depends on which thread comes first, so a group's bits are always the same.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/runtime/commands.h"

namespace tidemark::cuda {

// One launch: blocks and threads in one dimension. Its parameter is a GroupPointers (device/elements.h).
struct KernelLaunch {
  std::string kernel;
  std::int64_t blocks = 0;
  int threads = 0;
  std::int64_t shared_bytes =
      0;  // of memory that the threads of a block share, beside what the kernel declares
};

struct GroupKernel {
  std::string source = {};                  // whole: it includes what it needs (device_texts.h)
  std::vector<KernelLaunch> launches = {};  // one after the other; none where there is nothing to compute
  std::int64_t scratch_bytes = 0;
  int operands = 0, results = 0;  // places of GroupPointers; at least one each
};

// Can its calls be steps of generated kernels: a pointwise op, or a reduction as the last step?
bool can_generate(const Op& op);
std::int64_t group_scratch(const Call& last);  // of a group that ends with this call

// The steps as a device gets them (runtime/commands.h). `name`: of the kernels, which several groups in one
// program must not share. Shapes, strides and attributes become constants; addresses need no alignment, but
// aligned ones are accessed in packs of 16 bytes.
GroupKernel write_group(std::span<const GroupStep> steps, std::string_view name = "tidemark_group");

}  // namespace tidemark::cuda
