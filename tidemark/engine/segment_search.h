// Into how many segments loops are cut (autodiff/loop_segments.h) where values may wait in other memories.
// What a whole loop keeps for its reverse can only leave as one, and must be in memory as one when the
// reverse begins; that of a segment leaves while the next one runs, and returns while a later one is
// reversed.
//
//   memory  ▁▂▃▄▅▆▇█▇▆▅▄▃▂▁   whole      memory  ▁▂▃▃▃▃▃▃▃▃▃▃▃▂▁   in segments
//   disk                                 disk      ▁▂▃▄▅▅▅▄▃▂▁
//
// More segments need less memory beside what waits. Where steps may be computed again, less can be kept of
// each, so that less has to move. A number of segments is judged by quick plans in which nothing runs again,
// then what is kept of each step; the best of either gets plans with more care. What may run again outside
// adds plans and takes none away, so that allowing it is never slower.
#pragma once
#include <optional>

#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/plan/passes/regions.h"

namespace tidemark {

// `unlowered`: prepare_unlowered.
class SegmentSearch {
 public:
  SegmentSearch(const Graph& unlowered, const std::vector<std::string>& skip_optimisations,
                const PlanOptions& options);

  // No tiers, or no loop that keeps enough to be worth it: there is nothing to choose.
  bool empty() const { return counts_.empty(); }

  // The fastest within options.memory; none: nothing fits.
  std::optional<PlanWithLoops> within_budget();
  // The smallest that fits while nothing runs again, with the budget it was asked for: the same whatever
  // options.memory says, so that it can be reported and planned for.
  const std::optional<PlanWithLoops>& smallest();

 private:
  // How loops are cut, and how much of its records each keeps: `level` of most_levels from all to the least.
  struct Cut {
    std::int64_t count = 0, level = 0;
  };
  struct Judged {
    Cut cut;
    PlanWithLoops planned;
  };
  LoopMemory memory_with(const Cut& cut) const;
  Graph graph(const LoopMemory& memory) const;
  bool is_cut(const LoopModes& modes) const;
  PlanWithLoops quick_plan(const Cut& cut, std::optional<std::int64_t> memory, const Choices& allow);
  std::optional<PlanWithLoops> roughly();
  bool judge(const Cut& cut, const Choices& allow, std::optional<Judged>& best);
  PlanWithLoops careful_plan(const Cut& cut, const Choices& allow, double effort) const;

  const Graph& unlowered_;
  const std::vector<std::string>& skip_;
  const PlanOptions& options_;
  const std::vector<LoopModes> modes_;
  std::int64_t least_records_ = 1;    // of a loop that is cut
  std::vector<std::int64_t> counts_;  // of segments, ascending
  std::int64_t levels_ = 0;           // at which less is kept
  RegionCache regions_;               // of quick plans
  bool has_smallest_ = false;         // it was looked for
  std::optional<PlanWithLoops> smallest_;
};

}  // namespace tidemark
