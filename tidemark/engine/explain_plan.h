// Why a plan is as it is, and what else it could have been: what became of each value
// (plan/report/explain.h), with alternatives that are plans of their own.
//
//   edited    everything else as it is (plan/report/plan_edits.h): quick, and what the peak then is is exact
//   planned   a search within the same budget in which the value has a hint, `keep` or `recompute`: what is
//             best then, as far as the search finds it, with everything else free to change
//
// Prices of memory are the differences to plans for a little less and a little more of it, which say for each
// value, too, what becomes of it there.
#pragma once
#include <cstddef>
#include <string>

#include "tidemark/plan/report/explain.h"

namespace tidemark {

struct PlanOptions;

struct ExplainOptions {
  // A regular expression (ECMAScript) that a value's number, name, op, type, line, decision or role contains;
  // empty: all.
  std::string match = {};
  std::size_t top = 10;  // at most so many values, the largest of those that wait first; 0: all
  bool force = false;    // alternatives are planned, not edited: as much work for each as planning
};

// Throws Error at `where` for a `match` that is no regular expression: for whoever would plan before.
void check_options(const ExplainOptions& wanted, SourceLine where = {});

// `graph` as it was planned, `options` those that it was planned with. Throws Error at `where` for a `match`
// that is no regular expression.
Explanation explain_plan(const Graph& graph, const Plan& plan, const PlanOptions& options,
                         const ExplainOptions& wanted = {}, SourceLine where = {});

}  // namespace tidemark
