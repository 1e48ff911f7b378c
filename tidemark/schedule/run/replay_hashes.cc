#include "tidemark/schedule/run/replay_hashes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tidemark/base/error.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark::schedule {

ReplayHashes::ReplayHashes(bool on, const Simulation& simulation, double tolerance)
    : on_(on),
      tolerance_(tolerance),
      summary_bytes_(simulation.summary_bytes()),
      words_(1 + (summary_bytes_ + 7) / 8) {}

void ReplayHashes::visit(const Simulation& simulation, Step step) {
  if (!on_) return;
  if (summary_bytes_ > 0) {
    scratch_.resize(summary_bytes_);
    simulation.save_summary(scratch_);
  } else {
    scratch_.resize(simulation.state_bytes());
    simulation.save_state(scratch_);
  }
  const std::uint64_t hash = checksum(scratch_);
  const std::size_t at = static_cast<std::size_t>(step) * words_;
  if (at >= hashes_.size()) hashes_.resize(at + words_, 0);
  if (hashes_[at] == 0) {
    hashes_[at] = hash;
    if (summary_bytes_ > 0) std::memcpy(&hashes_[at + 1], scratch_.data(), summary_bytes_);
    ++hashed;
    return;
  }
  ++compared;
  if (summary_bytes_ > 0)
    return compare(simulation, step, std::as_bytes(std::span(hashes_).subspan(at + 1)).first(summary_bytes_));
  if (hashes_[at] != hash)
    fail(ErrorCode::replay_diverged,
         {.what = fmt::format(
              "step {} gave another state when it was replayed: state {} hashes to {:016x}, at its "
              "first visit to {:016x}",
              step - 1, step, hash, hashes_[at]),
          .expected = "the same bits from advance and record, every time, for the same state and step",
          .help =
              "look in this step for random numbers, unordered sums over threads, uninitialised memory, "
              "or members "
              "of the stepper that change; log what a step decides with StepLog; a step that is the same to "
              "a tolerance only needs summary and deviation"});
}

// Not a number is no deviation to be content with.
void ReplayHashes::compare(const Simulation& simulation, Step step, std::span<const std::byte> first) {
  const double deviation = simulation.deviation(first, scratch_);
  if (std::isnan(deviation) || deviation > largest_deviation || deviating_step < 0) {
    largest_deviation = deviation;
    deviating_step = step;
  }
  if (!(deviation <= tolerance_))
    fail(ErrorCode::replay_diverged,
         {.what =
              fmt::format("step {} gave another state when it was replayed: state {} deviates by {:g} from "
                          "its first visit",
                          step - 1, step, deviation),
          .expected = fmt::format("a deviation of at most {:g}, the tolerance of the run", tolerance_),
          .help = "look in this step for what differs, or allow for more with RunOptions::tolerance"});
}

bool ReplayHashes::agree(std::span<const std::byte> bytes, Step step) const {
  const std::size_t at = static_cast<std::size_t>(step) * words_;
  if (!on_ || summary_bytes_ > 0 || at >= hashes_.size() || hashes_[at] == 0) return true;
  ++compared;
  return checksum(bytes) == hashes_[at];
}

void ReplayHashes::restore(std::span<const std::uint64_t> hashes, std::size_t words) {
  if (on_ && words == words_) hashes_.assign(hashes.begin(), hashes.end());
}

}  // namespace tidemark::schedule
