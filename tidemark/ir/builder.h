// Builder appends checked nodes to a graph; Var is a value of the graph being built, with operators, so that
// derivative rules read like formulas: `return {g * y, g * x};`.
#pragma once
#include <span>
#include <vector>

#include "tidemark/ir/graph.h"

namespace tidemark {

class Var {
 public:
  Var() = default;  // empty: a zero gradient or tangent
  Var(Builder& builder, ValueId id) : builder_(&builder), id_(id) {}

  explicit operator bool() const { return builder_ != nullptr; }
  Builder& builder() const { return *builder_; }
  ValueId id() const { return id_; }
  // By value: a reference into the graph would dangle as soon as a rule appends a node.
  Type type() const;
  Shape shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }

 private:
  Builder* builder_ = nullptr;
  ValueId id_;
};

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

 private:
  Graph& graph_;
  SourceLine where_;
  CheckpointId checkpoint_;
};

inline Type Var::type() const { return builder_->graph().type(id_); }

std::vector<ValueId> ids_of(std::span<const Var> vars);  // an empty Var has no id

// Copies the nodes of `source` to the end of `target` with `inputs` standing for its inputs; returns its
// outputs. Its checkpoints and hints come along, into the builder's checkpoint.
std::vector<Var> inline_graph(Builder& target, const Graph& source, std::span<const Var> inputs);

}  // namespace tidemark
