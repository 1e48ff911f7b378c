// Integration whose gradient runs backwards in time, in memory that does not grow with the number of steps.
#pragma once
#include "tidemark/ode/field.h"
#include "tidemark/ode/options.h"

namespace tidemark::ode {

// The continuous adjoint (Pontryagin 1962; Chen et al. 2018): y' = f, a' = −aᵀ ∂f/∂y, g' = −aᵀ ∂f/∂p, from t1
// to t0 by the method of the forward run. Exact as far as both integrations are.
List with_adjoint(const ParameterField& f, const List& y0, const List& parameters, Interval time,
                  const OdeOptions& options, SourceLine where);

// Leapfrog steps undone one by one, each differentiated where it was made: the discrete gradient, up to
// rounding.
List with_undone_steps(const ParameterField& f, const List& y0, const List& parameters, Interval time,
                       const OdeOptions& options, SourceLine where);

}  // namespace tidemark::ode
