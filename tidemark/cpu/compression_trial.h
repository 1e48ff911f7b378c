// Whether a plan's values go to the disk compressed: what its runs say. Compressing takes a processor that
// computing could have had, and saves time only where a run waits for the disk; so runs are timed as a whole.
//
//   sampled ──▶ plain, timed ──▶ compressed, timed ──▶ settled on the faster for a while ──▶ sampled …
//               └── no value promises anything ──────▶ settled on plain
//
// What runs compute never depends on it. No clock is in here.
#pragma once
#include <cstdint>

namespace tidemark {

class CompressionTrial {
 public:
  bool samples() const { return phase_ == Phase::sampled; }  // values are tried, and written as they are
  bool is_plain() const { return phase_ == Phase::plain; }   // the disk is timed
  bool compresses() const { return phase_ == Phase::compressed || (phase_ == Phase::settled && compresses_); }

  // A run has ended and took so long. `promising`: is there a value that would take less time compressed,
  // going by samples and the disk? Looked at when plain runs have been timed.
  void end_run(double seconds, bool promising);

 private:
  enum class Phase : std::uint8_t { sampled, plain, compressed, settled };
  static constexpr int timed_runs = 3, first_settled_runs = 16, most_settled_runs = 1024;
  static constexpr double worth = 0.98;  // of the plain runs' time: what is less is noise

  void enter(Phase phase, int runs);
  void settle(bool compresses);

  Phase phase_ = Phase::sampled;
  int runs_left_ = 1, settled_runs_ = 0;
  double least_ = 0, least_plain_ = 0;  // seconds, of the phase's runs so far and of the plain ones
  bool compresses_ = false;
};

// Does a value take less time compressed? Shares and seconds per byte: of what it shrinks to, of compressing
// and expanding, and of writing and reading. Compressing must save half as much again as it takes.
bool is_promising(double share, double codec_seconds, double disk_seconds);

}  // namespace tidemark
