// A call that is no step of a fusion group as CUDA C++: one or more kernels of its own. As with groups,
// shapes, strides and attributes become constants, no kernel adds floats atomically, and no result depends on
// which thread comes first: the same bits in every run. Sums are not in the CPU's order, which depends on the
// width of its vectors; tests say how far apart results may be.
#pragma once
#include <string_view>

#include "tidemark/cuda/kernel_text.h"
#include "tidemark/ir/op.h"

namespace tidemark::cuda {

bool has_call_kernels(const Op& op);  // for some calls at least
// Can this call run by a kernel of its own? Its op, dtypes, shapes and strides decide.
bool has_call_kernel(const Call& call);

// The kernel. `name`: of the launches, which several calls in one program must not share. A call that can
// fail for what its operands hold says so through GroupPointers::failed.
KernelText write_call(const Call& call, std::string_view name = "tidemark_call");

// For the planner: bytes of scratch; does the kernel take any strides at the operand; may the result
// overwrite the operand?
std::int64_t call_scratch(const Call& call);
bool call_takes_strides(const Call& call, int operand);
bool call_may_overwrite(const Call& call, int result, int operand);

}  // namespace tidemark::cuda
