#include "tidemark/engine/recorded_runs.h"

#include <algorithm>

namespace tidemark {

void RecordedRuns::add(int session, const RecordedTimes& times, std::span<Arena* const> arenas) {
  const std::lock_guard lock(mutex_);
  if (session < session_) return;  // it was switched off meanwhile
  if (session > session_) {
    session_ = session;
    count_ = 0;
  }
  const std::size_t place = count_++ % most;
  if (place == kept_.size()) kept_.emplace_back();
  RecordedRun& run = kept_[place];
  run.times = times;
  run.high_water.clear();
  for (const Arena* arena : arenas) run.high_water.push_back(arena->high_water());
}

std::vector<RecordedRun> RecordedRuns::runs(int session) const {
  const std::lock_guard lock(mutex_);
  std::vector<RecordedRun> list;
  if (session != session_) return list;
  const std::size_t count = std::min(count_, most);
  for (std::size_t i = 0; i < count; ++i) list.push_back(kept_[(count_ - count + i) % most]);
  return list;
}

std::int64_t RecordedRuns::held_bytes() const {
  const std::lock_guard lock(mutex_);
  std::int64_t bytes = 0;
  for (const RecordedRun& run : kept_)
    bytes += run.times.held_bytes() +
             static_cast<std::int64_t>(run.high_water.capacity() * sizeof(run.high_water[0]));
  return bytes;
}

}  // namespace tidemark
