#include "tidemark/engine/program.h"

#include <unordered_map>

#include "tidemark/autodiff/expand.h"
#include "tidemark/autodiff/loop_sums.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cpu/kernels.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/session.h"
#include "tidemark/ops/loop.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// Results up to this size are copied out at once: cheaper than remembering them.
constexpr std::int64_t small_result_bytes = 4096;

std::vector<Literal> evaluate_constant(const Op& op, std::span<const Literal> operands, const Attrs& attrs) {
  return interpret(op, operands, attrs, default_device()->pool());
}

}  // namespace

Graph prepare_graph(const Graph& graph, const std::vector<std::string>& skip_optimisations, OptReport* report,
                    std::int64_t loop_memory) {
  Graph runnable = expand(
      graph, [](const Node& node) { return !find_cpu_kernel(*node.op) && node.op->expand; },
      ExpandRegions::inside);
  const OptOptions options{
      .ops = known_ops(find_op), .evaluate = evaluate_constant, .skip = skip_optimisations};
  if (std::ranges::any_of(runnable.nodes(), [](const Node& node) { return !node.regions.empty(); })) {
    // What the reverse of a step need not read, it should not: optimised before it is decided what is kept.
    runnable = settle_loops(take_out_sums(optimize(runnable, options)), loop_memory);
  }
  runnable = optimize(runnable, options, report);
  donate_handed_inputs(runnable);
  return runnable;
}

Program::Program(const Graph& graph, const ProgramOptions& options, std::shared_ptr<Device> device)
    : graph_(prepare_within(graph, options.skip_optimisations, options.plan)),
      plan_(make_plan(graph_, options.plan)),
      workspace_(std::make_shared<Workspace>(std::move(device))),
      workspace_bytes_(plan_.arena_bytes),
      bound_(graph_.inputs().size()) {}

Program::Program(Graph prepared, Plan plan, std::shared_ptr<Workspace> workspace, std::int64_t at_least)
    : graph_(std::move(prepared)),
      plan_(std::move(plan)),
      workspace_(std::move(workspace)),
      workspace_bytes_(std::max(at_least, plan_.arena_bytes)),
      bound_(graph_.inputs().size()) {}

void Program::reserve() {
  workspace_->reserve(workspace_bytes_);
  if (executor_ && generation_ == workspace_->generation()) return;
  executor_.emplace(graph_, plan_, workspace_->device(), workspace_->arena());
  generation_ = workspace_->generation();
}

void Program::bind(std::span<const Tensor> inputs, SourceLine where) {
  TM_CHECK(inputs.size() == graph_.inputs().size(), "{} inputs for {}", inputs.size(),
           graph_.inputs().size());
  std::unordered_map<const Storage*, std::size_t> first_use;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = graph_.inputs()[i];
    inputs[i].bytes(where);  // throws for traced and for donated tensors
    TM_CHECK(inputs[i].type() == graph_.type(input.value));
    Storage* storage = inputs[i].storage().get();
    const auto [earlier, fresh] = first_use.emplace(storage, i);
    if (!fresh && (input.donated || graph_.inputs()[earlier->second].donated)) {
      fail(
          ErrorCode::structure_mismatch,
          {.what = fmt::format("{} and {} are the same tensor, and one of them is donated",
                               graph_[graph_.inputs()[earlier->second].value].name, graph_[input.value].name),
           .where = where,
           .help = "pass a copy, or do not donate that argument"});
    }
    if (input.donated) storage->settle();
    bound_[i] = storage->data();
  }
}

std::vector<Tensor> Program::run(std::span<const Tensor> inputs, SourceLine where) {
  reserve();
  workspace_->move_results_out();
  bind(inputs, where);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!graph_.inputs()[i].donated) continue;
    ++inputs[i].storage()->version;
    inputs[i].storage()->donated_at = where;
  }
  Arena& arena = workspace_->arena();
  arena.reset_high_water();
  executor_->run(bound_);
  high_water_ = std::max(high_water_, arena.high_water());

  std::vector<Tensor> results;
  std::unordered_map<std::uint32_t, std::shared_ptr<Storage>> by_buffer;  // two outputs may be one value
  for (const Ref& ref : plan_.outputs) {
    const Buffer& buffer = plan_.buffers[ref.buffer.index];
    const Type& type = graph_.type(ref.value);
    if (buffer.memory == Memory::bound) {
      results.push_back(
          Tensor::from_storage(type, inputs[static_cast<std::size_t>(buffer.offset)].storage()));
      continue;
    }
    std::shared_ptr<Storage>& storage = by_buffer[ref.buffer.index];
    if (!storage) {
      storage = std::make_shared<Storage>(arena.base() + buffer.offset + ref.offset, type.bytes());
      if (type.bytes() <= small_result_bytes) {
        storage->settle();
      } else {
        workspace_->lend(storage);
      }
    }
    results.push_back(Tensor::from_storage(type, storage));
  }
  return results;
}

}  // namespace tidemark
