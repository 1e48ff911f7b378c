// Graphs in tests are written as text, with the real ops or the toy ones.
#pragma once
#include <string_view>

#include "tests/support/toy_ops.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/registry.h"

namespace tidemark {

inline Graph graph_from(std::string_view text) {
  constexpr OpLookup lookup{.find =
                                [](std::string_view name) {
                                  const Op* op = find_op(name);
                                  return op ? op : toy::find(name);
                                },
                            .nearest = nearest_op};
  return parse(text, lookup, "test.ir");
}

// The text as print() writes it, for comparing.
inline std::string normal(std::string_view text) { return print(graph_from(text)); }

}  // namespace tidemark
