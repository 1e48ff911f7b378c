// Which forward values rules read, and in which form they wait for it. Reverse mode marks what a rule reads
// (ops/quantization/residual.h) where the user allows lossy copies, or asks for one of a single value
// (compress). Whoever plans then chooses a format for each, or none, and the marks are lowered: to a quantize
// behind the value and a dequantize before the rules, or to nothing.
//
// A mark has no part in what the forward pass computes, nor in how often a value is computed: bits depend on
// the choice alone, not on the plan.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tidemark/ir/builder.h"
#include "tidemark/ops/quantization/quant_format.h"

namespace tidemark {

// While it lives, reverse mode on this thread marks what tolerant rules read (Op::tolerant).
class LossyReads {
 public:
  explicit LossyReads(bool allowed);
  ~LossyReads();
  LossyReads(const LossyReads&) = delete;
  LossyReads& operator=(const LossyReads&) = delete;

 private:
  bool before_;
};

// What the rules of one reverse pass read: each value marked once, where the first of them needs it.
class RuleReads {
 public:
  explicit RuleReads(Builder& builder);
  // Operand or result `v` of the node whose rule comes next. Results but for the first are statistics, a few
  // numbers for many: read as they are.
  Var operator()(const Node& node, ValueId v, bool is_statistic = false);

 private:
  Builder& builder_;
  std::map<std::uint32_t, std::string> asked_;  // by value: the format of its hint
  bool exactly_;                                // mark what may be computed back, too (inverses.h)
  std::map<std::uint32_t, Var> marked_, marked_exactly_;
};

// A value that may wait in another form. What is looked at through a reshape or a transpose is that value.
struct Residual {
  const Graph* graph = nullptr;  // that it is a value of: the one given, or a region of it
  ValueId value;
  std::optional<QuantFormat> asked;  // none: it was not asked for
  std::int64_t copies = 1;           // that wait: one per iteration of the loops around it
};
using ResidualChoice = std::vector<std::optional<QuantFormat>>;  // per residual, in order; none: as it is

// Of a graph with marks, and of its regions. Always in the same order, whatever the sizes of tensors. Points
// into the graph. Left out: what stays in memory anyway (arguments, what loops scan or capture) and what a
// checkpoint computes again.
std::vector<Residual> residuals_of(const Graph& graph);

// By how much a copy may differ, as a share of the largest magnitude in its block, whatever the block holds.
double form_error(QuantFormat format, DType dtype);

// What the user asked for, and nothing else.
ResidualChoice asked_for(const std::vector<Residual>& residuals);

// The graph without marks. With `errors` two more outputs for each chosen value outside of loops, in order:
// the largest difference that its form makes, and its largest magnitude, over finite elements.
Graph lower_residuals(const Graph& graph, const ResidualChoice& choice, bool errors = false);

}  // namespace tidemark
