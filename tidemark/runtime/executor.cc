#include "tidemark/runtime/executor.h"

#include <algorithm>
#include <cstring>

namespace tidemark {
namespace {

// A buffer takes whole units of the alignment: nothing else may begin inside its last one.
std::int64_t end_of(const Buffer& buffer) { return buffer.offset + align_up(buffer.bytes, buffer_alignment); }

}  // namespace

Executor::Executor(const Graph& graph, const Plan& plan, Device& device, Arena& arena)
    : device_(device), arena_(&arena) {
  TM_CHECK(arena.bytes() >= plan.arena_bytes, "an arena of {} bytes for a plan of {}", arena.bytes(),
           plan.arena_bytes);
  TM_CHECK(!plan.binds_outputs, "a region's plan without its node");
  prepare(graph, plan, arena.base());
}

Executor::Executor(const Graph& graph, const Plan& plan, Device& device, std::byte* base)
    : device_(device), arena_(nullptr) {
  prepare(graph, plan, base);
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const Ref& ref = plan.outputs[i];
    const Buffer& buffer = plan.buffers[ref.buffer.index];
    TM_CHECK(buffer.memory != Memory::arena, "a region's output in its arena");
    const bool from_input = buffer.memory == Memory::bound;
    if (!from_input && buffer.offset == static_cast<std::int64_t>(i)) continue;
    output_copies_.push_back({.output = static_cast<std::uint32_t>(i),
                              .from = static_cast<std::uint32_t>(buffer.offset),
                              .from_input = from_input,
                              .bytes = static_cast<std::size_t>(graph.type(ref.value).bytes())});
  }
}

RegionRun Executor::prepare_region(const Graph& region, const Plan& plan, std::byte* base) {
  regions_.push_back(std::unique_ptr<Executor>(new Executor(region, plan, device_, base)));
  const auto call = [](void* self, std::byte* const* inputs, std::byte* const* outputs) {
    static_cast<Executor*>(self)->run_region(inputs, outputs);
  };
  return {.call = call, .self = regions_.back().get()};
}

void Executor::prepare(const Graph& graph, const Plan& plan, std::byte* base) {
  const auto buffer_of = [&](BufferId id) -> const Buffer& { return plan.buffers[id.index]; };
  std::int64_t top = 0;
  const auto add_ref = [&](const Ref& ref) {
    const Buffer& buffer = buffer_of(ref.buffer);
    const Type& type = graph.type(ref.value);
    TensorRef tensor{.data = nullptr, .dtype = type.dtype, .shape = type.shape, .strides = ref.strides};
    if (buffer.memory == Memory::arena) {
      tensor.data = base + buffer.offset + ref.offset;
      top = std::max(top, end_of(buffer));
    } else {
      (buffer.memory == Memory::bound ? input_patches_ : output_patches_)
          .push_back({.ref = static_cast<std::uint32_t>(refs_.size()),
                      .which = static_cast<std::uint32_t>(buffer.offset),
                      .offset = ref.offset});
    }
    refs_.push_back(tensor);
  };
  for (const Step& step : plan.steps) {
    const Node& node = graph[step.node];
    std::vector<Strides> strides;
    for (const Ref& ref : step.in) strides.push_back(ref.strides);
    const std::vector<RegionFacts> facts = region_facts(plan, step.node);
    NodeCall call(graph, node);
    call.call.in_strides = strides;
    call.call.planned = facts;

    top = 0;
    Prepared prepared{};
    prepared.launch = device_.prepare(call);
    prepared.where = node.where;
    prepared.first_in = static_cast<std::uint32_t>(refs_.size());
    prepared.in_count = static_cast<std::uint32_t>(step.in.size());
    for (const Ref& ref : step.in) add_ref(ref);
    prepared.first_out = static_cast<std::uint32_t>(refs_.size());
    prepared.out_count = static_cast<std::uint32_t>(step.out.size());
    for (const Ref& ref : step.out) add_ref(ref);
    if (step.scratch.valid()) {
      const Buffer& scratch = buffer_of(step.scratch);
      prepared.scratch = base + scratch.offset + region_arena(call);
      top = std::max(top, end_of(scratch));
    }
    prepared.first_region = static_cast<std::uint32_t>(region_runs_.size());
    prepared.region_count = static_cast<std::uint32_t>(node.regions.size());
    if (!node.regions.empty()) {
      const NodePlans& body = *std::ranges::find(plan.bodies, step.node, &NodePlans::node);
      std::byte* at = step.scratch.valid() ? base + buffer_of(step.scratch).offset : nullptr;
      for (std::size_t r = 0; r < node.regions.size(); ++r)
        region_runs_.push_back(prepare_region(node.regions[r], body.regions[r], at));
    }
    prepared.top = top;
    steps_.push_back(std::move(prepared));
  }
}

template <class AfterStep>
void Executor::follow(const AfterStep& after_step) {
  const std::span<const TensorRef> refs(refs_);
  const std::span<const RegionRun> regions(region_runs_);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Prepared& step = steps_[i];
    if (arena_) arena_->touch(step.top);
    step.launch.run({.in = refs.subspan(step.first_in, step.in_count),
                     .out = refs.subspan(step.first_out, step.out_count),
                     .attributes = step.launch.attributes.get(),
                     .scratch = step.scratch,
                     .pool = &device_.pool(),
                     .regions = regions.subspan(step.first_region, step.region_count),
                     .where = step.where});
    after_step(i);
  }
}

void Executor::run(std::span<std::byte* const> inputs) {
  for (const Patch& patch : input_patches_) refs_[patch.ref].data = inputs[patch.which] + patch.offset;
  follow([](std::size_t) {});
}

void Executor::run(std::span<std::byte* const> inputs,
                   const std::function<void(std::size_t step)>& after_step) {
  for (const Patch& patch : input_patches_) refs_[patch.ref].data = inputs[patch.which] + patch.offset;
  follow(after_step);
}

void Executor::run_region(std::byte* const* inputs, std::byte* const* outputs) {
  for (const Patch& patch : input_patches_) refs_[patch.ref].data = inputs[patch.which] + patch.offset;
  for (const Patch& patch : output_patches_) refs_[patch.ref].data = outputs[patch.which] + patch.offset;
  follow([](std::size_t) {});
  for (const OutputCopy& copy : output_copies_) {
    const std::byte* from = copy.from_input ? inputs[copy.from] : outputs[copy.from];
    if (copy.bytes > 0 && outputs[copy.output] != from) std::memcpy(outputs[copy.output], from, copy.bytes);
  }
}

}  // namespace tidemark
