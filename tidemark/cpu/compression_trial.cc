#include "tidemark/cpu/compression_trial.h"

#include <algorithm>
#include <limits>

namespace tidemark {

void CompressionTrial::enter(Phase phase, int runs) {
  phase_ = phase;
  runs_left_ = runs;
  least_ = std::numeric_limits<double>::infinity();
}

// For longer and longer, as long as trials end alike.
void CompressionTrial::settle(bool compresses) {
  settled_runs_ = compresses == compresses_ && settled_runs_ > 0
                      ? std::min(2 * settled_runs_, most_settled_runs)
                      : first_settled_runs;
  compresses_ = compresses;
  enter(Phase::settled, settled_runs_);
}

void CompressionTrial::end_run(double seconds, bool promising) {
  least_ = std::min(least_, seconds);
  if (--runs_left_ > 0) return;
  switch (phase_) {
    case Phase::sampled:
      return enter(Phase::plain, timed_runs);
    case Phase::plain:
      least_plain_ = least_;
      return promising ? enter(Phase::compressed, timed_runs) : settle(false);
    case Phase::compressed:
      return settle(least_ < worth * least_plain_);
    case Phase::settled:
      return enter(Phase::sampled, 1);
  }
}

bool is_promising(double share, double codec_seconds, double disk_seconds) {
  return (1 - share) * disk_seconds > 1.5 * codec_seconds;
}

}  // namespace tidemark
