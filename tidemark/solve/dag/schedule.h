// Schedules of a Dag as lists of nodes, one entry per run: their text, and a judge of them that shares
// nothing with the searches. It lays every version of a value on the line of steps, from the run that makes
// it to its last reader before the next one, and adds up.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/solve/dag/dag.h"

namespace tidemark {

struct ScheduleCheck {
  std::optional<std::string> fault = {};  // why it is no schedule of the graph; then nothing below counts
  std::int64_t peak = 0;
  int peak_at = 0;  // the first position with that load
  double cost = 0;
  int repeats = 0;       // runs beyond the first of each node
  bool in_order = true;  // first runs are in the graph's own order
};
ScheduleCheck check_schedule(const Dag& dag, std::span<const int> schedule);

// The nodes whose values are in memory while the run at `position` is under way, its own and its inputs
// included, largest first. The schedule has no fault.
std::vector<int> alive_at(const Dag& dag, std::span<const int> schedule, int position);

// Indices separated by white space. Errors name `origin`, the line and the entry.
Sequence schedule_from_text(std::string_view text, std::string_view origin);
std::string schedule_text(std::span<const int> schedule);

}  // namespace tidemark
