// A graph made ready to run: expanded, optimised, planned, verified, its arena reserved, its kernels prepared.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tidemark/opt/optimize.h"
#include "tidemark/plan/pipeline.h"
#include "tidemark/runtime/executor.h"
#include "tidemark/trace/tensor.h"

namespace tidemark {

struct ProgramOptions {
  std::vector<std::string> skip_optimisations = {};  // passes of opt/optimize.h, by name
  PlanOptions plan = {};
};

// The graph as the planner gets it: ops without a kernel expanded, then optimised.
Graph prepare_graph(const Graph& graph, const std::vector<std::string>& skip_optimisations = {},
                    OptReport* report = nullptr);

class Program {
 public:
  // `graph` with its donated inputs marked.
  Program(const Graph& graph, const ProgramOptions& options, std::shared_ptr<Device> device);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Results may lie in the arena until the next run moves them out or someone takes a pointer (see Storage).
  std::vector<Tensor> run(std::span<const Tensor> inputs, SourceLine where);

  const Graph& graph() const { return graph_; }
  const Plan& plan() const { return plan_; }
  std::int64_t arena_high_water() const { return arena_.high_water(); }

 private:
  void move_results_out();
  void bind(std::span<const Tensor> inputs, SourceLine where);

  std::shared_ptr<Device> device_;
  Graph graph_;
  Plan plan_;
  Arena arena_;
  Executor executor_;
  std::vector<std::byte*> bound_;                 // memory of each input during a run
  std::vector<std::weak_ptr<Storage>> exported_;  // results of the last run that lie in the arena
};

}  // namespace tidemark
