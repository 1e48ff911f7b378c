// The problems on which papers on operator overloading measure, as one interface: a name, inputs, a function
// of any scalar type. Those that march in time say their steps too, so that they can be replayed from
// checkpoints.
#pragma once
#include <concepts>
#include <utility>
#include <variant>

#include "bench/objectives/gmm.h"
#include "bench/objectives/lstm.h"
#include "bench/scalar/problems/burgers.h"
#include "bench/scalar/problems/euler.h"
#include "bench/scalar/problems/heat.h"

namespace tidemark::bench {

// Numbers without a library's generator: the same on every machine.
std::vector<double> spread(std::size_t count, double from, double to, double frequency);

struct LstmStep : Lstm {
  static constexpr const char* name = "LSTM";
  LstmStep() : Lstm{2, 14, spread(2 * 2 * 14, -0.5, 0.5, 1.3), spread(512 * 14, 0, 1, 0.7)} {}
  std::vector<double> inputs() const { return spread(parameters(), -0.8, 0.8, 2.1); }
};

struct GmmFit : Gmm {
  static constexpr const char* name = "GMM";
  GmmFit() : Gmm{10, 25, spread(1000 * 10, -1, 1, 0.9)} {}
  std::vector<double> inputs() const { return spread(parameters(), -0.5, 0.5, 1.7); }
};

template <class P>
concept Marches = requires(const P& problem) {
  { problem.steps() } -> std::convertible_to<std::int64_t>;
};

// The whole function.
template <class T, class P>
T evaluate(const P& problem, std::span<const T> inputs) {
  if constexpr (Marches<P>) {
    std::vector<T> state = problem.template initial<T>(inputs), next(state.size());
    for (std::int64_t step = 0; step < problem.steps(); ++step) {
      problem.template advance<T>(state, next);
      std::swap(state, next);
    }
    return problem.template result<T>(state);
  } else {
    return problem(inputs);
  }
}

using Problem = std::variant<Burgers, Heat, Euler, LstmStep, GmmFit>;

std::vector<Problem> published_problems();
std::vector<Problem> small_problems();  // the same functions, for checks

}  // namespace tidemark::bench
