// What the planner knows of every elementwise kernel.
#pragma once
#include "tidemark/ops/cpu_kernel.h"

namespace tidemark {

// A result may take the memory of an operand of the same shape and element size whose elements lie in the
// same order: element k is read before element k is written.
bool elementwise_in_place(const Call& call, int result, int operand);
// `flops` per element of the result, plus what broadcast, strided and 16-bit operands take; every operand
// read once, however often it is broadcast.
Cost elementwise_cost(const Call& call, double flops);
template <int flops>
Cost elementwise_cost(const Call& call) {
  return elementwise_cost(call, flops);
}

// The facts of a kernel that takes any strides and runs in groups.
template <int flops>
inline constexpr ExecutionFacts elementwise_facts = {
    .cost = elementwise_cost<flops>,
    .in_place = elementwise_in_place,
    .strided = takes_any_strides,
    .fusion = is_pointwise,
};

}  // namespace tidemark
