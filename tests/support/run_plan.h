// A plan made ready on a device, in arenas of its own, with literals in and out.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "tests/support/test_target.h"
#include "tidemark/base/attrs.h"
#include "tidemark/runtime/executor.h"

namespace tidemark::testing {

class ReadyPlan {
 public:
  // The graph, the plan and the device outlive it.
  ReadyPlan(const Graph& graph, const Plan& plan, Device& device)
      : graph_(graph), plan_(plan), device_(device) {
    std::vector<Arena*> each;
    for (std::size_t m = 0; m < memory_count(plan); ++m) {
      arenas_.push_back(std::make_unique<Arena>(device, memory_of(plan, m).arena_bytes, static_cast<int>(m)));
      each.push_back(arenas_.back().get());
    }
    executor_ = std::make_unique<Executor>(graph, verified(graph, plan, test_target()), device, each);
  }

  // Donated inputs are overwritten.
  void run(std::vector<Literal>& inputs, const std::function<void(std::size_t step)>& after_step = {}) {
    addresses_.clear();
    for (Literal& input : inputs) addresses_.push_back(host_address(input.bytes.data()));
    after_step ? executor_->run(addresses_, after_step) : executor_->run(addresses_);
  }

  void record(bool on) { executor_->record(on); }

  // Of the last run, whose inputs are still there.
  std::vector<Literal> outputs() const {
    std::vector<Literal> list;
    for (const Ref& ref : plan_.outputs) {
      const Type& type = graph_.type(ref.value);
      const Buffer& buffer = plan_.buffers[ref.buffer.index];
      const Address at = buffer.binding == Binding::argument
                             ? addresses_[static_cast<std::size_t>(buffer.slot)]
                             : arena(static_cast<std::size_t>(buffer.memory)).base() + buffer.offset;
      list.push_back(
          {type.dtype, type.shape, std::vector<std::byte>(static_cast<std::size_t>(type.bytes()))});
      device_.read(list.back().bytes.data(), at + ref.offset, type.bytes());
    }
    return list;
  }

  std::vector<Literal> outputs_of(std::vector<Literal> inputs) {
    run(inputs);
    return outputs();
  }

  const Arena& arena(std::size_t memory) const { return *arenas_[memory]; }
  Executor& executor() { return *executor_; }

 private:
  const Graph& graph_;
  const Plan& plan_;
  Device& device_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::unique_ptr<Executor> executor_;
  std::vector<Address> addresses_;
};

}  // namespace tidemark::testing
