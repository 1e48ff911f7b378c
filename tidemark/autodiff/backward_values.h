// How the backward pass comes by the forward values it reads: the first so many couplings are undone, of the
// rest some wait in a smaller form, all others as they are.
#pragma once
#include "tidemark/autodiff/inverses.h"
#include "tidemark/autodiff/residuals.h"

namespace tidemark {

struct BackwardValues {
  std::size_t undone = 0;     // couplings (inverses.h)
  ResidualChoice forms = {};  // of the residuals that are left
  double drift = 0;           // by how much what is undone may be off
};

// The graph without marks; `errors` as lower_residuals.
inline Graph lower_backward_values(const Graph& traced, const BackwardValues& values, bool errors = false) {
  return lower_residuals(lower_inverses(traced, values.undone, values.drift), values.forms, errors);
}

}  // namespace tidemark
