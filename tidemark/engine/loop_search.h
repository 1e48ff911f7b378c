// The search for the modes of whole loops (loop_budget.h): one number for each loop, and one for the loops
// inside of it, each judged by a quick plan of everything.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/ir/graph.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/passes/regions.h"

namespace tidemark {

class LoopSearch {
 public:
  LoopSearch(const Graph& traced, const std::vector<std::string>& skip_optimisations,
             const PlanOptions& options);

  // With the modes of the fastest plan within options.memory, or of the fastest of all without one.
  Graph within_budget();
  // States in one slot; records, where they need less beside them than states do; or what needs least by
  // itself. The same whatever the budget, so that what is reported as the smallest can be asked for.
  Graph smallest();

  // Loops keep all that their reverse reads. Where that is not so, the time that they would take then.
  bool keeps_all() const { return keeps_all_; }
  double free_seconds() const { return free_seconds_; }
  Graph keeping_all() const { return graph(free()); }
  const Graph& unlowered() const { return unlowered_; }
  // What the loops of the graph that was given last were lowered with.
  LoopMemory chosen() const { return chosen_.empty() ? LoopMemory() : memory_with(chosen_); }
  // That the choice gives each loop.
  LoopMemory loop_memory() const { return memory_with(keeps_all_ ? free() : best_ ? *best_ : tightest()); }
  // Of the choice that was taken; none: it is not known to fit.
  const std::optional<std::pair<Graph, Plan>>& found() const { return found_; }

 private:
  // One number to choose: the limit of a loop, or of the loops inside one.
  struct Dial {
    std::size_t loop;
    bool inside;
    std::vector<std::int64_t> limits;  // falling
  };
  using Limits = std::vector<std::int64_t>;  // per dial
  struct Judged {
    bool fits = false;
    double seconds = 0;
    std::int64_t peak = 0;
  };
  struct Level {
    Limits limits;
    std::int64_t peak = 0;
    double seconds = 0;
  };

  static std::vector<Dial> dials_of(const std::vector<LoopModes>& loops);
  Limits free() const { return Limits(dials_.size(), unlimited_memory); }
  Limits tightest() const;
  bool late() const { return control_ && control_->time_is_up(); }
  LoopMemory memory_with(const Limits& limits) const;
  Graph graph(const Limits& limits) const;
  Plan plain_plan(Graph& g) const;
  std::int64_t floor(const Limits& limits) const;

  bool is_better(const Limits& limits, double seconds) const;
  bool consider(const Limits& limits);
  bool take(const Limits& limits, Graph g, Plan plan);
  void consider_plain(const Level& level);

  std::vector<Limits> levels() const;
  const std::vector<Level>& plain_levels();
  void keep_less_where_faster();
  void same_for_all();
  void same_for_all_with_tiers();
  std::optional<std::int64_t> next(std::size_t d, std::int64_t limit, bool freer) const;
  bool move(std::initializer_list<std::pair<std::size_t, bool>> changes);
  void one_or_two();
  void use_what_is_left();
  void try_harder();

  const Graph unlowered_;
  const std::vector<std::string>& skip_;
  const std::int64_t memory_;
  SearchControl* const control_;
  const double effort_;
  const bool may_repeat_;  // else loops keep all that their reverse reads
  const std::vector<TierBudget> tiers_;
  bool keeps_all_ = true;
  double free_seconds_ = 0;
  PlanOptions quick_;
  RegionCache regions_;
  const std::vector<LoopModes> modes_;
  const std::vector<Dial> dials_;
  std::map<Limits, Judged> judged_;
  std::optional<Limits> best_;
  Limits chosen_;                                // empty: no limits
  std::optional<std::pair<Graph, Plan>> found_;  // of the best
  std::vector<Level> plain_;
};

}  // namespace tidemark
