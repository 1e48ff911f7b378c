// A program as SSA data: values with types, nodes in an executable order, inputs and outputs.
// Nodes are only ever appended; passes build a new graph instead of editing one in place.
//
// A region (the body of a loop or branch) is a Graph of its own: what it reads from outside is among its
// inputs.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/ids.h"
#include "tidemark/ir/hint.h"
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
  CheckpointId checkpoint =
      {};                 // the innermost one it was traced in; invalid: none, as for reverse-mode rules
  bool backward = false;  // written by reverse mode, for reports: nothing that is computed depends on it
};

struct Input {
  ValueId value;
  bool donated = false;  // the program may overwrite it; an output of the same type may take its memory
  bool differentiated = false;  // reverse mode was asked for its gradient, for reports
};

class Graph {
 public:
  ValueId add_input(Type type, std::string name = {}, bool donated = false);
  ValueId copy_input(const Graph& source, const Input& input);
  // Appends a node whose result types are already known (Builder infers them).
  NodeId add_node(Node node, std::span<const Type> result_types);
  void add_output(ValueId value) { outputs_.push_back(value); }
  CheckpointId add_checkpoint(Checkpoint checkpoint);
  void add_hint(Hint hint) { hints_.push_back(hint); }

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<Checkpoint>& checkpoints() const { return checkpoints_; }
  const std::vector<Hint>& hints() const { return hints_; }
  std::vector<Input>& inputs() { return inputs_; }

  const Value& operator[](ValueId id) const { return values_[id.index]; }
  Value& operator[](ValueId id) { return values_[id.index]; }
  const Node& operator[](NodeId id) const { return nodes_[id.index]; }
  Node& operator[](NodeId id) { return nodes_[id.index]; }
  const Checkpoint& operator[](CheckpointId id) const { return checkpoints_[id.index]; }
  Checkpoint& operator[](CheckpointId id) { return checkpoints_[id.index]; }

  const Type& type(ValueId id) const { return values_[id.index].type; }
  bool is_input(ValueId id) const { return !values_[id.index].producer.valid(); }
  // Is `inner` the checkpoint `outer` or one inside it? All are inside none.
  bool encloses(CheckpointId outer, CheckpointId inner) const;

  std::string name;  // of the graph; may be empty

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<Input> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<Checkpoint> checkpoints_;  // parents before children
  std::vector<Hint> hints_;
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

// Carrying checkpoints and hints to a graph built from another: the checkpoints first, since nodes name them;
// what names values when it is known what those became (`image`, per value; invalid: gone). The first returns
// how far the numbers of the checkpoints shifted; those without a parent go into `within`.
std::uint32_t copy_checkpoints(const Graph& source, Graph& target, CheckpointId within = {});
void copy_hints(const Graph& source, Graph& target, std::uint32_t shift, std::span<const ValueId> image);
CheckpointId shifted(CheckpointId checkpoint, std::uint32_t shift, CheckpointId within = {});

// Which values the outputs depend on, and so on: use counts, consumers.
std::vector<int> use_counts(const Graph& graph);                 // per value; an output counts as a use
std::vector<std::vector<NodeId>> consumers(const Graph& graph);  // per value, each consumer once, in order

}  // namespace tidemark
