// How odeint() integrates, and how its gradient comes about.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tidemark/base/bytes.h"

namespace tidemark {

enum class OdeMethod {
  euler,              // order 1, fixed steps
  midpoint,           // order 2, fixed steps
  rk4,                // order 4, fixed steps
  dopri5,             // Dormand-Prince 5(4): steps chosen by the estimated error
  implicit_midpoint,  // order 2, fixed steps, for stiff systems: Newton's method with the dense Jacobian at each
  leapfrog,  // asynchronous leapfrog (Mutze 2013, Zhuang et al. 2021): order 2, fixed steps, can be run backwards
};

enum class OdeGradient {
  discrete,  // of the computed result, exact: the steps are differentiated, as a loop in the program's memory
  adjoint,  // of the exact solution: state and adjoint are integrated backwards; memory does not grow with steps
  reversible,  // of the computed result: each leapfrog step is undone; memory does not grow with steps
};

// How far the state that was integrated backwards lies from y0, or from the state kept there: largest
// difference / (1 + largest |y|).
struct OdeDrift {
  double latest = 0;                // of the worst piece
  double largest = 0;               // of all gradients so far
  std::vector<double> pieces = {};  // of the latest gradient, by piece between kept states, from t0 on
};

struct OdeOptions {
  OdeMethod method = OdeMethod::dopri5;
  OdeGradient gradient = OdeGradient::discrete;
  std::int64_t steps = 100;  // of the methods with fixed steps
  // dopri5: a step is taken if its error is below atol + rtol |y|, in the mean square over all elements.
  double rtol = 1e-6, atol = 1e-9;
  std::int64_t max_steps = 10'000;        // dopri5: taken and rejected ones; more are an error
  std::optional<double> first_step = {};  // dopri5; none: from the size of y0 and its slope
  // implicit_midpoint: until the change is below tolerance · (1 + largest |y|). None: 1e-10 in f64, else
  // 1e-5.
  std::optional<double> newton_tolerance = {};
  std::int64_t newton_steps = 25;  // more are an error
  // Gradients by adjoint or reversible: more drift is an error when the gradient is computed.
  double drift_tolerance = 1e-3;
  // adjoint: so many states of the forward run are kept, at equal distances between t0 and t1. Backwards, the
  // state is replaced by each as it is reached, so that drift grows over one piece only. Of fixed steps at
  // most steps - 1; with dopri5, each piece has steps of its own.
  std::int64_t kept_states = 0;
  std::shared_ptr<OdeDrift> drift = {};  // where to report it, if given
  std::optional<Bytes> memory = {};      // discrete: what the loop may keep, as in LoopOptions
};

}  // namespace tidemark
