// A program as SSA data: values with types, nodes in an executable order, inputs and outputs.
// Nodes are only ever appended; passes build a new graph instead of editing one in place.
//
// A region (the body of a loop or branch) is a Graph of its own: what it reads from outside is among its inputs.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/ids.h"
#include "tidemark/ir/op.h"

namespace tidemark {

struct Value {
  Type type;
  NodeId producer;           // invalid for a graph input
  std::uint32_t result = 0;  // which result of the producer, or which input
  std::string name = {};     // the user's name, or a path such as "params.w1"; may be empty
};

struct Node {
  const Op* op = nullptr;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  Attrs attrs;
  std::vector<Graph> regions;
  SourceLine where;  // the user's line this came from, also for nodes written by derivative rules
};

struct Input {
  ValueId value;
  bool donated = false;  // the program may overwrite it; an output of the same type may take its memory
};

class Graph {
 public:
  ValueId add_input(Type type, std::string name = {}, bool donated = false);
  // Appends a node whose result types are already known (Builder infers them).
  NodeId add_node(Node node, std::span<const Type> result_types);
  void add_output(ValueId value) { outputs_.push_back(value); }

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  std::vector<Input>& inputs() { return inputs_; }

  const Value& operator[](ValueId id) const { return values_[id.index]; }
  Value& operator[](ValueId id) { return values_[id.index]; }
  const Node& operator[](NodeId id) const { return nodes_[id.index]; }
  Node& operator[](NodeId id) { return nodes_[id.index]; }

  const Type& type(ValueId id) const { return values_[id.index].type; }
  bool is_input(ValueId id) const { return !values_[id.index].producer.valid(); }

  std::string name;  // of the graph; may be empty

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<Input> inputs_;
  std::vector<ValueId> outputs_;
};

// The types around a node, gathered so that a Call can point at them. Keep it alive while the call is used.
struct NodeCall {
  NodeCall(const Graph& graph, const Node& node);
  NodeCall(const NodeCall&) = delete;
  NodeCall& operator=(const NodeCall&) = delete;
  operator const Call&() const { return call; }  // NOLINT: implicit by design

  std::vector<Type> in, out;
  Call call;
};

// Which values the outputs depend on, and so on: use counts, consumers.
std::vector<int> use_counts(const Graph& graph);                 // per value; an output counts as a use
std::vector<std::vector<NodeId>> consumers(const Graph& graph);  // per value, each consumer once, in order

}  // namespace tidemark
