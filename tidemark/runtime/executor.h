// Runs a plan. It decides nothing: order, addresses and lifetimes are the plan's, how commands run is the
// device's. It hands the plan's commands to the device once, and knows up to where a failure leaves the
// arguments as they were.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tidemark/runtime/arena.h"

namespace tidemark {

class Executor {
 public:
  // `plan` is one for `graph` and for the device's target; `arenas` has one for each of its memories.
  Executor(const Graph& graph, const VerifiedPlan& plan, Device& device, std::span<Arena* const> arenas);
  Executor(const Graph& graph, const VerifiedPlan& plan, Device& device, Arena& arena);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // `inputs[i]` is where the graph's input i is: dense, aligned to its elements (kernels take views, and
  // those are not more than that), and written only if that input is donated. When it throws, wrote_inputs()
  // says whether any was; plans let no step fail, for what its operands hold, once one is.
  void run(std::span<const Address> inputs);
  // The same, calling `after_step(i)` when step i of the plan has run, with its group if it is in one: for
  // timing and for watching values.
  void run(std::span<const Address> inputs, const std::function<void(std::size_t step)>& after_step);
  bool wrote_inputs() const { return wrote_inputs_; }

  // From now on notes when the commands of each run begin and end, or not any more; what that takes is
  // allocated now. A device that cannot tell gets commands one by one then.
  void record(bool on);
  bool records() const { return times_ != nullptr; }
  const RecordedTimes& times() const { return *times_; }  // of the latest run to its end, while it records

  PlannedAlgorithms algorithms() const { return prepared_->algorithms(); }
  std::int64_t held_bytes() const;  // by what was made ready, about: kernels, shapes, strides

 private:
  void begin(std::span<const Address> inputs);
  void run_commands();
  void run_range(std::size_t first, std::size_t last);

  std::vector<Arena*> arenas_;
  std::vector<std::int64_t> top_;       // per arena: one past the last byte that any step touches
  std::vector<std::size_t> last_step_;  // per command: one past its last step of the plan
  std::size_t first_input_write_ = 0;  // the first command that writes an input; their number where none does
  bool wrote_inputs_ = false;
  std::unique_ptr<RecordedTimes> times_;  // null: it does not record
  bool device_records_ = false;
  std::unique_ptr<Prepared> prepared_;  // which may write the times
};

}  // namespace tidemark
