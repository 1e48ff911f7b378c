#include "tidemark/plan/verify/verify_steps.h"

#include <fmt/format.h>

#include <map>

#include "tidemark/ir/graph.h"
#include "tidemark/plan/step_call.h"

namespace tidemark {

StepVerifier::StepVerifier(const Graph& graph, const Plan& plan, const Target& target, ProblemList& problems)
    : graph_(graph), plan_(plan), target_(target), problems_(problems), memory_(graph, plan) {}

std::string StepVerifier::text_of(std::size_t t) const {
  const Step& step = plan_.steps[t];
  if (step.kind != StepKind::compute) return fmt::format("step {} ({})", t, name_of(step.kind));
  const bool has_node = step.node.index < graph_.nodes().size();
  return fmt::format("step {} ({})", t, has_node ? graph_[step.node].op->name : "?");
}

std::string StepVerifier::text_of(const RefName& name) const {
  std::string text = name.step < 0 ? "" : text_of(static_cast<std::size_t>(name.step)) + ": ";
  text += name.role;
  return name.number < 0 ? text : fmt::format("{} {}", text, name.number);
}

// Computing happens in the memory of the lane, on what is plain.
bool StepVerifier::is_at_hand(const Step& step, BufferId b) const {
  return !buffer(b).codec && buffer(b).memory == lane(step).memory;
}

ByteRange StepVerifier::range_of(const Ref& ref) const {
  const Type& type = graph_.type(ref.value);
  const Codec* codec = buffer(ref.buffer).codec;
  return codec ? byte_range(ref.offset, codec->bytes(type)) : touched_bytes(type, ref.offset, ref.strides);
}

// A reference that makes sense on its own: it names the value, stays inside its buffer, while the buffer
// lives.
bool StepVerifier::verify_ref(const RefName& name, const Ref& ref, ValueId value, std::int32_t step) {
  const auto reject = [&](const std::string& what) {
    problems_.report("{}: {}", text_of(name), what);
    return false;
  };
  const std::uint32_t b = ref.buffer.index;
  if (ref.value != value)
    return reject(fmt::format("names %{} instead of %{}", ref.value.index, value.index));
  if (!known(ref.buffer)) return reject("no such buffer");
  const Type& type = graph_.type(value);
  const Buffer& buf = buffer(ref.buffer);
  if (ref.strides.rank() != type.rank()) return reject(fmt::format("strides of rank {}", ref.strides.rank()));
  if (buf.purpose == Purpose::scratch) return reject(fmt::format("a value in scratch b{}", b));
  if (step < buf.begin || step >= buf.end) return reject(fmt::format("b{} is not alive", b));
  if (buf.codec && !buf.codec->takes(type))
    return reject(fmt::format("{} has no form of {}", buf.codec->name, to_string(type)));
  if (buf.codec && !is_dense(type.shape, ref.strides)) return reject("a window on what is coded");
  const ByteRange range = range_of(ref);
  if (range.first < 0 || range.last > buf.bytes)
    return reject(fmt::format("bytes [{}, {}) of b{}, which has {}", range.first, range.last, b, buf.bytes));
  return true;
}

void StepVerifier::play_all() {
  for (std::size_t t = 0; t < plan_.steps.size() && !problems_.full(); ++t) {
    plan_.steps[t].kind == StepKind::compute ? play(t) : play_transfer(t);
  }
}

void StepVerifier::play(std::size_t t) {
  const Step& step = plan_.steps[t];
  if (!lane(step).computes) return problems_.report("step {}: lane {} does not compute", t, lane(step).name);
  if (step.node.index >= graph_.nodes().size()) return problems_.report("step {}: no such node", t);
  const Node& node = graph_[step.node];
  if (step.in.size() != node.operands.size() || step.out.size() != node.results.size()) {
    return problems_.report("{}: {} operands and {} results", text_of(t), step.in.size(), step.out.size());
  }
  const bool operands_sound = verify_operands(t, node), results_sound = verify_results(t, node);
  if (!operands_sound || !results_sound) return;

  const StepCall call(graph_, plan_, step);
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    const bool dense = is_dense(graph_.type(node.operands[k]).shape, step.in[k].strides);
    if (!dense && !target_.takes_strides(call, static_cast<int>(k)))
      problems_.report("{}: operand {} must be dense", text_of(t), k);
  }
  verify_writes(t, node, call);
  verify_scratch(t, target_.scratch(call));
  for (const Ref& out : step.out)
    memory_.write(out.buffer, out.value, {out.offset, out.offset + graph_.type(out.value).bytes()});
}

bool StepVerifier::verify_operands(std::size_t t, const Node& node) {
  const Step& step = plan_.steps[t];
  bool sound = true;
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    const RefName name{.step = static_cast<std::int32_t>(t), .number = static_cast<std::int32_t>(k)};
    const std::uint32_t b = step.in[k].buffer.index;
    if (!verify_ref(name, step.in[k], node.operands[k], name.step)) {
      sound = false;
    } else if (!is_at_hand(step, step.in[k].buffer)) {
      problems_.report("{}: b{} is not plain in the lane's memory", text_of(name), b);
    } else if (!memory_.holds(step.in[k])) {
      problems_.report("{}: b{} does not hold %{} there", text_of(name), b, node.operands[k].index);
    }
  }
  return sound;
}

