#include "tidemark/engine/program.h"

#include <algorithm>
#include <unordered_map>

#include "tidemark/engine/bound_arguments.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/loop_folder.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

// For an op that was brought in on the way to the plan, too.
VerifiedPlan verified_to_run(const Graph& graph, Plan plan, const Device& device) {
  const Target& target = target_named(device, plan.target);
  require_kernels(graph, target);
  return verified(graph, std::move(plan), target);
}

// `prepared` becomes the graph that the plan is of.
VerifiedPlan plan_or_throw(Graph& prepared, const Graph& traced, const ProgramOptions& options,
                           const Device& device) {
  PlanOptions plan = options.plan;
  if (!plan.target) plan.target = &device.target();
  if (!is_host(device)) plan.allow = plan.allow.without(Choice::disk);
  PlanWithLoops found = plan_with_loops(traced, options.skip_optimisations, plan);
  if (!found.plan) throw InfeasibleBudget(found.graph, found.plan.error());
  prepared = std::move(found.graph);
  return verified_to_run(prepared, std::move(found.plan).value(), device);
}

std::vector<std::int64_t> arena_bytes_of(const Plan& plan, std::int64_t at_least) {
  std::vector<std::int64_t> bytes = {std::max(at_least, plan.arena_bytes)};
  for (const PlanMemory& memory : plan.further) bytes.push_back(memory.arena_bytes);
  return bytes;
}

}  // namespace

Program::Program(const Graph& graph, const ProgramOptions& options, std::shared_ptr<Device> device)
    : graph_(),
      plan_(plan_or_throw(graph_, graph, options, *device)),
      workspace_(std::make_shared<Workspace>(options.plan.tiers.empty()
                                                 ? with_loop_folder(std::move(device), *plan_, graph)
                                                 : std::move(device))),
      workspace_bytes_(arena_bytes_of(*plan_, 0)),
      held_{.graph = held_bytes(graph_), .plan = held_bytes(*plan_)} {}

Program::Program(Graph prepared, Plan plan, std::shared_ptr<Workspace> workspace, std::int64_t at_least,
                 BackwardValues values, MicroBatches micro_batches, PlanOrigin origin,
                 std::shared_ptr<const CompileOptions> planned_with)
    : graph_(std::move(prepared)),
      plan_(verified_to_run(graph_, std::move(plan), workspace->device())),
      backward_values_(std::move(values)),
      workspace_(std::move(workspace)),
      workspace_bytes_(arena_bytes_of(*plan_, at_least)),
      held_{.graph = held_bytes(graph_), .plan = held_bytes(*plan_)},
      micro_batches_(micro_batches),
      origin_(std::move(origin)),
      planned_with_(std::move(planned_with)) {}

Executor& Program::prepare(const Workspace::Lease& lease, SourceLine where) {
  at_line(where, [&] { lease.reserve(workspace_bytes_); });
  Ready* ready = nullptr;
  {
    const std::lock_guard lock(mutex_);
    while (ready_.size() <= lease.number()) ready_.push_back(std::make_unique<Ready>());
    ready = ready_[lease.number()].get();
  }
  if (!ready->executor || ready->generation != lease.generation()) {
    if (ready->executor) kernel_bytes_ -= ready->executor->held_bytes();
    std::vector<Arena*> arenas = lease.arenas();
    arenas.resize(memory_count(*plan_));  // others' plans may use more memories
    at_line(where, [&] { ready->executor.emplace(graph_, plan_, workspace_->device(), arenas); });
    ready->generation = lease.generation();
    kernel_bytes_ += ready->executor->held_bytes();
    const std::lock_guard lock(mutex_);
    algorithms_ = ready->executor->algorithms();
  }
  return *ready->executor;
}

void Program::reserve(SourceLine where) { prepare(Workspace::Lease(*workspace_, where), where); }

void Program::check_held(std::span<const Tensor> inputs, SourceLine where) const {
  if (plan_->budget == 0) return;
  const Workspace::Held held = workspace_->held(inputs);
  const std::int64_t total = plan_->peak() + held.bytes;
  if (total <= plan_->budget) return;
  fail(ErrorCode::infeasible_budget,
       {.what = fmt::format("{} still held, {}, and with {} this call takes {}",
                            held.count == 1 ? "1 result of an earlier call is"
                                            : fmt::format("{} results of earlier calls are", held.count),
                            to_string(Bytes(held.bytes)), held.count == 1 ? "it" : "them",
                            to_string(Bytes(total))),
        .expected = fmt::format("at most the budget, {}", to_string(Bytes(plan_->budget))),
        .where = where,
        .help =
            "let them go before the call (result = {}), pass them in as arguments, or have the plan leave "
            "room for them: {.held_results = 1}; results that other threads hold count too, one per thread",
        .notes = {fmt::format("the plan: {}", to_string(Bytes(plan_->peak()))),
                  fmt::format("too much: {} bytes", total - plan_->budget)}});
}

