// How the evaluations differentiate their functions: reverse mode on one tape, kept from run to run.
#pragma once
#include <span>
#include <vector>

#include "tidemark/scalar/scalar.h"

namespace tidemark::bench {

template <class F>
double primal(const F& f, const std::vector<double>& x) {
  return f(std::span<const double>(x));
}

inline Tape& kept_tape() {
  static Tape tape({.active = false});
  return tape;
}

template <class F>
std::vector<double> gradient(const F& f, const std::vector<double>& x) {
  Tape& tape = kept_tape();
  tape.clear();
  const auto active = tape.activate();
  const std::vector<Real> inputs = tape.inputs(x);
  tape.reverse(f(std::span<const Real>(inputs)));
  return tape.gradient(inputs);
}

}  // namespace tidemark::bench
