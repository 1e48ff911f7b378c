// What operations make of a batch that is cut, whether they have a rule of their own (batch_rules.h), are
// written in simpler ones, or are loops, which do what their bodies do.
#pragma once
#include <optional>

#include "tidemark/opt/batch_rules.h"

namespace tidemark {

// The classes of the results, if each micro-batch can do the call by itself; empty: it cannot, or that is not
// known. No operand is complete.
std::vector<BatchClass> batch_results(const BatchCall& call, const BatchRules& rules);

bool all_whole(std::span<const BatchClass> classes);
// Of a result that depends on nothing of the batch.
BatchClass whole_class(const BatchCall& call);

// The first node in which two graphs differ by more than sizes and numbers; as many as there are nodes: they
// differ behind the last. None: they do not.
std::optional<std::size_t> first_difference(const Graph& a, const Graph& b);

}  // namespace tidemark
