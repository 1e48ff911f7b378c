#include "tidemark/schedule/report.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace tidemark::schedule {

std::string Report::summary() const {
  std::string text =
      fmt::format("{} schedule of {} steps: {} forward steps predicted, {} done ({:.2f} per step)\n",
                  name_of(promise.kind), promise.steps, predicted_forward(), actual_forward(),
                  static_cast<double>(actual_forward()) / static_cast<double>(promise.steps));
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const LevelReport& level = levels[l];
    text += fmt::format("level {} in {}: at most {} slots of {}, {}; {} writes, {} reads, {:.3f} s stalled\n",
                        l, level.place, level.peak_slots, level.slots, to_string(level.peak_bytes),
                        level.writes, level.reads, level.stall_seconds);
  }
  if (hashed > 0) text += fmt::format("replay verified: {} states hashed, {} compared\n", hashed, compared);
  if (deviating_step >= 0)
    text +=
        fmt::format("largest deviation of a replay: {:g}, at state {}\n", largest_deviation, deviating_step);
  if (!healed.empty()) text += fmt::format("{} damaged snapshots recomputed\n", healed.size());
  if (resumed)
    text += fmt::format("resumed {} step {}\n", resumed->in_reverse ? "reversing at" : "forward from",
                        resumed->step);
  if (budget.changes > 0)
    text += fmt::format(
        "the budget changed {} times, to {} slots at the least: {} states dropped, {} forward steps {} "
        "planned\n",
        budget.changes, budget.least_slots, budget.dropped, std::abs(budget.extra_forward),
        budget.extra_forward < 0 ? "fewer than" : "more than");
  if (repeated > 0) text += fmt::format("{} forward steps beside the schedule\n", repeated);
  text += fmt::format("{:.3f} s, {:.1f}% of it stalled{}{}\n", seconds,
                      seconds > 0 ? 100 * stall_seconds / seconds : 0.0, io.empty() ? "" : ", files by ", io);
  return text;
}

}  // namespace tidemark::schedule
