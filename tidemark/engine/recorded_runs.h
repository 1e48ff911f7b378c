// The latest runs of a program that were recorded, for its profile. Runs are kept as they end, whichever
// thread they were on; what a run is copied into stays for later ones.
#pragma once
#include <mutex>
#include <vector>

#include "tidemark/runtime/arena.h"
#include "tidemark/runtime/make_profile.h"

namespace tidemark {

class RecordedRuns {
 public:
  static constexpr std::size_t most = 32;  // older ones make room

  // `session`: one number for each time that recording was switched on. Runs of earlier sessions are dropped.
  void add(int session, const RecordedTimes& times, std::span<Arena* const> arenas);
  // In the order of their ends; of this session.
  std::vector<RecordedRun> runs(int session) const;
  std::int64_t held_bytes() const;

 private:
  mutable std::mutex mutex_;  // of all
  int session_ = 0;
  std::size_t count_ = 0;          // of the session, so far
  std::vector<RecordedRun> kept_;  // that of number n at n % most
};

}  // namespace tidemark
