// Var: a value of a graph being built, with operators, so that derivative rules read like formulas:
// `return {g * y, g * x};`. Headers that only hand values on include this much of graphs; who makes nodes
// includes builder.h.
#pragma once
#include "tidemark/base/ids.h"
#include "tidemark/ir/type.h"

namespace tidemark {

class Builder;
class Graph;
struct Call;
struct Op;

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

}  // namespace tidemark
