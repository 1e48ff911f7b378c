// Regions (the bodies of loops and branches) are planned before the graph they stand in: once, however often
// they run. Of their plans the passes see only what the op's facts make of them: workspace and time of the
// node. Where a budget is tight, regions have plans in less memory as well, in which more runs again inside:
// the modes of the node.
//
//   seconds of the node │ ╲
//                       │  ╲__        a mode: for each region the fastest plan in so much memory
//                       │     ╲____
//                       └────────────▶ scratch of the node
#pragma once
#include <map>
#include <memory>

#include "tidemark/plan/passes/pipeline.h"

namespace tidemark {

// Plans of regions in falling memory, by effort, what is allowed and text: loops in different modes have
// bodies in common.
struct RegionCache {
  std::map<std::string, std::vector<Plan>> plans;
};

class Bodies {
 public:
  // Plans every region for the same machine and effort as the graph's plan, in the least memory that costs no
  // extra time.
  Bodies(const Graph& graph, const Target& target, const PlanOptions& options);
  ~Bodies();
  Bodies(const Bodies&) = delete;
  Bodies& operator=(const Bodies&) = delete;

  bool empty() const { return size() == 0; }
  // Looks for the other modes, once, with little effort; only of regions that take `worth` bytes or more.
  // False: no further region was looked at. Choices made before do not name the modes there are then.
  bool find_modes(std::int64_t worth);
  bool have_modes() const;  // of some node more than one

  struct Mode {
    std::vector<std::size_t> plans;  // per region: which of its plans
    std::int64_t scratch = 0;        // of the node
    double seconds = 0;
  };
  // Of each node with regions, in the graph's order, from the one without a budget to the smallest.
  std::size_t size() const;
  NodeId node(std::size_t k) const;
  const std::vector<Mode>& modes(std::size_t k) const;

  using Choice = std::vector<std::size_t>;  // per node with regions: its mode
  Choice free() const { return Choice(size(), 0); }
  Choice tightest() const;
  RegionPlans in(const Choice& choice) const;

 private:
  struct Region;
  struct Planned;
  std::string key_of(const Graph& region) const;  // in the cache
  void find_plans(Region& region) const;
  void combine(Planned& planned) const;

  const Graph& graph_;
  const Target& target_;
  std::unique_ptr<RegionCache> own_plans_;  // where the caller has no cache
  PlanOptions inside_;
  std::vector<Planned> nodes_;
};

// One planning of a graph whose regions are planned (pipeline.cc).
Result<Plan, Infeasible> plan_once(const Graph& graph, const Target& target, const PlanOptions& options,
                                   Bodies& bodies, PipelineReport* report = nullptr);

}  // namespace tidemark
