// The tools that differentiate the published problems: ours and whichever peers were found when this was
// built.
#pragma once
#include <optional>

#include "bench/scalar/measure.h"

namespace tidemark::bench {

struct Tool {
  std::string name;
  std::function<std::optional<Measured>(const Problem&, const Settings&)>
      run;  // nothing: not a row of this problem
};

void add_tidemark(std::vector<Tool>& tools);
void add_adolc(std::vector<Tool>& tools);
void add_cppad(std::vector<Tool>& tools);
void add_sacado(std::vector<Tool>& tools);
void add_stan(std::vector<Tool>& tools);

// A tool with one row for every problem. `make` gives, for a problem, what computes gradients and what then
// says the bytes of its tape.
struct Recorder {
  Gradient gradient;
  std::function<double()> tape_bytes;
};
template <class Make>
Tool tool(std::string name, Make make) {
  return {std::move(name), [make](const Problem& any, const Settings& settings) -> std::optional<Measured> {
            return std::visit(
                [&](const auto& problem) {
                  const Recorder recorder = make(problem);
                  Measured measured = measure(problem, settings, recorder.gradient);
                  if (recorder.tape_bytes) measured.tape_bytes = recorder.tape_bytes();
                  return measured;
                },
                any);
          }};
}

}  // namespace tidemark::bench
