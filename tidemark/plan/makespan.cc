#include "tidemark/plan/makespan.h"

#include <algorithm>

#include "tidemark/base/check.h"

namespace tidemark {

Timetable timetable(const Plan& plan, std::span<const double> seconds) {
  TM_CHECK(seconds.size() == plan.steps.size(), "{} times for {} steps", seconds.size(), plan.steps.size());
  Timetable table{.begin = std::vector<double>(plan.steps.size(), 0),
                  .end = std::vector<double>(plan.steps.size(), 0),
                  .stalled = std::vector<double>(plan.lanes.size(), 0)};
  std::vector<double> free(plan.lanes.size(), 0);  // when the lane has run what it has
  for (std::size_t first = 0; first < plan.steps.size();) {
    const std::size_t last = group_end(plan, first);
    const auto lane = static_cast<std::size_t>(plan.steps[first].lane);
    double begin = free[lane], duration = 0;
    for (std::size_t t = first; t < last; ++t) {
      duration += seconds[t];
      for (std::int32_t wait : plan.steps[t].waits)
        begin = std::max(begin, table.end[static_cast<std::size_t>(wait)]);
    }
    table.stalled[lane] += begin - free[lane];
    free[lane] = begin + duration;
    for (std::size_t t = first; t < last; ++t) table.begin[t] = begin, table.end[t] = free[lane];
    table.makespan = std::max(table.makespan, free[lane]);
    first = last;
  }
  return table;
}

}  // namespace tidemark
