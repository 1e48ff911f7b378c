// What `tidemark plan` was asked for, and the two ways to answer it. Other commands that plan take its
// options.
#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tidemark/engine/compile_options.h"
#include "tidemark/plan/spill/tier.h"
#include "tools/exit_code.h"
#include "tools/options/axes_option.h"
#include "tools/options/budget_option.h"
#include "tools/options/device_option.h"
#include "tools/options/disk_option.h"
#include "tools/options/effort_option.h"
#include "tools/options/model_option.h"
#include "tools/options/solver_option.h"

namespace tidemark::cli {

struct PlanCommand {
  ModelOption model;
  std::optional<Budget> memory;   // none: the least memory at no extra time
  std::vector<TierBudget> tiers;  // further memories; with --memory only
  DiskOption disk;                // the one among them that is a folder here; with --memory only
  std::optional<Lossy> lossy;     // forms that values may wait in; with --memory, built-in models only
  Choices allow;                  // what the plan may do; with --memory only
  EffortOption effort;
  SolverOption solvers;
  bool fixed_order = false;
  std::string schedule;  // write the order of execution here
  bool passes = false;   // how long each pass took, what each solver did
  bool json = false;

  // Graphs of operations only.
  DeviceOption device;  // where the step is to run
  std::string machine;  // plan for the machine in this file
  std::vector<std::string> disable;
  std::string dump_after, output;
  std::string html;               // write the explorer page here
  std::optional<int> html_plans;  // that its slider goes over; none: as many as are made quickly
  bool print_graph = false;
  bool prices = false;               // what more of each memory would save; with --memory only
  std::vector<AxisOption> by;        // the peak as formulas in these sizes; built-in models only
  bool split_automatically = false;  // into as many micro-batches as are fastest; built-in models only

  // Graphs of costs and bytes only.
  std::string check;  // judge this schedule instead of searching
};

// The options that say what is planned, for which machine and within what: those of every command that plans
// one graph for one budget.
void add_planning_options(CLI::App& app, const std::shared_ptr<PlanCommand>& command);
// What was given, without what is not allowed. Throws Error for options that can have no effect.
PlanCommand checked_planning(const CLI::App& app, const PlanCommand& given);

ExitCode plan_graph(const PlanCommand& command);  // a .ir file or a built-in model
ExitCode plan_dag(const PlanCommand& command);    // a .dag.json file

}  // namespace tidemark::cli
