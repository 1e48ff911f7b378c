// The continuous adjoint with states of the forward run kept along the way.
//
// Going back, y drifts from where it was, by a factor that grows with the time gone back. With k states kept
// the interval has k + 1 pieces of equal length: in each, y starts from what the forward run computed, and
// the adjoint goes on from piece to piece. What y has drifted over a piece is known at its end, as the kept
// state lies there. Pieces are iterations of a loop; the kept states, one stack of them, are all that grows
// with k, beside the numbers of the pieces.
#pragma once
#include "tidemark/ode/field.h"
#include "tidemark/ode/options.h"

namespace tidemark::ode {

List with_kept_states(const ParameterField& f, const List& y0, const List& parameters, Interval time,
                      const OdeOptions& options, SourceLine where);

}  // namespace tidemark::ode