bool StepVerifier::verify_results(std::size_t t, const Node& node) {
  const Step& step = plan_.steps[t];
  bool sound = true;
  for (std::size_t r = 0; r < node.results.size(); ++r) {
    const RefName name{
        .step = static_cast<std::int32_t>(t), .role = "result", .number = static_cast<std::int32_t>(r)};
    const Ref& out = step.out[r];
    if (!verify_ref(name, out, node.results[r], name.step)) {
      sound = false;
    } else if (!is_at_hand(step, out.buffer)) {
      problems_.report("{}: b{} is not plain in the lane's memory", text_of(name), out.buffer.index);
    } else if (!is_dense(graph_.type(node.results[r]).shape, out.strides)) {
      problems_.report("{}: not dense", text_of(name));
    } else if (buffer(out.buffer).purpose == Purpose::input) {
      problems_.report("{}: writes an input that was not donated", text_of(name));
    }
  }
  return sound;
}

// A result may lie on an operand only byte for byte and if the op allows it; on another result never.
void StepVerifier::verify_writes(std::size_t t, const Node& node, const Call& call) {
  const Step& step = plan_.steps[t];
  for (std::size_t r = 0; r < node.results.size(); ++r) {
    const Ref& out = step.out[r];
    const ByteRange written = range_of(out);
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const Ref& in = step.in[k];
      const Type& type = graph_.type(in.value);
      if (in.buffer != out.buffer || !written.meets(range_of(in))) continue;
      if (!target_.may_overwrite(call, static_cast<int>(r), static_cast<int>(k))) {
        problems_.report("{}: result {} may not overwrite operand {}", text_of(t), r, k);
      } else if (in.offset != out.offset || !is_dense(type.shape, in.strides) ||
                 type.bytes() != graph_.type(out.value).bytes()) {
        problems_.report("{}: result {} overwrites a part of operand {}", text_of(t), r, k);
      }
    }
    for (std::size_t other = 0; other < r; ++other) {
      if (step.out[other].buffer == out.buffer && written.meets(range_of(step.out[other])))
        problems_.report("{}: results {} and {} overlap", text_of(t), other, r);
    }
  }
}

void StepVerifier::verify_scratch(std::size_t t, std::int64_t needed) {
  const BufferId scratch = plan_.steps[t].scratch;
  if (!scratch.valid()) {
    if (needed > 0) problems_.report("{}: needs {} bytes of scratch", text_of(t), needed);
    return;
  }
  if (!known(scratch)) return problems_.report("{}: no such scratch buffer", text_of(t));
  const Buffer& buf = buffer(scratch);
  if (buf.purpose != Purpose::scratch || buf.binding != Binding::arena)
    problems_.report("{}: scratch is no scratch", text_of(t));
  if (!is_at_hand(plan_.steps[t], scratch)) problems_.report("{}: scratch in another memory", text_of(t));
  if (buf.bytes < needed)
    problems_.report("{}: needs {} bytes of scratch and has {}", text_of(t), needed, buf.bytes);
  const auto now = static_cast<std::int32_t>(t);
  if (now < buf.begin || now >= buf.end)
    problems_.report("{}: scratch b{} is not alive", text_of(t), scratch.index);
}

void StepVerifier::verify_outputs() {
  const auto last = static_cast<std::int32_t>(plan_.steps.size());
  std::map<std::uint32_t, std::size_t> first_in;  // by buffer: the first output that is there
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    const Ref& ref = plan_.outputs[i];
    const RefName name{.role = "output", .number = static_cast<std::int32_t>(i)};
    const auto reject = [&](std::string_view what) { problems_.report("output {}: {}", i, what); };
    if (!known(ref.buffer)) {
      reject("no such buffer");
      continue;
    }
    const Buffer& buf = buffer(ref.buffer);
    const std::uint32_t b = ref.buffer.index;
    if (buf.end != last) reject(fmt::format("b{} is not alive at the end", b));
    if (last > 0 && !verify_ref(name, ref, graph_.outputs()[i], last - 1)) continue;
    if (last == 0 && ref.value != graph_.outputs()[i]) {
      reject("names another value");
      continue;
    }
    if (!is_dense(graph_.type(ref.value).shape, ref.strides)) reject("not dense");
    if (!memory_.holds(ref)) reject(fmt::format("b{} does not hold %{}", b, ref.value.index));
    if (buf.binding == Binding::arena && buf.purpose != Purpose::output) reject("purpose of its buffer");
    if (buf.binding == Binding::arena && plan_.binds_outputs) reject("not where the caller wants it");
    if (buf.purpose == Purpose::input && !graph_.is_input(ref.value)) reject("a view of an input");
    const auto [other, fresh] = first_in.try_emplace(b, i);
    if (!fresh && plan_.outputs[other->second].value != ref.value)
      problems_.report("outputs {} and {} share b{}", other->second, i, b);
  }
}

}  // namespace tidemark
