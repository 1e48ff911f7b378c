// Values and calls as vmap sees them. A graph for one example becomes one for a batch: what depends on a
// mapped input has a dimension more, that of the examples; everything else is computed once.
#pragma once
#include <span>
#include <vector>

#include "tidemark/ir/builder.h"

namespace tidemark {

// A value of the batch's graph that stands for one of the example's.
struct MappedVar {
  Var var;
  int axis = -1;  // the dimension of the examples; -1: the same value for all of them

  bool mapped() const { return axis >= 0; }
};

// The axis moved from one place to another, a transpose; no node where it is there already.
Var with_axis_at(const Var& x, int from, int to);

// A call of the example's graph some of whose operands are mapped. Its rule writes what computes all
// examples.
struct VmapCall {
  Builder& builder;
  const Call& call;  // as the example has it
  std::span<const MappedVar> in;
  std::int64_t size;  // how many examples there are

  bool is_mapped(std::size_t operand) const { return in[operand].mapped(); }
  // The operand with its examples along dimension `axis`; one that is not mapped is repeated, as a view.
  Var whole(std::size_t operand, int axis = 0) const;
  // With its examples in front, if it is mapped; otherwise as it is.
  Var front(std::size_t operand) const;
  // With its examples and its own dimension `axis` as one dimension, there: (…, examples · n, …).
  Var merged(std::size_t operand, int axis) const;

  // The same op, with other attributes, on values of the batch's graph.
  std::vector<Var> again(std::span<const Var> operands, Attrs attrs, std::vector<Graph> regions = {}) const;
  std::vector<Var> again(std::span<const Var> operands) const { return again(operands, *call.attrs); }
  // Result r, whose dimension `axis` is examples and its own as `merged` makes it, with the two apart.
  MappedVar split(std::size_t r, const Var& result, int axis) const;
};

// Results all of which have their examples along one dimension.
std::vector<MappedVar> mapped_at(std::span<const Var> results, int axis);

}  // namespace tidemark
