// Which graph a plan is of, and what was decided before it was planned: how the graph came of the one that
// was traced. With it a plan that was written down can be run again without a search (engine/saved_plan.h).
// Decisions alone are recorded, no graph: a file cannot change what is computed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tidemark {

struct PlanOrigin {
  std::string traced = {};    // the fingerprint of the function as it was traced; empty: it is not known
  std::string prepared = {};  // that of the graph that was planned
  std::string function = {};  // what people may know it by: its inputs, outputs and nodes
  std::int64_t micro_batches = 1;

  // What waits for the backward pass (autodiff/backward_values.h).
  std::int64_t undone = 0;  // couplings
  double drift = 0;
  std::vector<std::string> forms = {};  // of each residual; empty: as it is

  // What each loop may keep (autodiff/lower_loops.h).
  struct Loop {
    static constexpr std::int64_t most_segments = 1024;
    std::int64_t own = -1, inside = -1;  // bytes; -1: as many as it likes
    std::int64_t segments = 1, again = 0;
    bool on_disk = false;
    friend bool operator==(const Loop&, const Loop&) = default;
  };
  std::vector<Loop> loops = {};  // empty: all that they like
  bool several_steps = false;    // at once (autodiff/several_steps.h)

  std::vector<std::int64_t> undonated = {};  // inputs that are donated and may not be overwritten

  bool known() const { return !traced.empty(); }
  friend bool operator==(const PlanOrigin&, const PlanOrigin&) = default;
};

}  // namespace tidemark
