#include "tidemark/runtime/executor.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

// A buffer takes whole units of the alignment: nothing else may begin inside its last one.
std::int64_t end_of(const Buffer& buffer) { return buffer.offset + align_up(buffer.bytes, buffer_alignment); }

}  // namespace

Executor::Executor(const Graph& graph, const VerifiedPlan& verified, Device& device, Arena& arena)
    : device_(device), arena_(&arena) {
  const Plan& plan = *verified;
  TM_CHECK(arena.bytes() >= plan.arena_bytes, "an arena of {} bytes for a plan of {}", arena.bytes(),
           plan.arena_bytes);
  TM_CHECK(!plan.binds_outputs, "a region's plan without its node");
  TM_CHECK(is_plain(plan), "a plan of {} memories and {} lanes for a device that has one of each",
           memory_count(plan), plan.lanes.size());
  prepare(graph, plan, arena.base());
}

Executor::Executor(const Graph& graph, const Plan& plan, Device& device, std::byte* base)
    : device_(device), arena_(nullptr) {
  prepare(graph, plan, base);
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const Ref& ref = plan.outputs[i];
    const Buffer& buffer = plan.buffers[ref.buffer.index];
    TM_CHECK(buffer.binding != Binding::arena, "a region's output in its arena");
    const bool from_input = buffer.binding == Binding::argument;
    if (!from_input && buffer.slot == static_cast<std::int32_t>(i)) continue;
    output_copies_.push_back({.output = static_cast<std::uint32_t>(i),
                              .from = static_cast<std::uint32_t>(buffer.slot),
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
  for (std::size_t t = 0; t < plan.steps.size();) {
    const std::size_t end = group_end(plan, t);
    if (plan.steps[t].group < 0) {
      prepare_step(graph, plan, t, base);
    } else {
      prepare_group(graph, plan, t, end, base);
    }
    last_step_.push_back(static_cast<std::uint32_t>(end));
    t = end;
  }
  std::vector<bool> is_input(refs_.size(), false);
  for (const Patch& patch : input_patches_) is_input[patch.ref] = true;
  const auto writes_input = [&](const Extent& at) {
    return std::any_of(is_input.begin() + at.first_out, is_input.begin() + at.last_out, std::identity());
  };
  first_input_write_ =
      static_cast<std::size_t>(std::ranges::find_if(extents_, writes_input) - extents_.begin());
  const std::span<const TensorRef> refs(refs_);
  const std::span<const RegionRun> regions(region_runs_);
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const Extent& at = extents_[i];
    KernelArgs& args = launches_[i].args;
    args.in = refs.subspan(at.first_in, at.first_out - at.first_in);
    args.out = refs.subspan(at.first_out, at.last_out - at.first_out);
    args.regions = regions.subspan(at.first_region, at.last_region - at.first_region);
  }
}

void Executor::add_ref(const Graph& graph, const Plan& plan, const Ref& ref, std::byte* base) {
  const Buffer& buffer = plan.buffers[ref.buffer.index];
  const Type& type = graph.type(ref.value);
  TensorRef tensor{.data = nullptr, .dtype = type.dtype, .shape = type.shape, .strides = ref.strides};
  if (buffer.binding == Binding::arena) {
    tensor.data = base + buffer.offset + ref.offset;
    top_ = std::max(top_, end_of(buffer));
  } else {
    (buffer.binding == Binding::argument ? input_patches_ : output_patches_)
        .push_back({.ref = static_cast<std::uint32_t>(refs_.size()),
                    .which = static_cast<std::uint32_t>(buffer.slot),
                    .offset = ref.offset});
  }
  refs_.push_back(tensor);
}

std::byte* Executor::scratch_at(const Plan& plan, BufferId scratch, std::byte* base) {
  if (!scratch.valid()) return nullptr;
  const Buffer& buffer = plan.buffers[scratch.index];
  top_ = std::max(top_, end_of(buffer));
  return base + buffer.offset;
}

void Executor::prepare_step(const Graph& graph, const Plan& plan, std::size_t t, std::byte* base) {
  const Step& step = plan.steps[t];
  const Node& node = graph[step.node];
  std::vector<Strides> strides;
  for (const Ref& ref : step.in) strides.push_back(ref.strides);
  const std::vector<RegionFacts> facts = region_facts(plan, step.node);
  NodeCall call(graph, node);
  call.call.in_strides = strides;
  call.call.planned = facts;

  Extent at{};
  at.first_in = static_cast<std::uint32_t>(refs_.size());
  for (const Ref& ref : step.in) add_ref(graph, plan, ref, base);
  at.first_out = static_cast<std::uint32_t>(refs_.size());
  for (const Ref& ref : step.out) add_ref(graph, plan, ref, base);
  at.last_out = static_cast<std::uint32_t>(refs_.size());
  std::byte* const scratch = scratch_at(plan, step.scratch, base);
  at.first_region = static_cast<std::uint32_t>(region_runs_.size());
  if (!node.regions.empty()) {
    const NodePlans& body = *std::ranges::find(plan.bodies, step.node, &NodePlans::node);
    for (std::size_t r = 0; r < node.regions.size(); ++r)
      region_runs_.push_back(prepare_region(node.regions[r], body.regions[r], scratch));
  }
  at.last_region = static_cast<std::uint32_t>(region_runs_.size());
  add_launch(device_.prepare(call), at, scratch ? scratch + region_arena(call) : nullptr, node.where);
}

void Executor::prepare_group(const Graph& graph, const Plan& plan, std::size_t first, std::size_t last,
                             std::byte* base) {
  std::deque<NodeCall> calls;  // they stay where they are
  std::vector<std::vector<Strides>> strides(last - first);
  std::vector<GroupStep> steps(last - first);
  std::vector<Ref> outside, results;
  std::map<std::uint32_t, GroupPlace> made;  // by buffer: what the group's own steps put there
  int tiles = 0;
  const auto is_tile = [&](const Ref& ref) {
    return plan.buffers[ref.buffer.index].binding == Binding::tile;
  };
  const auto place_outside = [&](const Ref& ref) {
    const auto same = [&](const Ref& other) {
      return other.buffer == ref.buffer && other.offset == ref.offset && other.strides == ref.strides &&
             graph.type(other.value) == graph.type(ref.value);
    };
    const auto found = std::ranges::find_if(outside, same);
    const auto number = static_cast<int>(found - outside.begin());
    if (found == outside.end()) outside.push_back(ref);
    return GroupPlace{GroupPlace::operand, number};
  };
  BufferId scratch;
  for (std::size_t t = first; t < last; ++t) {
    const Step& step = plan.steps[t];
    GroupStep& out = steps[t - first];
    for (const Ref& ref : step.in) {
      strides[t - first].push_back(ref.strides);
      const auto own = made.find(ref.buffer.index);
      out.in.push_back(own != made.end() ? own->second : place_outside(ref));
    }
    for (const Ref& ref : step.out) {
      out.out.push_back(is_tile(ref) ? GroupPlace{GroupPlace::temporary, tiles++}
                                     : GroupPlace{GroupPlace::result, static_cast<int>(results.size())});
      if (!is_tile(ref)) results.push_back(ref);
      made[ref.buffer.index] = out.out.back();
    }
    calls.emplace_back(graph, graph[step.node]);
    calls.back().call.in_strides = strides[t - first];
    out.call = calls.back();
    if (step.scratch.valid()) scratch = step.scratch;
  }
  Extent at{};
  at.first_in = static_cast<std::uint32_t>(refs_.size());
  for (const Ref& ref : outside) add_ref(graph, plan, ref, base);
  at.first_out = static_cast<std::uint32_t>(refs_.size());
  for (const Ref& ref : results) add_ref(graph, plan, ref, base);
  at.last_out = static_cast<std::uint32_t>(refs_.size());
  at.first_region = at.last_region = static_cast<std::uint32_t>(region_runs_.size());
  add_launch(device_.prepare_group(steps), at, scratch_at(plan, scratch, base),
             graph[plan.steps[last - 1].node].where);
}

void Executor::add_launch(Launch launch, const Extent& at, std::byte* scratch, const SourceLine& where) {
  KernelArgs args{.in = {},
                  .out = {},
                  .attributes = launch.attributes.get(),
                  .scratch = scratch,
                  .pool = &device_.pool(),
                  .regions = {},
                  .where = where};
  launches_.push_back({launch.run, args});
  extents_.push_back(at);
  attributes_.push_back(std::move(launch.attributes));
}

void Executor::bind(std::byte* const* inputs) {
  for (const Patch& patch : input_patches_) refs_[patch.ref].data = inputs[patch.which] + patch.offset;
}

void Executor::follow(std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) launches_[i].run(launches_[i].args);
}

