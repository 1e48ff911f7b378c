// A graph made ready to run: expanded, optimised, planned, verified; then its arena reserved, its kernels
// prepared. Any number of threads may run it at once; the workspace says whether they take turns.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/autodiff/backward_values.h"
#include "tidemark/engine/held_bytes.h"
#include "tidemark/engine/prepare_graph.h"
#include "tidemark/engine/program_options.h"
#include "tidemark/engine/recorded_runs.h"
#include "tidemark/engine/workspace.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/plan_origin.h"
#include "tidemark/runtime/executor.h"
#include "tidemark/trace/storage.h"
#include "tidemark/trace/tensor.h"

namespace tidemark {

struct CompileOptions;  // compile_options.h

// What the batch of a call was cut into (micro_batches.h).
struct MicroBatches {
  std::int64_t count = 1, examples = 0;  // of each
};

// Results up to this size are copied out of the arena at once, and count as the caller's own.
inline constexpr std::int64_t small_result_bytes = 4096;

class Program {
 public:
  // `graph` with its donated inputs marked. Throws InfeasibleBudget.
  Program(const Graph& graph, const ProgramOptions& options, std::shared_ptr<Device> device);
  // A prepared graph and a plan of it that leaves donated state alone while it can fail (state_safety.h), to
  // run in a workspace that others may use in between, and that is to have at least so many bytes.
  // `planned_with`: for reports that plan again; may be null.
  Program(Graph prepared, Plan plan, std::shared_ptr<Workspace> workspace, std::int64_t at_least = 0,
          BackwardValues values = {}, MicroBatches micro_batches = {}, PlanOrigin origin = {},
          std::shared_ptr<const CompileOptions> planned_with = {});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Takes the memory that the plan asks for and makes the kernels ready; the first run does it otherwise.
  void reserve(SourceLine where = {});
  // Inputs may lie anywhere: those of the host, or of another device than the program's, are copied to it for
  // the run, and what is donated moves there (bound_arguments.h).
  // Results may lie in the arena until the next run moves them out or someone takes a pointer (see Storage).
  // Throws infeasible_budget where those of earlier runs that are still held would, with the plan, exceed its
  // budget. When it throws, donated inputs are what they were.
  // `recording`: the session for whose profile the run is timed; 0: none.
  std::vector<Tensor> run(std::span<const Tensor> inputs, SourceLine where, int recording = 0);
  // Of the runs that were recorded in this session; none: there are none.
  std::optional<Profile> profile(int recording, const Machine& machine) const;

  const Graph& graph() const { return graph_; }
  const Plan& plan() const { return *plan_; }
  const Target& target() const { return plan_.target(); }
  const Machine& machine() const;  // of the device that it runs on
  const BackwardValues& backward_values() const { return backward_values_; }
  const MicroBatches& micro_batches() const { return micro_batches_; }
  // With the budget that the plan had, results that are to be held left out; null: not known.
  const CompileOptions* planned_with() const { return planned_with_.get(); }
  const PlanOrigin& origin() const { return origin_; }                  // of the plan, where it is known
  std::int64_t arena_high_water() const { return high_water_.load(); }  // over all runs of this program
  HeldBytes held() const;
  PlannedAlgorithms algorithms() const;  // with which it runs, once it is ready to (plan/algorithms.h)

 private:
  // What the plan's steps need to run in one arena of the workspace.
  struct Ready {
    std::optional<Executor> executor;
    int generation = 0;  // of the arena that the executor was made for
  };
  Executor& prepare(const Workspace::Lease& lease, SourceLine where);
  void check_held(std::span<const Tensor> inputs, SourceLine where) const;
  std::vector<std::shared_ptr<Storage>> result_storages(const Workspace::Lease& lease) const;
  void set_recording(Executor& executor, const Workspace::Lease& lease, bool on, SourceLine where);
  void read_small(std::span<const std::shared_ptr<Storage>> storages, const Arena& arena) const;

  Graph graph_;
  VerifiedPlan plan_;
  const BackwardValues backward_values_;
  std::shared_ptr<Workspace> workspace_;
  std::vector<std::int64_t> workspace_bytes_;  // by memory
  HeldBytes held_;                             // of the graph and the plan
  const MicroBatches micro_batches_ = {};
  const PlanOrigin origin_ = {};
  const std::shared_ptr<const CompileOptions> planned_with_;
  mutable std::mutex mutex_;                   // of the list; each entry belongs to who runs in its arena
  std::vector<std::unique_ptr<Ready>> ready_;  // by the arena's number
  PlannedAlgorithms algorithms_;               // under the mutex
  std::atomic<std::int64_t> kernel_bytes_{0};  // of all executors
  std::atomic<std::int64_t> high_water_{0};
  RecordedRuns recorded_;
};

}  // namespace tidemark
