// Which forward values rules read, and in which form they wait for it (ops/codec/form.h). Reverse mode marks
// what a rule reads (ops/quantization/residual.h): where a plan is to be made within a budget and the value
// has a smaller form that is exact, where the user allows lossy ones, or asks for one (compress). Whoever
// plans then chooses a form for each, or none, and the marks are lowered: to nodes that encode it behind
// the value and decode it before the rules, or to nothing.
//
// A mark has no part in what the forward pass computes, nor in how often a value is computed: bits depend on
// the choice alone, not on the plan.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tidemark/ir/builder.h"
#include "tidemark/ops/codec/form.h"

namespace tidemark {

// What may stand in for a value that rules read, beside what is asked for it.
enum class StandIns : std::uint8_t {
  none,
  exact,  // of values that are known to be small whole numbers (ops/codec/value_range.h)
  lossy,  // and of all others that tolerant rules read (Op::tolerant)
};

// While it lives, reverse mode on this thread marks where these may stand in; more, where an outer one
// says so.
class MarkedReads {
 public:
  explicit MarkedReads(StandIns allowed);
  ~MarkedReads();
  MarkedReads(const MarkedReads&) = delete;
  MarkedReads& operator=(const MarkedReads&) = delete;

 private:
  StandIns before_;
};

// While it lives, reverse mode on this thread does not see what compress asks for on these lines.
class RefusedForms {
 public:
  explicit RefusedForms(std::span<const SourceLine> lines);  // which must live as long
  ~RefusedForms();
  RefusedForms(const RefusedForms&) = delete;
  RefusedForms& operator=(const RefusedForms&) = delete;

 private:
  std::span<const SourceLine> before_;
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
  std::map<std::uint32_t, std::string> asked_;  // by value: the form of its hint
  bool exactly_;                                // mark what may be computed back, too (inverses.h)
  std::map<std::uint32_t, Var> marked_, marked_exactly_;
};

// A value that may wait in another form. What is looked at through a reshape or a transpose is that value.
struct Residual {
  const Graph* graph = nullptr;  // that it is a value of: the one given, or a region of it
  ValueId value;
  std::optional<Form> asked = {};  // none: it was not asked for, or has no such form
  SourceLine asked_at = {};        // unknown: it was not asked for
  bool tolerant = false;           // may an error be in what some rules read?
  std::int64_t copies = 1;         // that wait: one per iteration of the loops around it
  // Of a step of a loop that keeps what it reads for its one reversal: there is a step before it.
  bool has_neighbour = false;
  bool is_measured = false;  // lower_residuals can tell the error that its form makes
};
using ResidualChoice = std::vector<std::optional<Form>>;  // per residual, in order; none: as it is

// Of a graph with marks, and of its regions. Always in the same order, whatever the sizes of tensors. Points
// into the graph. Left out: what stays in memory anyway (arguments, what loops scan or capture) and what a
// checkpoint computes again.
std::vector<Residual> residuals_of(const Graph& graph);

// Has it such a form? Only what has a neighbour has a difference to it.
bool may_wait_in(const Residual& residual, const Form& form);

// What the user asked for, and nothing else.
ResidualChoice asked_for(const std::vector<Residual>& residuals);

// The graph without marks. A form that a value does not have leaves it as it is. With `errors` two more
// outputs for each value that is measured and whose form is lossy, in order: the largest difference that it
// makes, and its largest magnitude, over finite elements and all steps.
Graph lower_residuals(const Graph& graph, const ResidualChoice& choice, bool errors = false);

}  // namespace tidemark
