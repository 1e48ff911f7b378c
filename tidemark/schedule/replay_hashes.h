// A hash of every state at its first visit, held against every later one: a replay that differs is found at the step
// where it does.
#pragma once
#include <span>
#include <vector>

#include "tidemark/schedule/simulation.h"

namespace tidemark::schedule {

class ReplayHashes {
 public:
  explicit ReplayHashes(bool on) : on_(on) {}
  bool on() const { return on_; }
  void reserve(Step steps) {
    if (on_) hashes_.reserve(static_cast<std::size_t>(steps) + 1);
  }

  // The simulation has reached state `step`. Throws Error `replay_diverged` when it was another at the first visit.
  void visit(const Simulation& simulation, Step step);
  // Bytes that claim to be state `step`: false when they are not. Unknown states are believed.
  bool agree(std::span<const std::byte> bytes, Step step) const;

  std::span<const std::uint64_t> known() const { return hashes_; }  // by state; 0: not known
  void restore(Step first, std::span<const std::uint64_t> hashes);
  std::int64_t hashed = 0;
  mutable std::int64_t compared = 0;

 private:
  bool on_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::byte> scratch_;
};

}  // namespace tidemark::schedule
