#include "tidemark/runtime/executor.h"

#include <algorithm>

#include "tidemark/base/error.h"

namespace tidemark {

Executor::Executor(const Graph& graph, const VerifiedPlan& plan, Device& device,
                   std::span<Arena* const> arenas)
    : arenas_(arenas.begin(), arenas.end()) {
  TM_CHECK(plan.target().name == target_named(device, plan.target().name).name,
           "a plan for the target {} on a device of {}", plan.target().name, device.target().name);
  TM_CHECK(!plan->binds_outputs, "a region's plan without its node");
  TM_CHECK(arenas.size() == memory_count(*plan), "{} arenas for a plan of {} memories", arenas.size(),
           memory_count(*plan));
  std::vector<Address> bases;
  for (std::size_t m = 0; m < arenas.size(); ++m) {
    TM_CHECK(arenas[m]->bytes() >= memory_of(*plan, m).arena_bytes, "an arena of {} bytes for a plan of {}",
             arenas[m]->bytes(), memory_of(*plan, m).arena_bytes);
    bases.push_back(arenas[m]->base());
  }
  CommandStream commands(graph, plan);
  prepared_ = device.prepare(commands, bases);
  TM_CHECK(!commands.next(), "a device that left commands behind");
  top_ = commands.top();
  last_step_ = commands.last_steps();
  first_input_write_ = commands.first_argument_write();
}

Executor::Executor(const Graph& graph, const VerifiedPlan& plan, Device& device, Arena& arena)
    : Executor(graph, plan, device, std::vector<Arena*>{&arena}) {}

void Executor::begin(std::span<const Address> inputs) {
  prepared_->bind(inputs);
  for (std::size_t m = 0; m < arenas_.size(); ++m) arenas_[m]->touch(top_[m]);
  wrote_inputs_ = false;
}

void Executor::record(bool on) {
  if (on == records()) return;
  if (!on) {
    prepared_->record(nullptr);
    times_.reset();
    return;
  }
  auto times = std::make_unique<RecordedTimes>();
  device_records_ = prepared_->record(times.get());
  if (!device_records_) times->commands.resize(last_step_.size());
  times_ = std::move(times);
}

void Executor::run_range(std::size_t first, std::size_t last) {
  if (!times_ || device_records_) return prepared_->run(first, last);
  for (std::size_t i = first; i < last; ++i) {
    times_->commands[i].begin = clock_now();
    prepared_->run(i, i + 1);
    times_->commands[i].end = clock_now();
  }
}

void Executor::run(std::span<const Address> inputs) {
  begin(inputs);
  if (!times_) return run_commands();
  times_->clear();
  times_->begin = clock_now();
  run_commands();
  times_->end = clock_now();
}

void Executor::run_commands() {
  const std::size_t all = last_step_.size();
  run_range(0, first_input_write_);
  if (first_input_write_ == all) return;
  wrote_inputs_ = true;
  try {
    run_range(first_input_write_, first_input_write_ + 1);
  } catch (const DeviceError&) {
    throw;  // a transfer may have broken off in the middle
  } catch (const Error&) {
    wrote_inputs_ = false;  // the first that writes looks at its operands before
    throw;
  }
  run_range(first_input_write_ + 1, all);
}

void Executor::run(std::span<const Address> inputs, const std::function<void(std::size_t step)>& after_step) {
  begin(inputs);
  std::size_t step = 0;
  for (std::size_t i = 0; i < last_step_.size(); ++i) {
    wrote_inputs_ |= i >= first_input_write_;
    prepared_->run(i, i + 1);
    for (; step < last_step_[i]; ++step) after_step(step);
  }
}

std::int64_t Executor::held_bytes() const {
  return static_cast<std::int64_t>(sizeof(*this) + last_step_.capacity() * sizeof(last_step_[0])) +
         (times_ ? times_->held_bytes() : 0) + prepared_->held_bytes();
}

}  // namespace tidemark
