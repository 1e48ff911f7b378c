// What has to be computed where, so that the outputs of a function whose batch is cut can be: found backwards
// from them.
#pragma once
#include <utility>
#include <vector>

#include "tidemark/opt/batch_classes.h"
#include "tidemark/opt/split_ops.h"

namespace tidemark {

class SplitNeeds {
 public:
  SplitNeeds(const BatchPair& pair, const BatchClasses& classes, const BatchRules& rules,
             const SplitOps& ops);

  std::vector<bool> before, behind, body;  // per node: around the loop and in it
  std::vector<ValueId> sums, stacks;       // of the body's values: carried, and stacked
  std::vector<ValueId> slices, shared;     // what the body gets: a part of each, and the same for all
  bool number = false;                     // and the number of the micro-batch, to draw by

 private:
  enum Where { outside, ahead, inside };

  void find_early();
  bool is_sum(ValueId v) const;
  bool is_made_inside(ValueId v) const;
  bool ends_behind(const Node& node) const;
  void want(Where where, ValueId v);
  void want_operands(Where where, const Node& node);
  void run();
  void visit_ahead(NodeId id);
  void visit_outside(ValueId v);
  void visit_inside(ValueId v);
  void order_effects(SourceLine where);

  const Graph& full_;
  const BatchClasses& classes_;
  const BatchRules& rules_;
  const SplitOps& ops_;
  std::vector<bool> early_;  // per node
  std::vector<bool> seen_[3];
  std::vector<std::pair<Where, ValueId>> open_;
};

}  // namespace tidemark
