// A device that is not there: any number of memories and lanes, a virtual clock, real kernels for the values.
// It runs any plan as its worst user would: lanes drift apart as far as waits allow, a launch may read its
// operands when it begins or only when it ends, and from its beginning to its end what it writes is rubbish.
// So a plan with a wait too few, or with two buffers on the same bytes, gives wrong bits under some delays.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "tidemark/base/attrs.h"
#include "tidemark/base/parallel.h"
#include "tidemark/plan/plan.h"

namespace tidemark::testing {

// An injected failure came to the host.
class SimulatedFailure : public std::runtime_error {
 public:
  explicit SimulatedFailure(std::size_t step) : std::runtime_error("a simulated failure"), step(step) {}
  std::size_t step;
};

struct SimulatedOptions {
  std::span<const double> seconds;          // per step; a group takes as long as its steps together
  std::uint64_t seed = 0;                   // of which launches read late
  std::optional<std::size_t> fail_at = {};  // a step: throws SimulatedFailure when it has run
};

struct SimulatedRun {
  std::vector<Literal> outputs;
  double clock = 0;  // when the last launch ended
};

// `inputs` stay as they are: donated ones are copied first. The plan needs no soundness beyond references and
// waits that name what exists.
SimulatedRun run_simulated(const Graph& graph, const Plan& plan, std::span<const Literal> inputs,
                           const SimulatedOptions& options, ThreadPool& pool);

}  // namespace tidemark::testing
