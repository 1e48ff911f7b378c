#include "tidemark/engine/program.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "tidemark/autodiff/expand.h"
#include "tidemark/autodiff/loop_sums.h"
#include "tidemark/cpu/device.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/loop_folder.h"
#include "tidemark/engine/session.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/ops/control/loop.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/registry.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

std::vector<Literal> evaluate_constant(const Op& op, std::span<const Literal> operands, const Attrs& attrs) {
  const std::shared_ptr<CpuDevice> device = default_device();  // stays until this is done
  return interpret(op, operands, attrs, device->pool());
}

// `prepared` becomes the graph that the plan is of.
VerifiedPlan plan_or_throw(Graph& prepared, const Graph& traced, const ProgramOptions& options) {
  PlanWithLoops found = plan_with_loops(traced, options.skip_optimisations, options.plan);
  if (!found.plan) throw InfeasibleBudget(found.graph, found.plan.error());
  prepared = std::move(found.graph);
  return verified(prepared, std::move(found.plan).value(), cpu_target());
}

[[noreturn]] void fail_shared(const Graph& graph, std::size_t a, std::size_t b, std::string_view how,
                              SourceLine where) {
  const auto [first, second] = std::minmax(a, b);
  fail(ErrorCode::structure_mismatch, {.what = fmt::format("{} and {} {}, and one of them is donated",
                                                           graph[graph.inputs()[first].value].name,
                                                           graph[graph.inputs()[second].value].name, how),
                                       .where = where,
                                       .help = "pass a copy, or do not donate that argument"});
}

// Two storages have no byte in common, unless one is foreign: another library may lend the same memory twice.
// Then what is donated must lie apart from everything else, as it does in the plan.
void check_apart(const Graph& graph, std::span<const Tensor> inputs, std::span<std::byte* const> memory,
                 SourceLine where) {
  if (std::ranges::none_of(inputs, [](const Tensor& t) { return t.storage()->foreign(); })) return;
  std::vector<std::size_t> by_address;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].count() > 0) by_address.push_back(i);
  }
  std::ranges::sort(by_address, std::less(), [&](std::size_t i) { return memory[i]; });
  const auto end_of = [&](std::size_t i) { return memory[i] + inputs[i].type().bytes(); };
  std::optional<std::size_t> any, donated;  // of those that begin earlier, the one that ends last
  for (const std::size_t i : by_address) {
    const bool is_donated = graph.inputs()[i].donated;
    const std::optional<std::size_t>& other = is_donated ? any : donated;
    if (other && end_of(*other) > memory[i]) fail_shared(graph, *other, i, "lie in the same memory", where);
    if (!any || end_of(i) > end_of(*any)) any = i;
    if (is_donated && (!donated || end_of(i) > end_of(*donated))) donated = i;
  }
}

}  // namespace

namespace {

bool has_regions(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return !node.regions.empty(); });
}

OptOptions optimisations(const std::vector<std::string>& skip) {
  return {.ops = known_ops(find_op), .evaluate = evaluate_constant, .skip = skip};
}

}  // namespace

Graph prepare_unlowered(const Graph& graph, const std::vector<std::string>& skip_optimisations) {
  Graph runnable = expand(
      graph, [](const Node& node) { return !runs_on_cpu(*node.op) && node.op->expand; },
      ExpandRegions::inside);
  if (!has_regions(runnable)) return runnable;
  // What the reverse of a step need not read, it should not: optimised before it is decided what is kept.
  return take_out_sums(optimize(runnable, optimisations(skip_optimisations)));
}

Graph prepare_lowered(const Graph& unlowered, const std::vector<std::string>& skip_optimisations,
                      OptReport* report, const LoopMemory& loop_memory) {
  const OptOptions options = optimisations(skip_optimisations);
  Graph runnable =
      optimize(has_regions(unlowered) ? lower_loops(unlowered, loop_memory) : unlowered, options, report);
  donate_handed_inputs(runnable);
  return runnable;
}

Graph prepare_graph(const Graph& graph, const std::vector<std::string>& skip_optimisations, OptReport* report,
                    const LoopMemory& loop_memory) {
  return prepare_lowered(prepare_unlowered(graph, skip_optimisations), skip_optimisations, report,
                         loop_memory);
}

namespace {

std::vector<std::int64_t> arena_bytes_of(const Plan& plan, std::int64_t at_least) {
  std::vector<std::int64_t> bytes = {std::max(at_least, plan.arena_bytes)};
  for (const PlanMemory& memory : plan.further) bytes.push_back(memory.arena_bytes);
  return bytes;
}

}  // namespace

Program::Program(const Graph& graph, const ProgramOptions& options, std::shared_ptr<Device> device)
    : graph_(),
      plan_(plan_or_throw(graph_, graph, options)),
      workspace_(std::make_shared<Workspace>(options.plan.tiers.empty()
                                                 ? with_loop_folder(std::move(device), *plan_, graph)
                                                 : std::move(device))),
      workspace_bytes_(arena_bytes_of(*plan_, 0)),
      held_{.graph = held_bytes(graph_), .plan = held_bytes(*plan_)} {}

