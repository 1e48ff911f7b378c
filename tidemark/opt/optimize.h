// Runs the graph passes (the rows of optimize.cc) to a fixed point: simplify, fold, cse, dce in rounds, then
// gather, accumulate and narrow once.
//
// Results keep their bits, but for the order of the sums that gather found; inputs, outputs, donation, names,
// hints and source lines stay. Every pass is timed and its graph verified; any can be skipped by its name.
#pragma once
#include <string>
#include <vector>

#include "tidemark/base/pass_driver.h"
#include "tidemark/opt/fold.h"
#include "tidemark/opt/known_ops.h"

namespace tidemark {

struct OptOptions {
  KnownOps ops = {};
  Evaluator evaluate = {};             // empty: fold is skipped
  std::vector<std::string> skip = {};  // names of passes
  int max_rounds = 8;
};

struct OptReport {
  std::vector<PassReport> passes;  // in the order they run
  int rounds = 0;
};

// Throws Error for an unknown name in `skip`.
Graph optimize(Graph graph, const OptOptions& options, OptReport* report = nullptr);
std::vector<PassInfo> opt_pass_list();

}  // namespace tidemark
