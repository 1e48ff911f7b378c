// What every elementwise op shares: broadcasting, the checks of operand dtypes, and the planner's facts.
#pragma once
#include "tidemark/ops/elementwise.h"

namespace tidemark {

// Throws wrong_operand_count with the op's name and the user's line.
void expect_operands(const Call& call, std::size_t count);
// Throws dtype_mismatch when operand `i` is not of `set`.
void expect_dtype(const Call& call, std::size_t i, DTypeSet set);
// Throws dtype_mismatch when operands i and j differ.
void expect_same_dtype(const Call& call, std::size_t i, std::size_t j);

// A result may take the memory of an operand of the same shape and element size whose elements lie in the same
// order: element k is read before element k is written.
bool elementwise_in_place(const Call& call, int result, int operand);
bool takes_any_strides(const Call& call, int operand);
// `flops` per element of the result; every operand read once, however often it is broadcast.
Cost elementwise_cost(const Call& call, double flops);

}  // namespace tidemark
