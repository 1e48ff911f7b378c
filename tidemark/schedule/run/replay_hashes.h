// What every state was at its first visit, held against every later one: a replay that differs is found at
// the step where it does. A hash of its bits, or, where the stepper compares for itself, a summary of the
// stepper's.
#pragma once
#include <span>
#include <vector>

#include "tidemark/schedule/run/simulation.h"

namespace tidemark::schedule {

class ReplayHashes {
 public:
  // `tolerance`: the largest deviation that the stepper's own comparison may give.
  ReplayHashes(bool on, const Simulation& simulation, double tolerance);
  bool on() const { return on_; }
  void reserve(Step steps) {
    if (on_) hashes_.reserve((static_cast<std::size_t>(steps) + 1) * words_);
  }

  // The simulation has reached state `step`. Throws Error `replay_diverged` when it was another at the first
  // visit.
  void visit(const Simulation& simulation, Step step);
  // Bytes that claim to be state `step`: false when they are not. Unknown states are believed, and, where the
  // stepper compares for itself, all that have the checksum of their file.
  bool agree(std::span<const std::byte> bytes, Step step) const;

  // By state: a hash, 0 when it is not known, and behind it the summary.
  std::span<const std::uint64_t> known() const { return hashes_; }
  std::size_t words() const { return words_; }  // of each state
  void restore(std::span<const std::uint64_t> hashes, std::size_t words);

  std::int64_t hashed = 0;
  mutable std::int64_t compared = 0;
  double largest_deviation = 0;  // of the stepper's comparison
  Step deviating_step = -1;      // the state where it was

 private:
  void compare(const Simulation& simulation, Step step, std::span<const std::byte> first);

  bool on_;
  double tolerance_;
  std::size_t summary_bytes_, words_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::byte> scratch_;
};

}  // namespace tidemark::schedule