// One per output, null for those in the inputs' memory; two outputs may be one value. Made before the run, so
// that nothing is left to fail behind it. Small ones have memory of their own at once: cheaper than
// remembering them.
std::vector<std::shared_ptr<Storage>> Program::result_storages(const Workspace::Lease& lease) const {
  std::vector<std::shared_ptr<Storage>> storages;
  std::unordered_map<std::uint32_t, std::shared_ptr<Storage>> by_buffer;
  for (const Ref& ref : plan_->outputs) {
    const Buffer& buffer = plan_->buffers[ref.buffer.index];
    if (buffer.binding == Binding::argument) {
      storages.emplace_back();
      continue;
    }
    std::shared_ptr<Storage>& storage = by_buffer[ref.buffer.index];
    const std::int64_t bytes = graph_.type(ref.value).bytes();
    if (!storage && bytes <= small_result_bytes) {
      storage = std::make_shared<Storage>(allocate_aligned(bytes), bytes);
    } else if (!storage) {
      storage = lease.lend(lease.arena().base() + (buffer.offset + ref.offset), bytes);
    }
    storages.push_back(storage);
  }
  return storages;
}

void Program::read_small(std::span<const std::shared_ptr<Storage>> storages, const Arena& arena) const {
  for (std::size_t i = 0; i < storages.size(); ++i) {
    if (!storages[i] || !storages[i]->is_materialized()) continue;
    const Ref& ref = plan_->outputs[i];
    const std::int64_t offset = plan_->buffers[ref.buffer.index].offset + ref.offset;
    workspace_->device().read(storages[i]->data(), arena.base() + offset, graph_.type(ref.value).bytes());
  }
}

// What the executor needs to record is taken before it runs, and counted.
void Program::set_recording(Executor& executor, const Workspace::Lease& lease, bool on, SourceLine where) {
  if (on != executor.records()) {
    kernel_bytes_ -= executor.held_bytes();
    at_line(where, [&] { executor.record(on); });
    kernel_bytes_ += executor.held_bytes();
  }
  if (!on) return;
  for (Arena* const arena : lease.arenas()) arena->reset_high_water();
}

std::optional<Profile> Program::profile(int recording, const Machine& machine) const {
  const std::vector<RecordedRun> runs = recorded_.runs(recording);
  if (runs.empty()) return {};
  return make_profile(graph_, plan_, machine, runs);
}

std::vector<Tensor> Program::run(std::span<const Tensor> inputs, SourceLine where, int recording) {
  const Workspace::Lease lease(*workspace_, where);
  check_held(inputs, where);
  Executor& executor = prepare(lease, where);
  set_recording(executor, lease, recording > 0, where);
  at_line(where, [&] { lease.move_results_out(); });
  BoundArguments arguments(graph_, *plan_, inputs, lease, where);
  const std::vector<std::shared_ptr<Storage>> storages = result_storages(lease);
  std::vector<Tensor> results(storages.size());
  Arena& arena = lease.arena();
  arena.reset_high_water();
  try {
    at_line(where, [&] {
      executor.run(arguments.addresses());
      read_small(storages, arena);
    });
  } catch (...) {
    if (executor.wrote_inputs()) arguments.lose(where);
    throw;
  }
  if (recording > 0) recorded_.add(recording, executor.times(), lease.arenas());
  std::int64_t highest = high_water_.load();
  while (highest < arena.high_water() && !high_water_.compare_exchange_weak(highest, arena.high_water())) {
  }
  arguments.give_away(where);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Ref& ref = plan_->outputs[i];
    const Buffer& buffer = plan_->buffers[ref.buffer.index];
    const Type& type = graph_.type(ref.value);
    if (!storages[i]) {
      results[i] = Tensor::from_storage(type, inputs[static_cast<std::size_t>(buffer.slot)].storage());
      continue;
    }
    results[i] = Tensor::from_storage(type, storages[i]);
  }
  return results;
}

const Machine& Program::machine() const { return workspace_->device().machine(); }

PlannedAlgorithms Program::algorithms() const {
  const std::lock_guard lock(mutex_);
  return algorithms_;
}

HeldBytes Program::held() const {
  HeldBytes held = held_;
  held.kernels = kernel_bytes_.load() + recorded_.held_bytes();
  return held;
}

}  // namespace tidemark
