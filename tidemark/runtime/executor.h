// Runs a plan. It decides nothing: order, addresses and lifetimes are the plan's. Construction looks up kernels and
// unpacks attributes; running only follows pointers, without allocating or locking.
//
// A node with regions has an executor for each, at the place in the arena that the node's scratch has; its kernel calls
// them as often as it likes.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tidemark/plan/plan.h"
#include "tidemark/runtime/arena.h"
#include "tidemark/runtime/device.h"

namespace tidemark {

class Executor {
 public:
  Executor(const Graph& graph, const Plan& plan, Device& device, Arena& arena);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // `inputs[i]` is the memory of the graph's input i: dense, aligned, and written only if that input is donated.
  void run(std::span<std::byte* const> inputs);
  // The same, calling `after_step(i)` when step i of the plan has run: for timing and for watching values.
  void run(std::span<std::byte* const> inputs, const std::function<void(std::size_t step)>& after_step);

 private:
  // Of a region: `base` is where its arena begins, inside one whose high-water mark its node's step counts.
  Executor(const Graph& graph, const Plan& plan, Device& device, std::byte* base);

  void prepare(const Graph& graph, const Plan& plan, std::byte* base);
  RegionRun prepare_region(const Graph& region, const Plan& plan, std::byte* base);
  void run_region(std::byte* const* inputs, std::byte* const* outputs);
  template <class AfterStep>
  void follow(const AfterStep& after_step);

  struct Prepared {
    Launch launch;
    std::uint32_t first_in, in_count, first_out, out_count;  // into refs_
    std::uint32_t first_region, region_count;                // into region_runs_
    std::byte* scratch;
    std::int64_t top;  // one past the last arena byte the step touches
    SourceLine where;
  };
  struct Patch {
    std::uint32_t ref;    // whose data pointer
    std::uint32_t which;  // is the memory of this input or output
    std::int64_t offset;  // plus this many bytes
  };
  // An output that is not made where it is wanted: an input, or a value that is another output too.
  struct OutputCopy {
    std::uint32_t output, from;
    bool from_input;
    std::size_t bytes;
  };

  Device& device_;
  Arena* arena_;  // null: a region's
  std::vector<TensorRef> refs_;
  std::vector<Prepared> steps_;
  std::vector<Patch> input_patches_, output_patches_;
  std::vector<OutputCopy> output_copies_;
  std::vector<std::unique_ptr<Executor>> regions_;
  std::vector<RegionRun> region_runs_;
};

}  // namespace tidemark
