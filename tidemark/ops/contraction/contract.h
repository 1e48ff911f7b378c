// General contraction of two operands (what einsum, matmul and their derivatives become), on kernel/gemm.h
// whatever the strides. Result dimensions: batch, then the left's free ones, then the right's free ones, each
// in operand order.
#pragma once
#include <string_view>

#include "tidemark/ir/builder.h"

namespace tidemark {

struct ContractAttrs {
  Dims lhs_batch, rhs_batch;        // paired
  Dims lhs_contract, rhs_contract;  // paired
  TM_FIELDS(ContractAttrs, lhs_batch, rhs_batch, lhs_contract, rhs_contract)
};

Var contract(const Var& lhs, const Var& rhs, const ContractAttrs& dims);
// sum + contract(lhs, rhs), bit for bit, written over the sum where that is free: how gradients that arrive
// on several paths are added up without memory for each. Programs need not be written with it: opt/accumulate
// puts it in.
Var contract(const Var& lhs, const Var& rhs, const Var& sum, const ContractAttrs& dims);
// (…, M, K) × (…, K, N), leading dimensions broadcast as in NumPy; vectors as in NumPy.
Var matmul(const Var& lhs, const Var& rhs);
Var einsum(std::string_view formula,
           std::span<const Var> operands);  // "bij,bjk->bik"; any number of operands

}  // namespace tidemark
