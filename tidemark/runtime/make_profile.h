// From the times that devices note (recorded_times.h) to a profile of the plan: times of commands become
// those of its kernels, with what was predicted for them and where they came from; lifetimes of buffers at
// measured times become the memory curves.
#pragma once
#include <span>

#include "tidemark/plan/machine.h"
#include "tidemark/plan/profile/profile.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/runtime/recorded_times.h"

namespace tidemark {

class Graph;

struct RecordedRun {
  RecordedTimes times = {};
  std::vector<std::int64_t> high_water = {};  // of the arena of each memory
};

// `runs`: one at least, of this plan. `machine` has the plan's memories, the links between them and rates of
// its codecs.
Profile make_profile(const Graph& graph, const VerifiedPlan& plan, const Machine& machine,
                     std::span<const RecordedRun> runs);

}  // namespace tidemark
