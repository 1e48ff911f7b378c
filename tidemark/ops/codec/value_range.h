// What is known of a value's elements before anything runs, by the op that made it: positions are below the
// length they were looked for in, a one-hot row holds 0 and 1. What moves or looks at elements keeps it.
#pragma once
#include <optional>

#include "tidemark/ir/graph.h"

namespace tidemark {

// Every element of `v` is a whole number from 0 up and below this, never -0. None: that is not known.
std::optional<std::int64_t> whole_numbers_below(const Graph& graph, ValueId v);

}  // namespace tidemark
