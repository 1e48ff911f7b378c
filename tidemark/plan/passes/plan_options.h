// What the passes are told: budgets, what may be done to keep them, and how hard to try.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/effort.h"
#include "tidemark/base/ids.h"
#include "tidemark/plan/choices.h"
#include "tidemark/plan/spill/tier.h"
#include "tidemark/solve/remat/solvers.h"

namespace tidemark {

class SearchControl;
struct Draft;
struct RegionCache;
struct Target;

struct PlanOptions {
  std::optional<std::int64_t> memory =
      {};                               // bytes the program may hold, inputs included; none: the least that
                                        // costs no extra time
  std::vector<TierBudget> tiers = {};   // further memories of the machine that values may wait in; with a
                                        // budget of memory alone
  Choices allow = {};                   // what the plan may do; of them, recomputing is decided here
  const Machine* machine = nullptr;     // whose times count; null: reference_machine()
  const Target* target = nullptr;       // for which the engine prepares graphs and plans them; null: the CPU
  bool fixed_order = false;             // nodes first run in the graph's order
  std::vector<std::string> skip = {};   // passes by name; only the optional ones
  SolverChoice solvers = {};            // those that remat asks; those left out may be the only ones that fit
  Effort effort = {};                   // of the searches; a time counts where there is no control
  std::vector<NodeId> warm_start = {};  // executions of a plan for another budget, to start from
  std::function<void(std::string_view pass, const Draft& draft)> after = {};  // e.g. to dump to_text(draft)
  SearchControl* control =
      nullptr;             // a limit in time instead of the effort, a way to stop, progress; may be null
  bool one_round = false;  // of `effort`, even if the control has a limit in time
  bool floor =
      true;  // where nothing fits, look for the smallest there is; else what was met on the way will do
  RegionCache* regions =
      nullptr;  // plans of regions, for plannings of graphs that have some in common; may be null
  bool binds_outputs = false;     // a region's plan: the caller says where outputs go (Plan::binds_outputs)
  bool check_every_pass = false;  // finish and verify the draft after each pass; a report says its peak
};

}  // namespace tidemark
