#include "tidemark/schedule/replay_hashes.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/schedule/checksum.h"

namespace tidemark::schedule {

void ReplayHashes::visit(const Simulation& simulation, Step step) {
  if (!on_) return;
  scratch_.resize(simulation.state_bytes());
  simulation.save_state(scratch_);
  const std::uint64_t hash = checksum(scratch_);
  const auto s = static_cast<std::size_t>(step);
  if (s >= hashes_.size()) hashes_.resize(s + 1, 0);
  if (hashes_[s] == 0) {
    hashes_[s] = hash;
    ++hashed;
    return;
  }
  ++compared;
  if (hashes_[s] != hash)
    fail(ErrorCode::replay_diverged,
         {.what = fmt::format(
              "step {} gave another state when it was replayed: state {} hashes to {:016x}, at its "
              "first visit to {:016x}",
              step - 1, step, hash, hashes_[s]),
          .expected = "the same bits from advance and record, every time, for the same state and step",
          .help = "look in this step for random numbers, unordered sums over threads, uninitialised memory, "
                  "or members "
                  "of the stepper that change; log what a step decides with StepLog"});
}

bool ReplayHashes::agree(std::span<const std::byte> bytes, Step step) const {
  const auto s = static_cast<std::size_t>(step);
  if (!on_ || s >= hashes_.size() || hashes_[s] == 0) return true;
  ++compared;
  return checksum(bytes) == hashes_[s];
}

void ReplayHashes::restore(Step first, std::span<const std::uint64_t> hashes) {
  if (!on_) return;
  const auto begin = static_cast<std::size_t>(first);
  if (begin + hashes.size() > hashes_.size()) hashes_.resize(begin + hashes.size(), 0);
  std::copy(hashes.begin(), hashes.end(), hashes_.begin() + static_cast<std::ptrdiff_t>(begin));
}

}  // namespace tidemark::schedule
