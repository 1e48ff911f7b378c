// A simplification rule and what it sees: the node about to be added, and the new graph so far.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tidemark/opt/known_ops.h"

namespace tidemark {

// The node's operands are values of `graph`. A rule that fires either names a value that is the node's one
// result, or changes `node` to another one with the same result type.
struct Site {
  Graph& graph;
  const KnownOps& ops;
  Node node;
  std::vector<Type> types;  // of the results
  std::optional<ValueId> replacement = {};
  std::string name = {};  // for the result, where it has none of its own

  ValueId operand(std::size_t i) const { return node.operands[i]; }
  const Type& type() const { return types[0]; }

  // The node that makes `v` if it is an `op`, else nullptr. Valid until the graph grows.
  const Node* made_by(ValueId v, const Op* op) const;

  // If every element of `v` is known to be one and the same number: that number. Sees through movement.
  std::optional<double> uniform(ValueId v) const;
  bool is_uniform(ValueId v, double number) const;  // by bits: 0 is not -0

  bool become(ValueId v);  // fires if the type of `v` is the node's
  bool become(const Op* op, std::vector<ValueId> operands, Attrs attrs = {});
  ValueId add(const Op& op, std::vector<ValueId> operands, Attrs attrs = {});  // a further node
};

struct Rule {
  std::string_view name;
  std::string_view why;
  std::vector<const Op * KnownOps::*> heads;  // the ops it applies to; empty: every elementwise op
  bool (*apply)(Site&);                       // true: fired
};

std::span<const Rule> arithmetic_rules();
std::span<const Rule> movement_rules();

}  // namespace tidemark
