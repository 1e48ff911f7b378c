// Graphs as text that a person reads and parse() reads back (docs/ir_format.md has the grammar):
//
//   graph @loss(%x: f32[8, 4], %w: f32[4, 2] donated) -> (f32[8, 1]) {
//     %2 = contract(%x, %w) {lhs_contract = [1], rhs_contract = [0]} : f32[8, 2]  @ "mlp.cc":12
//     %3, %4 = split(%2) {axis = 1, sizes = [1, 1]} : f32[8, 1], f32[8, 1]
//     return %3
//   }
//
// A value without a name is numbered by its place: inputs first, then results in the order of the nodes.
// Numbers are exact: parse(print(g)) has the bits of g.
#pragma once
#include <string>

#include "tidemark/ir/graph.h"

namespace tidemark {

std::string print(const Graph& graph);
std::string print(const AttrValue& value);

}  // namespace tidemark
