// How the places of a remainder are chosen.
#pragma once
#include "tidemark/schedule/kinds/remainder.h"

namespace tidemark::schedule {

// Costs of segments up to so long are listed, which is some hundred times quicker than asking for each.
inline constexpr Step most_listed = 1 << 18;

// The least path over the steps given, ascending, which hold all sources and the last step that is left.
RemainderPlan remainder_by_paths(const Remainder& remainder, std::int64_t slots,
                                 const std::vector<Step>& steps, RemainderPlan::Choice choice);

// For very many states: drops those that alone cost least, many at a time while many must go, none of them
// neighbours; then goes on as long as that saves advances.
RemainderPlan remainder_one_by_one(const Remainder& remainder, std::int64_t slots);

}  // namespace tidemark::schedule
