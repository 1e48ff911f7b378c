// Runs a plan. It decides nothing: order, addresses and lifetimes are the plan's. Construction looks up kernels and
// unpacks attributes; running only follows pointers, without allocating or locking.
//
// A group of steps is one launch. A node with regions has an executor for each, at the place in the arena that the node's scratch has; its kernel calls
// them as often as it likes.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tidemark/plan/verify/verify.h"
#include "tidemark/runtime/arena.h"
#include "tidemark/runtime/device.h"

namespace tidemark {

class Executor {
 public:
  // `plan` is one for `graph`.
  Executor(const Graph& graph, const VerifiedPlan& plan, Device& device, Arena& arena);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // `inputs[i]` is the memory of the graph's input i: dense, aligned to its elements (kernels take views, and
  // those are not more than that), and written only if that input is donated. When it throws, wrote_inputs()
  // says whether any was; plans let no step fail, for what its operands hold, once one is.
  void run(std::span<std::byte* const> inputs);
  // The same, calling `after_step(i)` when step i of the plan has run, with its group if it is in one: for timing and for
  // watching values.
  void run(std::span<std::byte* const> inputs, const std::function<void(std::size_t step)>& after_step);
  bool wrote_inputs() const { return wrote_inputs_; }

  std::int64_t held_bytes() const;  // by what it made ready, about: kernels, shapes, strides

 private:
  // Of a region: `base` is where its arena begins, inside one whose high-water mark its node's step counts.
  Executor(const Graph& graph, const Plan& plan, Device& device, std::byte* base);

  void prepare(const Graph& graph, const Plan& plan, std::byte* base);
  void prepare_step(const Graph& graph, const Plan& plan, std::size_t t, std::byte* base);
  void prepare_group(const Graph& graph, const Plan& plan, std::size_t first, std::size_t last,
                     std::byte* base);
  void add_ref(const Graph& graph, const Plan& plan, const Ref& ref, std::byte* base);
  std::byte* scratch_at(const Plan& plan, BufferId scratch, std::byte* base);
  RegionRun prepare_region(const Graph& region, const Plan& plan, std::byte* base);
  void run_region(std::byte* const* inputs, std::byte* const* outputs);
  struct Extent;
  void add_launch(Launch launch, const Extent& at, std::byte* scratch, const SourceLine& where);
  void bind(std::byte* const* inputs);
  void follow();
  void follow(std::size_t first, std::size_t last);

  // Where a launch's operands and regions are, while lists still grow.
  struct Extent {
    std::uint32_t first_in, first_out, last_out;  // into refs_
    std::uint32_t first_region, last_region;      // into region_runs_
  };
  struct Prepared {
    void (*run)(const KernelArgs&);
    KernelArgs args;
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
  Arena* arena_;          // null: a region's
  std::int64_t top_ = 0;  // one past the last arena byte that any step touches
  std::vector<TensorRef> refs_;
  std::vector<Extent> extents_;
  std::vector<Prepared> launches_;
  std::vector<std::uint32_t> last_step_;  // per launch: one past its last step of the plan
  std::vector<std::shared_ptr<const void>> attributes_;
  std::vector<Patch> input_patches_, output_patches_;
  std::size_t first_input_write_ =
      0;  // the first launch that writes an input's memory; their number where none does
  bool wrote_inputs_ = false;
  std::vector<OutputCopy> output_copies_;
  std::vector<std::unique_ptr<Executor>> regions_;
  std::vector<RegionRun> region_runs_;
};

}  // namespace tidemark
