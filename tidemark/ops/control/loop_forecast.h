// What reversing the loops of a prepared graph takes, known before anything runs: states kept and steps run.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tidemark/ir/graph.h"

namespace tidemark {

// Of a loop that is reversed from states. One that keeps the records of all steps runs each once and is not
// listed.
struct LoopForecast {
  SourceLine where;
  std::int64_t trips = 0;
  std::int64_t slots = 0;        // states kept at most
  std::int64_t state_bytes = 0;  // of one
  std::int64_t disk_slots = 0;   // states in files at most
  std::int64_t forward_steps =
      0;  // in all: the sweep, those advanced over again, and each once as it is reversed
};
// Those of the graph itself, not of its regions, and of known length. `planned` says what its regions take,
// as far as they are planned: schedules with files depend on how long a step is.
std::vector<LoopForecast> loop_forecasts(const Graph& graph,
                                         const std::function<std::vector<RegionFacts>(NodeId)>& planned = {});

// A line for each, for the end of a summary.
std::string to_text(const std::vector<LoopForecast>& forecasts);

}  // namespace tidemark
