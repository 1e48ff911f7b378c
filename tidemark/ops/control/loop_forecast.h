// What reversing the loops of a prepared graph takes, known before anything runs: states kept and steps run.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tidemark/base/source.h"

namespace tidemark {

class Graph;

// Of a loop that is reversed from states. One that keeps the records of all steps runs each once and is not
// listed.
struct LoopForecast {
  SourceLine where;
  std::int64_t trips = 0;
  std::int64_t slots = 0;        // states kept at most; by each segment
  std::int64_t state_bytes = 0;  // of one
  std::int64_t segments = 1;
  std::int64_t disk_slots = 0;  // states that wait on the disk at most
  std::int64_t forward_steps =
      0;  // in all: the sweep, those advanced over again, and each once as it is reversed
};
// Those of the graph itself, not of its regions, and of known length.
std::vector<LoopForecast> loop_forecasts(const Graph& graph);

// A line for each, for the end of a summary.
std::string to_text(const std::vector<LoopForecast>& forecasts);

}  // namespace tidemark
