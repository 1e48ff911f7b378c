// A machine whose rates are fitted to what plans really took: profiles in, rates out. It begins with a
// machine that is known, and bends its curves as far as the measurements ask for: a kind of work, a link or a
// codec that no profile has keeps its rates, and of few measurements a curve moves as a whole.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tidemark/cpu/calibrate_fit.h"
#include "tidemark/plan/profile/profile.h"

namespace tidemark {

// How far predictions of one kind of work are from what was measured, as factors: 1.25 is a quarter too long
// or too short. Each kernel of a profile counts once.
struct FitError {
  std::string kind = {};  // "contraction"; "copy ram → disk"; "encode lz4"
  int kernels = 0;
  double median_before = 1, worst_before = 1, median_after = 1, worst_after = 1;
};

struct FittedMachine {
  Machine machine = {};
  std::vector<FitError> errors = {};  // in the order of kinds of work; then links and codecs
  FitError all = {};                  // over all kernels
};

// Profiles of plans for one target, at least one, whose machine `base` may have been. The same profiles give
// the same machine: nothing is drawn, and no clock is asked.
FittedMachine fit_profiles(const Machine& base, std::span<const Profile> profiles);

// The rates nearest to `base` that explain measurements of one kind of work, the machine's overhead being
// known. Robust: an outlier counts by its logarithm, no more.
WorkRates refit_rates(const WorkRates& base, std::span<const Measurement> measurements, double overhead,
                      bool overlaps);

}  // namespace tidemark
