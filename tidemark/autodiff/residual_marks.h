// The marks of a graph (residuals.h) by the values that they are on, and what becomes of what waits in its
// regions.
#pragma once
#include <map>

#include "tidemark/autodiff/residuals.h"
#include "tidemark/ops/control/loop_reverse.h"

namespace tidemark {

bool has_marks(const Graph& graph);  // in it or its regions

// Only the reversal of a loop whose length is known keeps what it reads of all steps at once; elsewhere,
// values wait within one run.
struct RegionKeeps {
  std::size_t carried = 0;  // of the first inputs: a loop's carries, which it keeps for each iteration
  std::int64_t copies = 1;
  std::optional<ReversalLayout> steps = {};  // of such a reversal, where it is the only one of its loop
};

// Of the regions of a graph's nodes.
class RegionsKept {
 public:
  explicit RegionsKept(const Graph& graph);
  RegionKeeps operator()(NodeId node, std::size_t region) const;
  NodeId reversal_of(NodeId loop) const;  // invalid: it has none, or not one alone

 private:
  const Graph& graph_;
  std::map<std::uint32_t, NodeId> reversals_;  // by loop
};

// The marks of one graph, not of its regions.
class Marks {
 public:
  Marks(const Graph& graph, const RegionKeeps& kept);

  const std::vector<Residual>& list() const { return list_; }
  std::optional<std::size_t> number(ValueId root) const;
  // What `v` shows all of, through reshapes, transposes and the like.
  ValueId root_of(ValueId v) const;

 private:
  bool shows_all(ValueId v) const;
  bool may_wait(ValueId root) const;

  const Graph& graph_;
  const std::size_t carried_;
  std::vector<Residual> list_;
  std::map<std::uint32_t, std::size_t> number_;
};

}  // namespace tidemark
