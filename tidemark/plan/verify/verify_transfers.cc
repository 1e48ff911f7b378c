// Copies, changes of form and fetches: one value from one buffer to another, or to the host.
#include "tidemark/plan/verify/verify_steps.h"

#include "tidemark/ir/graph.h"

namespace tidemark {

void StepVerifier::play_transfer(std::size_t t) {
  const Step& step = plan_.steps[t];
  const auto now = static_cast<std::int32_t>(t);
  const std::size_t results = step.kind == StepKind::fetch ? 0 : 1;
  if (step.in.size() != 1 || step.out.size() != results)
    return problems_.report("{}: {} operands and {} results", text_of(t), step.in.size(), step.out.size());
  if (step.node.valid() || step.scratch.valid() || step.group >= 0)
    return problems_.report("{}: a node, scratch or group", text_of(t));
  const Ref& from = step.in[0];
  if (from.value.index >= graph_.values().size()) return problems_.report("{}: no such value", text_of(t));
  const Type& type = graph_.type(from.value);
  if (!verify_ref({.step = now}, from, from.value, now)) return;
  if (!is_dense(type.shape, from.strides)) problems_.report("{}: operand must be dense", text_of(t));
  const Buffer& source = buffer(from.buffer);
  const bool there = source.codec ? memory_.holds_coded(from) : memory_.holds(from);
  if (!there)
    problems_.report("{}: b{} does not hold %{} there", text_of(t), from.buffer.index, from.value.index);
  if (source.binding == Binding::tile) problems_.report("{}: reads a tile", text_of(t));
  if (results == 0) {
    if (source.codec) problems_.report("{}: the host reads what is coded", text_of(t));
    return;
  }
  const Ref& to = step.out[0];
  if (!verify_ref({.step = now, .role = "result"}, to, from.value, now)) return;
  const Buffer& target = buffer(to.buffer);
  if (!is_dense(type.shape, to.strides)) problems_.report("{}: result is not dense", text_of(t));
  if (target.purpose == Purpose::input)
    problems_.report("{}: writes an input that was not donated", text_of(t));
  if (target.binding == Binding::tile) problems_.report("{}: writes a tile", text_of(t));
  const auto bytes_in = [&](const Buffer& buf) { return buf.codec ? buf.codec->bytes(type) : type.bytes(); };
  const ByteRange written{to.offset, to.offset + bytes_in(target)};
  if (to.buffer == from.buffer && written.meets({from.offset, from.offset + bytes_in(source)}))
    problems_.report("{}: overwrites what it reads", text_of(t));
  verify_forms(t, source, target);
  memory_.write(to.buffer, to.value, written);
}

void StepVerifier::verify_forms(std::size_t t, const Buffer& source, const Buffer& target) {
  const StepKind kind = plan_.steps[t].kind;
  const bool encodes = kind == StepKind::encode, decodes = kind == StepKind::decode;
  if (encodes && (source.codec || !target.codec)) problems_.report("{}: not from plain to coded", text_of(t));
  if (decodes && (!source.codec || target.codec)) problems_.report("{}: not from coded to plain", text_of(t));
  if (kind == StepKind::copy && source.codec != target.codec)
    problems_.report("{}: changes the form", text_of(t));
  if ((encodes || decodes) && source.memory != target.memory)
    problems_.report("{}: between memories", text_of(t));
  const Codec* codec = source.codec ? source.codec : target.codec;
  if (codec && !codec->exact)
    problems_.report("{}: {} is lossy, which nobody allowed", text_of(t), codec->name);
}

}  // namespace tidemark
