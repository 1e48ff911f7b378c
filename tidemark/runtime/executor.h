// Runs a plan. It decides nothing: order, addresses and lifetimes are the plan's. Construction looks up kernels and
// unpacks attributes; running only follows pointers, without allocating or locking.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "tidemark/plan/plan.h"
#include "tidemark/runtime/arena.h"
#include "tidemark/runtime/device.h"

namespace tidemark {

class Executor {
 public:
  Executor(const Graph& graph, const Plan& plan, Device& device, Arena& arena);

  // `inputs[i]` is the memory of the graph's input i: dense, aligned, and written only if that input is donated.
  void run(std::span<std::byte* const> inputs);
  // The same, calling `after_step(i)` when step i of the plan has run: for timing and for watching values.
  void run(std::span<std::byte* const> inputs, const std::function<void(std::size_t step)>& after_step);

 private:
  template <class AfterStep>
  void follow(std::span<std::byte* const> inputs, const AfterStep& after_step);

  struct Prepared {
    Launch launch;
    std::uint32_t first_in, in_count, first_out, out_count;  // into refs_
    std::byte* scratch;
    std::int64_t top;  // one past the last arena byte the step touches
    SourceLine where;
  };
  struct InputPatch {
    std::uint32_t ref;    // whose data pointer
    std::uint32_t input;  // is this input's memory
    std::int64_t offset;  // plus this many bytes
  };

  Device& device_;
  Arena& arena_;
  std::vector<TensorRef> refs_;
  std::vector<Prepared> steps_;
  std::vector<InputPatch> patches_;
};

}  // namespace tidemark
