// Reads the text form of a graph (docs/ir_format.md). Whatever the text, the outcome is a verified graph or
// an Error with the line, the column and an excerpt; memory is bounded by a small multiple of the text.
#pragma once
#include <string>
#include <string_view>

#include "tidemark/ir/graph.h"

namespace tidemark {

// Where op names are looked up: ir knows no ops, ops/registry.h offers find_op and nearest_op.
struct OpLookup {
  const Op* (*find)(std::string_view name);                 // nullptr when there is none
  std::string (*nearest)(std::string_view name) = nullptr;  // for "did you mean"; "" when nothing is close
};

Graph parse(std::string_view text, const OpLookup& lookup, std::string_view filename = "graph.ir");

}  // namespace tidemark
