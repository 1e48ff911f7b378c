// Tidemark: one tape, cleared for each gradient; with a budget, steps are marked and replayed from
// checkpoints.
#include <fmt/core.h>

#include <memory>

#include "bench/scalar/tools/tools.h"
#include "tidemark/scalar/scalar.h"

namespace tidemark::bench {

namespace {

struct Unmarked {
  Tape tape;

  template <class P>
  double run(const P& problem, std::span<const double> inputs, std::span<double> gradient) {
    tape.clear();
    const std::vector<Real> x = tape.inputs(inputs);
    const Real y = evaluate<Real>(problem, x);
    tape.reverse(y);
    for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = tape.gradient(x[i]);
    return value(y);
  }
};

}  // namespace

void add_tidemark(std::vector<Tool>& tools) {
  tools.push_back(tool("Tidemark", [](const auto& problem) {
    auto state = std::make_shared<Unmarked>();
    return Recorder{
        [=, &problem](std::span<const double> x, std::span<double> g) { return state->run(problem, x, g); },
        [=] { return static_cast<double>(state->tape.peak_bytes().count); }};
  }));
}

}  // namespace tidemark::bench
