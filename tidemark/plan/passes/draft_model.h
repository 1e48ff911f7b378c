// A draft as the searches see it (solve/order/model.h, solve/remat/problem.h). Task t is the draft's
// execution t; an item is one result of one execution. The model counts what the finished plan will count:
// windows keep their root alive, homes cost nothing, dying operands are overwritten where facts allow,
// scratch is there while its task runs.
#pragma once
#include "tidemark/plan/machine.h"
#include "tidemark/plan/passes/draft.h"
#include "tidemark/solve/remat/problem.h"

namespace tidemark {

OrderModel order_model_of(const Draft& draft);

// May this plan run the node a second time? Not what is not repeatable (ir/effects.h), what a hint keeps, and
// what writes into the memory of a donated input.
bool may_recompute(const Draft& draft, NodeId node);

// The same with what each execution costs on the machine; where runs may be put into groups, what all who
// read it would take into their kernels costs what it adds to them. No limit of bytes: for the caller to set.
RematProblem remat_problem_of(const Draft& draft, const Machine& machine);

// Per execution: may it be part of a larger kernel? Empty where there are no groups.
std::vector<bool> may_join(const Draft& draft);

}  // namespace tidemark