void Executor::follow() {
  wrote_inputs_ = false;
  follow(0, first_input_write_);
  if (first_input_write_ == launches_.size()) return;
  wrote_inputs_ = true;
  try {
    follow(first_input_write_, first_input_write_ + 1);
  } catch (const Error&) {
    wrote_inputs_ = false;  // the first that writes looks at its operands before
    throw;
  }
  follow(first_input_write_ + 1, launches_.size());
}

std::int64_t Executor::held_bytes() const {
  constexpr std::size_t per_kernel =
      512;  // what the device made ready for it: instructions, unpacked attributes
  const auto of = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
  std::size_t bytes = sizeof(*this) + of(refs_) + of(extents_) + of(launches_) + of(last_step_) +
                      of(attributes_) + of(input_patches_) + of(output_patches_) + of(output_copies_) +
                      of(regions_) + of(region_runs_) + launches_.size() * per_kernel;
  for (const auto& region : regions_) bytes += static_cast<std::size_t>(region->held_bytes());
  return static_cast<std::int64_t>(bytes);
}

void Executor::run(std::span<std::byte* const> inputs) {
  bind(inputs.data());
  arena_->touch(top_);
  follow();
}

void Executor::run(std::span<std::byte* const> inputs,
                   const std::function<void(std::size_t step)>& after_step) {
  bind(inputs.data());
  arena_->touch(top_);
  std::size_t step = 0;
  wrote_inputs_ = false;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    wrote_inputs_ |= i >= first_input_write_;
    launches_[i].run(launches_[i].args);
    for (; step < last_step_[i]; ++step) after_step(step);
  }
}

void Executor::run_region(std::byte* const* inputs, std::byte* const* outputs) {
  bind(inputs);
  for (const Patch& patch : output_patches_) refs_[patch.ref].data = outputs[patch.which] + patch.offset;
  follow();
  for (const OutputCopy& copy : output_copies_) {
    const std::byte* from = copy.from_input ? inputs[copy.from] : outputs[copy.from];
    if (copy.bytes > 0 && outputs[copy.output] != from) std::memcpy(outputs[copy.output], from, copy.bytes);
  }
}

}  // namespace tidemark
