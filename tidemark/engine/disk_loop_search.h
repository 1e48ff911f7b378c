// Loops with a disk of their own (LoopOptions::disk), cut into segments that wait there (disk_cuts.h). The
// cuts that are best by the formula are planned, with the waiting asked for as hints ask for it; the fastest
// is taken if it is faster than loops that leave the disk alone.
#pragma once
#include <optional>

#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/engine/disk_cuts.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/plan/passes/regions.h"

namespace tidemark {

// Where the machine's file knows of no disk, the reference machine's.
Machine with_disk(Machine machine);

// `unlowered`: prepare_unlowered.
class DiskLoopSearch {
 public:
  DiskLoopSearch(const Graph& unlowered, const std::vector<std::string>& skip_optimisations,
                 const PlanOptions& options);

  bool empty() const { return wishes_.empty(); }
  // The fastest of these and `whole`, in which no loop uses its disk; `others` is what loops without one may
  // take. Where a loop's disk has no effect, the plan says why. Without a budget, in no more memory than
  // `whole` takes, but for what a loop must have, and slices of one segment.
  PlanWithLoops best_with(PlanWithLoops whole, const LoopMemory& others);

 private:
  // A loop, and ways to cut it that are left to try.
  struct Waiting {
    const DiskLoop* loop;
    std::vector<DiskCut> ways;
  };
  std::string why_not(const DiskLoop& loop) const;  // empty: it may be cut
  DiskLoopRates rates_of(const DiskLoop& loop) const;
  // `available`: of the budget, beside the inputs.
  std::vector<DiskCut> cuts_of(const DiskLoop& loop, const DiskLoopRates& rates,
                               std::int64_t available) const;
  std::optional<PlanWithLoops> planned(const std::vector<Waiting>& waiting, const LoopMemory& others,
                                       std::int64_t budget);
  // `rest`: seconds of what is not in these loops.
  std::optional<PlanWithLoops> fastest(std::vector<Waiting> waiting, const LoopMemory& others,
                                       std::int64_t budget, double rest);

  const Graph& unlowered_;
  const std::vector<std::string>& skip_;
  const std::vector<FolderWish> wishes_;
  std::vector<DiskLoop> loops_;
  const std::size_t loop_count_;  // of all with a number
  const Machine machine_;         // with a disk
  PlanOptions options_;
  RegionCache regions_;
};

}  // namespace tidemark