Program::Program(Graph prepared, Plan plan, std::shared_ptr<Workspace> workspace, std::int64_t at_least,
                 BackwardValues values, MicroBatches micro_batches)
    : graph_(std::move(prepared)),
      plan_(verified(graph_, std::move(plan), cpu_target())),
      backward_values_(std::move(values)),
      workspace_(std::move(workspace)),
      workspace_bytes_(arena_bytes_of(*plan_, at_least)),
      held_{.graph = held_bytes(graph_), .plan = held_bytes(*plan_)},
      micro_batches_(micro_batches) {}

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
    ready->executor.emplace(graph_, plan_, workspace_->device(), arenas);
    ready->generation = lease.generation();
    kernel_bytes_ += ready->executor->held_bytes();
  }
  return *ready->executor;
}

void Program::reserve(SourceLine where) { prepare(Workspace::Lease(*workspace_, where), where); }

Program::Bound Program::bind(std::span<const Tensor> inputs, SourceLine where) const {
  TM_CHECK(inputs.size() == graph_.inputs().size(), "{} inputs for {}", inputs.size(),
           graph_.inputs().size());
  Bound bound;
  std::unordered_map<const Storage*, std::size_t> first_use;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = graph_.inputs()[i];
    Reading reading = inputs[i].read(where);  // throws for traced and for donated tensors
    TM_CHECK(inputs[i].type() == graph_.type(input.value));
    const auto [earlier, fresh] = first_use.emplace(inputs[i].storage().get(), i);
    if (!fresh && (input.donated || graph_.inputs()[earlier->second].donated))
      fail_shared(graph_, earlier->second, i, "are the same tensor", where);
    if (input.donated && inputs[i].storage()->read_only) {
      fail(ErrorCode::read_only_memory,
           {.what =
                fmt::format("{} is donated, and lies in memory of another library that must not be written",
                            graph_[input.value].name),
            .expected = "memory that a call may overwrite",
            .where = where,
            .help = "do not donate this argument, or donate a copy: tensor_from_bytes(x.type(), x.bytes())"});
    }
    bound.memory.push_back(reading.data());
    if (!input.donated) bound.read.push_back(std::move(reading));
  }
  check_apart(graph_, inputs, bound.memory, where);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!graph_.inputs()[i].donated) continue;
    std::optional<Overwriting> overwriting = inputs[i].overwrite();
    if (!overwriting) {
      inputs[i].check_not_donated(where);  // to another thread's call, just now
      fail(ErrorCode::memory_in_use,
           {.what = fmt::format("{} is donated while another call or another library uses it",
                                graph_[graph_.inputs()[i].value].name),
            .where = where,
            .help = "give each thread a tensor of its own, let go of what to_dlpack gave, or do not donate "
                    "that argument"});
    }
    bound.memory[i] = overwriting->data();
    bound.overwritten.push_back(*std::move(overwriting));
  }
  return bound;
}

void Program::Bound::give_away(SourceLine where, bool half_written) {
  for (Overwriting& overwriting : overwritten) overwriting.give_away(where, half_written);
  overwritten.clear();
}

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
      storage = lease.lend(host_pointer(lease.arena().base() + (buffer.offset + ref.offset)), bytes);
    }
    storages.push_back(storage);
  }
  return storages;
}

std::vector<Tensor> Program::run(std::span<const Tensor> inputs, SourceLine where) {
  const Workspace::Lease lease(*workspace_, where);
  check_held(inputs, where);
  Executor& executor = prepare(lease, where);
  lease.move_results_out();
  Bound bound = bind(inputs, where);
  const std::vector<Address> addresses = host_addresses(bound.memory);
  const std::vector<std::shared_ptr<Storage>> storages = result_storages(lease);
  std::vector<Tensor> results(storages.size());
  Arena& arena = lease.arena();
  arena.reset_high_water();
  try {
    at_line(where, [&] { executor.run(addresses); });
  } catch (...) {
    if (executor.wrote_inputs()) bound.give_away(where, true);
    throw;
  }
  std::int64_t highest = high_water_.load();
  while (highest < arena.high_water() && !high_water_.compare_exchange_weak(highest, arena.high_water())) {
  }
  bound.give_away(where, false);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Ref& ref = plan_->outputs[i];
    const Buffer& buffer = plan_->buffers[ref.buffer.index];
    const Type& type = graph_.type(ref.value);
    if (!storages[i]) {
      results[i] = Tensor::from_storage(type, inputs[static_cast<std::size_t>(buffer.slot)].storage());
      continue;
    }
    if (storages[i]->is_materialized()) {
      workspace_->device().read(storages[i]->data(), arena.base() + (buffer.offset + ref.offset),
                                type.bytes());
    }
    results[i] = Tensor::from_storage(type, storages[i]);
  }
  return results;
}

HeldBytes Program::held() const {
  HeldBytes held = held_;
  held.kernels = kernel_bytes_.load();
  return held;
}

}  // namespace tidemark
