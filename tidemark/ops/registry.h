// The ops by symbol (`op::softmax`) and by name. ops.def is the one list; nothing registers itself.
#pragma once
#include <span>
#include <string_view>

#include "tidemark/ir/op.h"
#include "tidemark/ops/cpu_kernel.h"

namespace tidemark {

namespace op {
#define TM_OP(name) extern const Op name;
#include "tidemark/ops/ops.def"
}  // namespace op

// Declared here so that a stem's .cpu.cc and the table of kernels (cpu_kernels.cc) agree.
namespace cpu {
#define TM_OP(name) extern const CpuKernel name;
#include "tidemark/ops/ops.def"
}  // namespace cpu

std::span<const Op* const> all_ops();           // in the order of ops.def
const Op* find_op(std::string_view name);       // nullptr when there is none
std::string nearest_op(std::string_view name);  // for "did you mean"; "" when nothing is close

}  // namespace tidemark
