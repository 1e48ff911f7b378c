// What single operations do with a batch that is cut into micro-batches: given what their operands have to do
// with it, what their results have. A row per operation, by name, for those that are not written in simpler
// ones (Op::expand); whatever has neither a row nor an expansion is not known to treat examples one by one.
#pragma once
#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/opt/batch_layout.h"

namespace tidemark {

// A node of the graph for the whole batch and the same node of that for a micro-batch.
struct BatchCall {
  const Call& full;
  const Call& small;
  std::span<const BatchClass> in;
  std::int64_t parts;
};

class BatchRules {
 public:
  explicit BatchRules(const Op* (*find)(std::string_view name));

  // The classes of the results, if each micro-batch can do the call by itself with the attributes of
  // attrs_for; empty: it cannot, or that is not known. No operand is complete.
  std::vector<BatchClass> results(const BatchCall& call) const;
  // Sizes are those of a micro-batch, numbers to compute with those of the whole batch: the 1/64 of a mean.
  Attrs attrs_for(const BatchCall& call) const;

  // Is there a row for it?
  bool knows(const Op& op) const;
  // A mean over the batch is a sum, divided when it is complete.
  bool is_mean(const Op& op) const { return &op == mean_; }
  bool is_loop(const Op& op) const { return &op == loop_; }
  struct LoopShape {
    std::size_t carries, scanned;
  };
  LoopShape loop_shape(const Call& call) const;
  // Draws elements that are numbered, and may begin with any of them.
  bool is_numbered(const Op& op) const { return std::ranges::find(numbered_, &op) != numbered_.end(); }

 private:
  using Rule = std::vector<BatchClass> (*)(const BatchCall&);
  struct Row {
    Rule batched = nullptr;  // with operands that are whole or batched
    Rule partial = nullptr;  // with some that are partial
    bool has_sizes = false;  // among the attributes
  };
  const Row* row_of(const Op& op) const;
  static bool attrs_agree(const BatchCall& call, bool sizes_may_differ);

  std::map<const Op*, Row> rows_;
  const Op *mean_, *loop_;
  std::vector<const Op*> numbered_;
};

}  // namespace tidemark
