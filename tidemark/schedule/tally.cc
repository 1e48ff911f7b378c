#include "tidemark/schedule/tally.h"

#include <algorithm>
#include <array>

#include "tidemark/schedule/question.h"

namespace tidemark::schedule {

void tally(const Question& question, ActionStream& actions, Promise& promise) {
  promise.advances = promise.recorded = 0;
  const std::size_t levels = question.levels.size();
  std::vector<std::int64_t> used(levels), bytes(levels);
  std::vector<std::vector<bool>> is_record(levels);
  const auto take = [&](const Action& action, bool record) {
    const auto level = static_cast<std::size_t>(action.level), slot = static_cast<std::size_t>(action.slot);
    if (is_record[level].size() <= slot) is_record[level].resize(slot + 1);
    is_record[level][slot] = record;
    bytes[level] += record ? question.record_bytes : question.state_bytes;
    promise.writes[level] += 1;
    promise.peak_slots[level] = std::max(promise.peak_slots[level], ++used[level]);
    promise.peak_bytes[level] = std::max(promise.peak_bytes[level], bytes[level]);
  };
  std::array<Action, 256> batch;
  for (std::size_t count; (count = actions.fill(batch)) > 0;) {
    for (std::size_t i = 0; i < count; ++i) {
      const Action& action = batch[i];
      const auto level = static_cast<std::size_t>(action.level);
      switch (action.kind) {
        case ActionKind::advance:
          promise.advances += action.to - action.step;
          break;
        case ActionKind::record:
          promise.recorded += 1;
          if (action.level != working) take(action, true);
          break;
        case ActionKind::store:
          take(action, false);
          break;
        case ActionKind::reverse:
          if (action.level != working) promise.reads[level] += 1;
          break;
        case ActionKind::load:
          promise.reads[level] += 1;
          break;
        case ActionKind::drop:
          used[level] -= 1;
          bytes[level] -= is_record[level][static_cast<std::size_t>(action.slot)] ? question.record_bytes
                                                                                  : question.state_bytes;
          break;
      }
    }
  }
  promise.cost = cost_of(question, promise);
}

}  // namespace tidemark::schedule
