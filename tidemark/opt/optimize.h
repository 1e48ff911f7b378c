// Runs the graph passes to a fixed point: simplify, fold, cse, dce in rounds, then gather, accumulate and
// narrow once.
//
//   simplify   exact algebra; leaves nodes unused and makes others equal
//   fold       after simplify, which exposes constants
//   cse        after fold, which makes constants equal
//   dce        last in the round: everything before leaves dead nodes
//   gather     after the rounds: sums of products of parts become a product of the whole, and the parts'
//              products go
//   accumulate after gather: other sums of products become products that are added in place
//   narrow     after the rounds: it only moves nodes, and moves those that stay
//
// Results keep their bits, but for the order of the sums that gather found; inputs, outputs, donation, names,
// hints and source lines stay. Every pass is timed and its graph verified; any can be skipped by its name.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/opt/fold.h"
#include "tidemark/opt/known_ops.h"

namespace tidemark {

struct OptOptions {
  KnownOps ops = {};
  Evaluator evaluate = {};             // empty: fold is skipped
  std::vector<std::string> skip = {};  // names of passes
  int max_rounds = 8;
};

struct OptPassReport {
  std::string_view name;
  int runs = 0;
  double seconds = 0;  // of all runs, without verifying
  std::int64_t nodes_removed = 0;
};
struct OptReport {
  std::vector<OptPassReport> passes;  // in the order they run; skipped ones have no runs
  int rounds = 0;
};

Graph optimize(const Graph& graph, const OptOptions& options, OptReport* report = nullptr);
std::vector<std::string_view> opt_pass_names();

}  // namespace tidemark
