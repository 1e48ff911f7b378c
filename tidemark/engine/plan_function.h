// From a traced function to its plan: within the budget, inside the memory of the largest batch, or with
// reasons why not and what would fit.
#pragma once
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/autodiff/backward_values.h"
#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/engine/budget_reports.h"
#include "tidemark/engine/compile_options.h"
#include "tidemark/engine/program.h"
#include "tidemark/engine/traced_function.h"

namespace tidemark {

struct PlannedFunction {
  Graph graph;  // as planned
  Plan plan;
  std::int64_t reserve = 0;  // bytes of the arena that later batches may need; at least the plan's
  BackwardValues values = {};
  MicroBatches micro_batches = {};
  LoopMemory loops = {};  // with which the graph's loops were lowered
};

// Plans for the largest batch, by everything else that a call's key holds: the latest few. One thread at a
// time plans; any may ask what is held.
class LargestPlans {
 public:
  const PlannedFunction* find(const std::string& key);  // null: there is none; valid until the next insert
  const PlannedFunction& insert(const std::string& key, PlannedFunction planned);
  void clear();
  struct Held {
    std::size_t plans = 0;
    HeldBytes bytes;
  };
  Held held() const;

 private:
  static constexpr std::size_t most = 4;
  mutable std::mutex mutex_;
  std::list<std::pair<std::string, PlannedFunction>> plans_;  // the latest first
};

// `traced`: for the function's own types. Throws InfeasibleBudget at `where`, and Error for a function that
// cannot be computed in the micro-batches asked for.
PlannedFunction plan_function(const TracedFunction& function, const Graph& traced,
                              const CompileOptions& options, LargestPlans& largest, SourceLine where);

SmallestBudget smallest_budget(const Graph& traced, const CompileOptions& options);

// Budgets rise, times fall. Loops of `traced` take, at each point, the modes that fit it.
std::vector<FrontierPoint> frontier_points(const Graph& traced, const CompileOptions& options, int points);
// The same of graphs that compute the same, such as a batch cut in several ways: at each point the fastest.
// Extra time is counted from the first's. `options.memory` plays no part.
std::vector<FrontierPoint> frontier_points(std::span<const Graph> traced, const std::optional<Lossy>& lossy,
                                           const std::vector<std::string>& skip_optimisations,
                                           const PlanOptions& options, int points);

// The formula of a plan's peak in the batch size; none where no argument holds a batch, or where the graph
// itself depends on it.
std::optional<Footprint> footprint_of(const TracedFunction& function, const CompileOptions& options,
                                      const Program& program, SourceLine where);

}  // namespace tidemark
