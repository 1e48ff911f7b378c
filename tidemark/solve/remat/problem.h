// Recomputation as the searches see it: tasks that may run again, what a run costs, bytes that must not be
// exceeded.
//
// A solution is a Sequence of tasks, a task listed twice being run twice. Nothing else need be decided: every
// use reads the latest version of its item, a version is dropped after its last use, and what is alive
// follows.
//
//   item x   ├─make──use────use┤           ├─make──use┤      one version each; the gap between costs no bytes
//   sequence   x  a  b  c  d  e  …           x'   f
//
// The load while a task runs is what is alive, plus what it makes, plus its scratch, less what is taken over
// in place.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/solve/order/model.h"

namespace tidemark {

using Sequence = std::vector<int>;

struct RematProblem {
  OrderModel model;              // its own numbering is the base order: 0, 1, …, tasks - 1
  std::vector<double> cost;      // per task: of one run, in any unit; positive
  std::vector<bool> repeatable;  // per task: may run more than once
  IntLists closed_by;        // per task: it may not run again once one of these has run (they overwrite what
                             // it reads)
  std::int64_t budget = 0;   // load that no step may exceed
  bool fixed_order = false;  // first runs stay in the base order

  double base_cost() const;  // every task once
};

// Every task runs at least once and only when all tasks before it have; only repeatable ones run again, and
// not after they are closed; first runs are in the base order if that is fixed.
bool is_valid_sequence(const RematProblem& problem, std::span<const int> sequence);

// What a sequence needs and costs, computed from nothing but the sequence. The incremental evaluator
// (timeline.h) is tested against it.
struct SequenceFigures {
  std::int64_t peak = 0;
  int peak_at = 0;  // position of the first step with that load
  double cost = 0;
};
SequenceFigures figures_of(const RematProblem& problem, std::span<const int> sequence);
std::vector<std::int64_t> loads_of(const RematProblem& problem, std::span<const int> sequence);  // per step

}  // namespace tidemark
