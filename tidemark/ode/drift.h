// How far a state that was integrated back lies from where it began, reported and held against a tolerance
// when the program runs.
#pragma once
#include "tidemark/ode/field.h"
#include "tidemark/ode/options.h"

namespace tidemark::ode {

// largest difference / (1 + largest |expected|), in f64
Tensor drift_from(const List& expected, const List& reconstructed);

// The gradients as they are; computing any of them reports the drifts, or throws TM0602. `drifts`: f64, in
// the order in which the pieces were integrated, the one that ends at t0 last.
List guarded(const List& gradients, const Tensor& drifts, const OdeOptions& options, SourceLine where);

}  // namespace tidemark::ode
