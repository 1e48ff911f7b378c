// Tidemark: one tape, cleared for each gradient; with a budget, steps are marked and replayed from
// checkpoints.
#include <algorithm>
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

// Within a memory: what marches in time marks its steps.
struct Marked {
  Tape tape;

  explicit Marked(Bytes memory) : tape({.memory = memory}) {}

  template <Marches P>
  double run(const P& problem, std::span<const double> inputs, std::span<double> gradient) {
    tape.clear();
    const std::vector<Real> x = tape.inputs(inputs);
    std::vector<Real> state = problem.template initial<Real>(x);
    tape.steps(problem.steps(), std::span<Real>(state), [&problem](std::span<Real> u, std::int64_t) {
      std::vector<Real> next(u.size());
      problem.template advance<Real>(u, next);
      std::copy(next.begin(), next.end(), u.begin());
    });
    const Real y = problem.template result<Real>(state);
    tape.reverse(y);
    for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = tape.gradient(x[i]);
    return value(y);
  }
};

Tool within(std::string name, Bytes memory) {
  return {std::move(name), [memory](const Problem& any, const Settings& settings) -> std::optional<Measured> {
            return std::visit(
                [&](const auto& problem) -> std::optional<Measured> {
                  if constexpr (Marches<std::decay_t<decltype(problem)>>) {
                    Marked marked(memory);
                    Measured measured =
                        measure(problem, settings, [&](auto x, auto g) { return marked.run(problem, x, g); });
                    measured.tape_bytes = static_cast<double>(marked.tape.peak_bytes().count);
                    return measured;
                  } else {
                    return {};
                  }
                },
                any);
          }};
}

}  // namespace

void add_tidemark(std::vector<Tool>& tools) {
  tools.push_back(tool("Tidemark", [](const auto& problem) {
    auto state = std::make_shared<Unmarked>();
    return Recorder{
        [=, &problem](std::span<const double> x, std::span<double> g) { return state->run(problem, x, g); },
        [=] { return static_cast<double>(state->tape.peak_bytes().count); }};
  }));
  tools.push_back(within("Tidemark, cache-sized", scalars::cache_sized));
  tools.push_back(within("Tidemark, 32 MiB", Bytes(32 << 20)));
}

}  // namespace tidemark::bench
