// What every elementwise op shares besides the checks of type_rules.h: the planner's facts.
#pragma once
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {

// A result may take the memory of an operand of the same shape and element size whose elements lie in the same
// order: element k is read before element k is written.
bool elementwise_in_place(const Call& call, int result, int operand);
// `flops` per element of the result; every operand read once, however often it is broadcast.
// `flops` per element of the result, plus what broadcast, strided and 16-bit operands take.
Cost elementwise_cost(const Call& call, double flops);

}  // namespace tidemark
