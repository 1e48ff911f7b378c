// Builder appends checked nodes to a graph.
#pragma once
#include <span>
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/ir/var.h"

namespace tidemark {

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  Var input(Type type, std::string name = {}) { return {*this, graph_.add_input(type, std::move(name))}; }

  // Infers the result types (throwing the caller's mistakes with `where()`), appends the node, returns its
  // results.
  std::vector<Var> call(const Op& op, std::span<const Var> operands, Attrs attrs = {},
                        std::vector<Graph> regions = {});
  Var call1(const Op& op, std::initializer_list<Var> operands, Attrs attrs = {});  // for ops of one result

  // The user's line that nodes added from now on belong to.
  const SourceLine& where() const { return where_; }
  void set_where(SourceLine where) { where_ = where; }
  // The checkpoint that nodes added from now on belong to; invalid: none.
  CheckpointId checkpoint() const { return checkpoint_; }
  void set_checkpoint(CheckpointId checkpoint) { checkpoint_ = checkpoint; }
  // Are nodes added from now on part of a backward pass?
  bool backward() const { return backward_; }
  void set_backward(bool backward) { backward_ = backward; }
  // Nodes added from now on stand for this one: its line, its checkpoint, its pass.
  void set_origin(const Node& node);

 private:
  Graph& graph_;
  SourceLine where_;
  CheckpointId checkpoint_;
  bool backward_ = false;
};

inline Type Var::type() const { return builder_->graph().type(id_); }

std::vector<ValueId> ids_of(std::span<const Var> vars);  // an empty Var has no id

// Copies the nodes of `source` to the end of `target` with `inputs` standing for its inputs; returns its
// outputs. Its checkpoints and hints come along, into the builder's checkpoint, and so does what is backward.
std::vector<Var> inline_graph(Builder& target, const Graph& source, std::span<const Var> inputs);

}  // namespace tidemark
