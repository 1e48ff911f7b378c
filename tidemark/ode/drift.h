// How far a state that was integrated back lies from where it began, reported and held against a tolerance
// when the program runs.
#pragma once
#include "tidemark/ode/field.h"
#include "tidemark/ode/options.h"

namespace tidemark::ode {

// The gradients as they are; computing any of them reports the drift, or throws TM0602.
List guarded(const List& gradients, const List& began, const List& reconstructed, const OdeOptions& options,
             SourceLine where);

}  // namespace tidemark::ode
