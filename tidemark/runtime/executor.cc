#include "tidemark/runtime/executor.h"

namespace tidemark {
namespace {

// A buffer takes whole units of the alignment: nothing else may begin inside its last one.
std::int64_t end_of(const Buffer& buffer) { return buffer.offset + align_up(buffer.bytes, buffer_alignment); }

}  // namespace

Executor::Executor(const Graph& graph, const Plan& plan, Device& device, Arena& arena)
    : device_(device), arena_(arena) {
  TM_CHECK(arena.bytes() >= plan.arena_bytes, "an arena of {} bytes for a plan of {}", arena.bytes(),
           plan.arena_bytes);
  const auto buffer_of = [&](BufferId id) -> const Buffer& { return plan.buffers[id.index]; };
  std::int64_t top = 0;
  const auto add_ref = [&](const Ref& ref) {
    const Buffer& buffer = buffer_of(ref.buffer);
    const Type& type = graph.type(ref.value);
    TensorRef tensor{.data = nullptr, .dtype = type.dtype, .shape = type.shape, .strides = ref.strides};
    if (buffer.memory == Memory::bound) {
      patches_.push_back({.ref = static_cast<std::uint32_t>(refs_.size()),
                          .input = static_cast<std::uint32_t>(buffer.offset),
                          .offset = ref.offset});
    } else {
      tensor.data = arena.base() + buffer.offset + ref.offset;
      top = std::max(top, end_of(buffer));
    }
    refs_.push_back(tensor);
  };
  for (const Step& step : plan.steps) {
    const Node& node = graph[step.node];
    std::vector<Strides> strides;
    for (const Ref& ref : step.in) strides.push_back(ref.strides);
    NodeCall call(graph, node);
    call.call.in_strides = strides;

    top = 0;
    Prepared prepared{};
    prepared.launch = device.prepare(call);
    prepared.where = node.where;
    prepared.first_in = static_cast<std::uint32_t>(refs_.size());
    prepared.in_count = static_cast<std::uint32_t>(step.in.size());
    for (const Ref& ref : step.in) add_ref(ref);
    prepared.first_out = static_cast<std::uint32_t>(refs_.size());
    prepared.out_count = static_cast<std::uint32_t>(step.out.size());
    for (const Ref& ref : step.out) add_ref(ref);
    if (step.scratch.valid()) {
      const Buffer& scratch = buffer_of(step.scratch);
      prepared.scratch = arena.base() + scratch.offset;
      top = std::max(top, end_of(scratch));
    }
    prepared.top = top;
    steps_.push_back(std::move(prepared));
  }
}

template <class AfterStep>
void Executor::follow(std::span<std::byte* const> inputs, const AfterStep& after_step) {
  for (const InputPatch& patch : patches_) refs_[patch.ref].data = inputs[patch.input] + patch.offset;
  const std::span<const TensorRef> refs(refs_);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Prepared& step = steps_[i];
    arena_.touch(step.top);
    step.launch.run({.in = refs.subspan(step.first_in, step.in_count),
                     .out = refs.subspan(step.first_out, step.out_count),
                     .attributes = step.launch.attributes.get(),
                     .scratch = step.scratch,
                     .pool = &device_.pool(),
                     .where = step.where});
    after_step(i);
  }
}

void Executor::run(std::span<std::byte* const> inputs) {
  follow(inputs, [](std::size_t) {});
}

void Executor::run(std::span<std::byte* const> inputs,
                   const std::function<void(std::size_t step)>& after_step) {
  follow(inputs, after_step);
}

}  // namespace tidemark
