#include "tidemark/plan/verify/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "tidemark/base/error.h"
#include "tidemark/plan/verify/verify_effects.h"
#include "tidemark/plan/verify/verify_groups.h"
#include "tidemark/plan/verify/verify_lanes.h"

namespace tidemark {
namespace {

constexpr std::size_t enough_problems = 32;
constexpr std::int64_t absurd = std::int64_t{1}
                                << 50;  // no memory is this large; keeps sums from overflowing

struct Place {
  BufferId buffer;
  std::int64_t offset = 0;
  Strides strides;
};

// Bytes of the buffer a window touches: [first, last).
struct Span {
  std::int64_t first = 0, last = 0;
  bool meets(const Span& other) const { return first < other.last && other.first < last; }
};

// A plan may come from a file, so offset and strides may be anything: what overflows becomes a span no buffer
// has.
Span span_of(const Type& type, std::int64_t offset, const Strides& strides) {
  constexpr Span nowhere{-absurd, absurd};
  if (offset < -absurd || offset > absurd) return nowhere;
  if (type.count() == 0) return {offset, offset};
  const std::int64_t size = size_of(type.dtype);
  Span span{offset, offset + size};
  for (int i = 0; i < type.rank(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow((type.shape[i] - 1) * size, strides[i], &reach)) return nowhere;
    if (reach < -absurd || reach > absurd) return nowhere;
    (reach < 0 ? span.first : span.last) += reach;
    if (span.first < -absurd || span.last > absurd) return nowhere;
  }
  return span;
}

// Equal where it can matter: a dimension of size one never steps.
bool same_strides(const Shape& shape, const Strides& a, const Strides& b) {
  if (a.rank() != shape.rank() || b.rank() != shape.rank()) return false;
  if (element_count(shape) == 0) return true;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != 1 && a[i] != b[i]) return false;
  }
  return true;
}

class Verifier {
 public:
  Verifier(const Graph& graph, const Plan& plan, const Target& target)
      : graph_(graph), plan_(plan), target_(target) {}

  std::vector<std::string> run() {
    if (!check_target() || !check_memories() || !check_buffers() || !check_bodies())
      return std::move(problems_);  // the rest would index out of range
    for (std::size_t m = 0; m < memory_count(plan_); ++m) check_overlaps(m);
    bind_inputs();
    for (std::size_t t = 0; t < plan_.steps.size() && problems_.size() < enough_problems; ++t) play(t);
    check_effects();
    // The list is one order in which things may happen. The others give the same values if no two lanes touch
    // the same bytes unordered. Both take every reference at its word.
    if (problems_.empty()) problems_ = group_problems(graph_, plan_, target_);
    if (problems_.empty()) problems_ = lane_problems(plan_, effect_pairs(graph_, plan_));
    check_outputs();
    check_figures();
    return std::move(problems_);
  }

 private:
  struct Content {
    ValueId value;
    Span span;
  };

  template <class... Args>
  void report(fmt::format_string<Args...> text, Args&&... args) {
    if (problems_.size() < enough_problems)
      problems_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  bool known(BufferId b) const { return b.index < plan_.buffers.size(); }
  const Buffer& buffer(BufferId b) const { return plan_.buffers[b.index]; }
  std::string at(std::size_t t) const {
    const NodeId n = plan_.steps[t].node;
    if (plan_.steps[t].kind != StepKind::compute)
      return fmt::format("step {} ({})", t, name_of(plan_.steps[t].kind));
    return fmt::format("step {} ({})", t, n.index < graph_.nodes().size() ? graph_[n].op->name : "?");
  }
  const Lane& lane(const Step& step) const { return plan_.lanes[static_cast<std::size_t>(step.lane)]; }

  // Bytes that a value takes in the form that the buffer holds.
  std::int64_t bytes_in(const Buffer& buf, const Type& type) const {
    return buf.codec ? buf.codec->bytes(type) : type.bytes();
  }

  // Facts of another target say nothing about this plan.
  bool check_target() {
    if (plan_.target != target_.name)
      report("made for the target `{}`, not for `{}`", plan_.target, target_.name);
    if (plan_.alignment != target_.alignment)
      report("aligned to {} bytes, where the target asks for {}", plan_.alignment, target_.alignment);
    for (const Node& node : graph_.nodes()) {
      if (!target_.runs(*node.op)) report("{} cannot run on the target `{}`", node.op->name, target_.name);
    }
    return problems_.empty();
  }

  bool check_memories() {
    const auto memories = static_cast<std::int32_t>(memory_count(plan_));
    for (std::size_t m = 1; m < memory_count(plan_); ++m) {
      const PlanMemory& memory = plan_.further[m - 1];
      if (memory.alignment < 1 || memory.alignment > absurd)
        report("memory {}: alignment {}", m, memory.alignment);
      if (memory.input_bytes > absurd || memory.arena_bytes > absurd || memory.lower_bound > absurd)
        report("memory {}: figures beyond all memory", m);
    }
    if (plan_.lanes.empty()) report("no lanes");
    for (const Lane& lane : plan_.lanes) {
      if (lane.memory < 0 || lane.memory >= memories) report("lane {}: no memory {}", lane.name, lane.memory);
    }
    for (std::size_t t = 0; t < plan_.steps.size() && problems_.size() < enough_problems; ++t) {
      const Step& step = plan_.steps[t];
      if (step.lane < 0 || step.lane >= static_cast<std::int32_t>(plan_.lanes.size())) {
        report("step {}: no lane {}", t, step.lane);
        continue;
      }
      for (std::int32_t wait : step.waits) {
        if (wait < 0 || wait >= static_cast<std::int32_t>(t)) {
          report("step {}: waits for step {}", t, wait);
        } else if (plan_.steps[static_cast<std::size_t>(wait)].lane == step.lane) {
          report("step {}: waits for step {} of its own lane", t, wait);
        }
      }
    }
    return problems_.empty();
  }

  bool check_buffers() {
    const auto steps = static_cast<std::int32_t>(plan_.steps.size());
    std::vector<int> bound(graph_.inputs().size(), 0);
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buf = plan_.buffers[b];
      if (buf.begin < 0 || buf.end > steps || buf.begin > buf.end) {
        report("b{}: lives in [{}, {}) of {} steps", b, buf.begin, buf.end, steps);
      }
      if (buf.bytes < 0 || buf.bytes > absurd) report("b{}: {} bytes", b, buf.bytes);
      if (buf.value.valid() && buf.value.index >= graph_.values().size()) report("b{}: made for no value", b);
      if (buf.memory < 0 || static_cast<std::size_t>(buf.memory) >= memory_count(plan_)) {
        report("b{}: no memory {}", b, buf.memory);
        continue;
      }
      const bool in_arena = buf.binding == Binding::arena;
      const bool named = buf.binding == Binding::argument || buf.binding == Binding::result;
      if (!named && buf.slot != -1) report("b{}: a slot", b);
      if (!in_arena && buf.offset != 0) report("b{}: an offset outside of an arena", b);
      if (buf.codec && (!in_arena || buf.purpose != Purpose::value || !buf.value.valid()))
        report("b{}: coded, and no value of the arena", b);
      if (in_arena) {
        const PlanMemory memory = memory_of(plan_, static_cast<std::size_t>(buf.memory));
        const bool placed = buf.offset >= 0 && buf.offset < absurd && buf.offset % memory.alignment == 0;
        if (!placed) report("b{}: offset {}", b, buf.offset);
        if (placed && buf.bytes <= absurd && buf.offset + buf.bytes > memory.arena_bytes) {
          report("b{}: ends above the arena", b);
        }
        if (buf.purpose == Purpose::input || buf.purpose == Purpose::donated)
          report("b{}: an input in the arena", b);
      } else if (buf.binding == Binding::result) {
        check_result(b);
      } else if (buf.binding == Binding::tile) {
        if (buf.purpose != Purpose::value) report("b{}: a tile with a place", b);
      } else if (buf.slot < 0 || static_cast<std::size_t>(buf.slot) >= bound.size()) {
        report("b{}: bound to no input", b);
      } else {
        const auto index = static_cast<std::size_t>(buf.slot);
        const Input& input = graph_.inputs()[index];
        ++bound[index];
        if (buf.bytes != graph_.type(input.value).bytes()) report("b{}: not the size of input {}", b, index);
        if (buf.begin != 0 || buf.end != steps)
          report("b{}: an input lives from the first step to the last", b);
        if (buf.purpose != (input.donated ? Purpose::donated : Purpose::input)) report("b{}: purpose", b);
        if (buf.value != input.value) report("b{}: not made for input {}", b, index);
      }
    }
    for (std::size_t i = 0; i < bound.size(); ++i) {
      if (bound[i] != 1) report("input {} is bound by {} buffers", i, bound[i]);
    }
    if (plan_.outputs.size() != graph_.outputs().size()) report("{} outputs", plan_.outputs.size());
    return problems_.empty();
  }

  // Memory that the caller names for an output: of its size, for one that is to be written there, once.
  void check_result(std::size_t b) {
    const Buffer& buf = plan_.buffers[b];
    const auto index = static_cast<std::size_t>(buf.slot);
    if (!plan_.binds_outputs) report("b{}: the caller names no memory for outputs", b);
    if (buf.slot < 0 || index >= graph_.outputs().size()) return report("b{}: made for no output", b);
    if (buf.bytes != graph_.type(graph_.outputs()[index]).bytes())
      report("b{}: not the size of output {}", b, index);
    if (buf.purpose != Purpose::output) report("b{}: purpose", b);
    const auto [other, fresh] = result_buffers_.try_emplace(index, b);
    if (!fresh) report("b{} and b{} are both output {}", other->second, b, index);
  }

  // Every node with regions has a right plan for each of them.
  bool check_bodies() {
    std::size_t next = 0;
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (node.regions.empty()) continue;
      if (next == plan_.bodies.size() || plan_.bodies[next].node != NodeId(n) ||
          plan_.bodies[next].regions.size() != node.regions.size()) {
        report("node {} ({}): its regions are not planned", n, node.op->name);
        return false;
      }
      for (std::size_t r = 0; r < node.regions.size(); ++r) {
        const Plan& region = plan_.bodies[next].regions[r];
        if (!is_plain(region))
          report("node {} ({}): region {} in several memories or lanes", n, node.op->name, r);
        if (!region.binds_outputs) report("node {} ({}): region {} keeps its outputs", n, node.op->name, r);
        for (const std::string& problem : Verifier(node.regions[r], region, target_).run())
          report("node {} ({}): region {}: {}", n, node.op->name, r, problem);
      }
      facts_.resize(graph_.nodes().size());
      facts_[n] = region_facts(plan_, NodeId(n));
      ++next;
    }
    if (next != plan_.bodies.size()) report("plans for regions that are not there");
    return problems_.empty();
  }

  std::span<const RegionFacts> facts(NodeId n) const {
    return facts_.empty() ? std::span<const RegionFacts>() : facts_[n.index];
  }

  // Sweeps over the list of steps with the live stretches of one memory's arena ordered by address.
  void check_overlaps(std::size_t memory) {
    const std::int64_t alignment = memory_of(plan_, memory).alignment;
    std::int64_t load = 0, most = 0;
    struct Event {
      std::int32_t step;
      bool begins;
      std::size_t buffer;
    };
    std::vector<Event> events;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buf = plan_.buffers[b];
      if (static_cast<std::size_t>(buf.memory) != memory) continue;
      if (buf.binding != Binding::arena || buf.bytes == 0 || buf.begin == buf.end) continue;
      events.push_back({buf.begin, true, b});
      events.push_back({buf.end, false, b});
    }
    std::ranges::sort(events, [](const Event& a, const Event& b) {
      return std::tuple(a.step, a.begins, a.buffer) < std::tuple(b.step, b.begins, b.buffer);
    });
    std::multimap<std::int64_t, std::size_t> live;  // by offset
    for (const Event& event : events) {
      const Buffer& buf = plan_.buffers[event.buffer];
      if (!event.begins) {
        const auto [low, high] = live.equal_range(buf.offset);
        live.erase(std::find_if(low, high, [&](const auto& entry) { return entry.second == event.buffer; }));
        load -= align_up(buf.bytes, alignment);
        continue;
      }
      load += align_up(buf.bytes, alignment);
      most = std::max(most, load);
      const auto place = live.insert({buf.offset, event.buffer});
      const auto clash = [&](std::size_t other) {
        report("b{} and b{} overlap at step {}", std::min(other, event.buffer), std::max(other, event.buffer),
               event.step);
      };
      if (place != live.begin()) {
        const Buffer& below = plan_.buffers[std::prev(place)->second];
        if (below.offset + below.bytes > buf.offset) clash(std::prev(place)->second);
      }
      if (std::next(place) != live.end() && std::next(place)->first < buf.offset + buf.bytes) {
        clash(std::next(place)->second);
      }
    }
    most_load_.push_back(most);
  }

  void bind_inputs() {
    contents_.resize(plan_.buffers.size());
    homes_.resize(graph_.values().size());
    places_.resize(graph_.values().size());
    known_places_.assign(graph_.values().size(), false);
    windows_on_.resize(graph_.values().size());
    for (std::size_t v = 0; v < graph_.values().size(); ++v) {
      for (ValueId operand : viewed_operands(ValueId(v))) windows_on_[operand.index].push_back(ValueId(v));
    }
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buf = plan_.buffers[b];
      if (buf.binding == Binding::argument) put(BufferId(b), buf.value, {0, buf.bytes});
    }
  }

  void put(BufferId b, ValueId v, Span span) {
    wipe(b, span);
    contents_[b.index].push_back({v, span});
    homes_[v.index].push_back(b);
    forget_places(v);
  }
  void wipe(BufferId b, Span span) {
    std::erase_if(contents_[b.index], [&](const Content& content) {
      const bool gone = content.span.meets(span);
      if (gone) std::erase(homes_[content.value.index], b), forget_places(content.value);
      return gone;
    });
  }

  // Where the value can be found now: as written, or as a window on an operand that is still there. Windows
  // stand on windows, in chains as long as the user likes: what was found is kept until one of its origins
  // changes.
  const std::vector<Place>& places(ValueId v) {
    std::vector<ValueId> waiting{v}, found;
    while (!waiting.empty()) {
      const ValueId next = waiting.back();
      waiting.pop_back();
      if (known_places_[next.index]) continue;
      known_places_[next.index] = true;  // as it will be below
      const std::span<const ValueId> operands = viewed_operands(next);
      waiting.insert(waiting.end(), operands.begin(), operands.end());
      found.push_back(next);
    }
    // A node's results have higher numbers than what nodes before it made; inputs are windows on nothing.
    std::ranges::sort(found, {}, [&](ValueId w) { return std::pair(!graph_.is_input(w), w.index); });
    for (ValueId w : found) find_places(w);
    return places_[v.index];
  }

  std::span<const ValueId> viewed_operands(ValueId v) const {
    if (graph_.is_input(v)) return {};
    const Node& node = graph_[graph_[v].producer];
    return node.op->view ? std::span<const ValueId>(node.operands) : std::span<const ValueId>();
  }

  // Those of the operands are known.
  void find_places(ValueId v) {
    std::vector<Place>& result = places_[v.index];
    result.clear();
    for (BufferId b : homes_[v.index]) {
      if (buffer(b).codec) continue;  // in another form it is no place to read from
      for (const Content& content : contents_[b.index]) {
        if (content.value == v)
          result.push_back({b, content.span.first, dense_strides(graph_.type(v).shape)});
      }
    }
    if (viewed_operands(v).empty()) return;
    const Node& node = graph_[graph_[v].producer];
    NodeCall call(graph_, node);
    std::vector<Strides> strides;
    for (ValueId operand : node.operands) strides.push_back(dense_strides(graph_.type(operand).shape));
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      for (const Place& base : places_[node.operands[k].index]) {
        const Strides usual = strides[k];
        strides[k] = base.strides;
        call.call.in_strides = strides;
        const auto spec = node.op->view(call, static_cast<int>(graph_[v].result));
        strides[k] = usual;
        if (!spec || spec->operand != static_cast<int>(k)) continue;
        const DType dtype = graph_.type(node.operands[k]).dtype;
        if (dtype != graph_.type(v).dtype) continue;
        result.push_back({base.buffer, base.offset + spec->offset * size_of(dtype), spec->strides});
      }
    }
  }

  // The value is somewhere else than it was, and so are the windows on it.
  void forget_places(ValueId v) {
    std::vector<ValueId> changed{v};
    while (!changed.empty()) {
      const ValueId next = changed.back();
      changed.pop_back();
      if (!known_places_[next.index]) continue;  // and then nothing on it is known either
      known_places_[next.index] = false;
      changed.insert(changed.end(), windows_on_[next.index].begin(), windows_on_[next.index].end());
    }
  }

  // A reference that makes sense on its own: it names the value, stays inside its buffer, while the buffer
  // lives.
  template <class Where>  // () → text: made only where something is wrong, for most plans have nothing wrong
  bool check_ref(const Where& where, const Ref& ref, ValueId value, std::int32_t step) {
    if (ref.value != value) {
      report("{}: names %{} instead of %{}", where(), ref.value.index, value.index);
    } else if (!known(ref.buffer)) {
      report("{}: no such buffer", where());
    } else if (ref.strides.rank() != graph_.type(value).rank()) {
      report("{}: strides of rank {}", where(), ref.strides.rank());
    } else if (buffer(ref.buffer).purpose == Purpose::scratch) {
      report("{}: a value in scratch b{}", where(), ref.buffer.index);
    } else if (step < buffer(ref.buffer).begin || step >= buffer(ref.buffer).end) {
      report("{}: b{} is not alive", where(), ref.buffer.index);
    } else {
      const Buffer& buf = buffer(ref.buffer);
      const Type& type = graph_.type(value);
      if (buf.codec && !buf.codec->takes(type)) {
        report("{}: {} has no form of {}", where(), buf.codec->name, to_string(type));
        return false;
      }
      if (buf.codec && !is_dense(type.shape, ref.strides)) {
        report("{}: a window on what is coded", where());
        return false;
      }
      const Span span = buf.codec ? Span{ref.offset, ref.offset + buf.codec->bytes(type)}
                                  : span_of(type, ref.offset, ref.strides);
      if (span.first < 0 || span.last > buffer(ref.buffer).bytes) {
        report("{}: bytes [{}, {}) of b{}, which has {}", where(), span.first, span.last, ref.buffer.index,
               buffer(ref.buffer).bytes);
      } else {
        return true;
      }
    }
    return false;
  }

  bool holds(const Ref& ref) {
    const Type& type = graph_.type(ref.value);
    return std::ranges::any_of(places(ref.value), [&](const Place& place) {
      return place.buffer == ref.buffer && (place.offset == ref.offset || type.count() == 0) &&
             same_strides(type.shape, place.strides, ref.strides);
    });
  }

  // Copies, and changes of form: one value from one buffer to another.
  void play_transfer(std::size_t t) {
    const Step& step = plan_.steps[t];
    const auto now = static_cast<std::int32_t>(t);
    const std::size_t results = step.kind == StepKind::fetch ? 0 : 1;
    if (step.in.size() != 1 || step.out.size() != results)
      return report("{}: {} operands and {} results", at(t), step.in.size(), step.out.size());
    if (step.node.valid() || step.scratch.valid() || step.group >= 0)
      return report("{}: a node, scratch or group", at(t));
    const Ref& from = step.in[0];
    if (from.value.index >= graph_.values().size()) return report("{}: no such value", at(t));
    const Type& type = graph_.type(from.value);
    if (!check_ref([&] { return at(t) + ": operand"; }, from, from.value, now)) return;
    if (!is_dense(type.shape, from.strides)) report("{}: operand must be dense", at(t));
    const Buffer& source = buffer(from.buffer);
    const bool there = source.codec ? holds_coded(from) : holds(from);
    if (!there) report("{}: b{} does not hold %{} there", at(t), from.buffer.index, from.value.index);
    if (source.binding == Binding::tile) report("{}: reads a tile", at(t));
    if (results == 0) {
      if (source.codec) report("{}: the host reads what is coded", at(t));
      return;
    }
    const Ref& to = step.out[0];
    if (!check_ref([&] { return at(t) + ": result"; }, to, from.value, now)) return;
    const Buffer& target = buffer(to.buffer);
    if (!is_dense(type.shape, to.strides)) report("{}: result is not dense", at(t));
    if (target.purpose == Purpose::input) report("{}: writes an input that was not donated", at(t));
    if (target.binding == Binding::tile) report("{}: writes a tile", at(t));
    const Span written{to.offset, to.offset + bytes_in(target, type)};
    if (to.buffer == from.buffer && written.meets({from.offset, from.offset + bytes_in(source, type)}))
      report("{}: overwrites what it reads", at(t));
    const bool encodes = step.kind == StepKind::encode, decodes = step.kind == StepKind::decode;
    if (encodes && (source.codec || !target.codec)) report("{}: not from plain to coded", at(t));
    if (decodes && (!source.codec || target.codec)) report("{}: not from coded to plain", at(t));
    if (step.kind == StepKind::copy && source.codec != target.codec) report("{}: changes the form", at(t));
    if ((encodes || decodes) && source.memory != target.memory) report("{}: between memories", at(t));
    const Codec* codec = source.codec ? source.codec : target.codec;
    if (codec && !codec->exact) report("{}: {} is lossy, which nobody allowed", at(t), codec->name);
    put(to.buffer, to.value, written);
  }

  bool holds_coded(const Ref& ref) const {
    return std::ranges::any_of(contents_[ref.buffer.index], [&](const Content& content) {
      return content.value == ref.value && content.span.first == ref.offset;
    });
  }

  // Computing happens in the memory of the lane, on what is plain.
  bool is_at_hand(const Step& step, BufferId b) const {
    return !buffer(b).codec && buffer(b).memory == lane(step).memory;
  }

  void play(std::size_t t) {
    const Step& step = plan_.steps[t];
    const auto now = static_cast<std::int32_t>(t);
    if (step.kind != StepKind::compute) return play_transfer(t);
    if (!lane(step).computes) return report("step {}: lane {} does not compute", t, lane(step).name);
    if (step.node.index >= graph_.nodes().size()) return report("step {}: no such node", t);
    const Node& node = graph_[step.node];
    if (step.in.size() != node.operands.size() || step.out.size() != node.results.size()) {
      return report("{}: {} operands and {} results", at(t), step.in.size(), step.out.size());
    }

    bool sound = true;
    NodeCall call(graph_, node);
    std::vector<Strides> strides;
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const auto where = [&] { return fmt::format("{}: operand {}", at(t), k); };
      if (!check_ref(where, step.in[k], node.operands[k], now)) {
        sound = false;
      } else if (!is_at_hand(step, step.in[k].buffer)) {
        report("{}: b{} is not plain in the lane's memory", where(), step.in[k].buffer.index);
      } else if (!holds(step.in[k])) {
        report("{}: b{} does not hold %{} there", where(), step.in[k].buffer.index, node.operands[k].index);
      }
      strides.push_back(step.in[k].strides);
    }
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const auto where = [&] { return fmt::format("{}: result {}", at(t), r); };
      if (!check_ref(where, step.out[r], node.results[r], now)) {
        sound = false;
      } else if (!is_at_hand(step, step.out[r].buffer)) {
        report("{}: b{} is not plain in the lane's memory", where(), step.out[r].buffer.index);
      } else if (!is_dense(graph_.type(node.results[r]).shape, step.out[r].strides)) {
        report("{}: not dense", where());
      } else if (buffer(step.out[r].buffer).purpose == Purpose::input) {
        report("{}: writes an input that was not donated", where());
      }
    }
    if (!sound) return;

    call.call.in_strides = strides;
    call.call.planned = facts(step.node);
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const bool dense = is_dense(graph_.type(node.operands[k]).shape, strides[k]);
      if (!dense && !target_.takes_strides(call, static_cast<int>(k))) {
        report("{}: operand {} must be dense", at(t), k);
      }
    }
    check_writes(t, node, call);
    check_scratch(t, target_.scratch(call));
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const Ref& out = step.out[r];
      put(out.buffer, out.value, {out.offset, out.offset + graph_.type(out.value).bytes()});
    }
  }

  // A result may lie on an operand only byte for byte and if the op allows it; on another result never.
  void check_writes(std::size_t t, const Node& node, const Call& call) {
    const Step& step = plan_.steps[t];
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const Ref& out = step.out[r];
      const Span written = span_of(graph_.type(out.value), out.offset, out.strides);
      for (std::size_t k = 0; k < node.operands.size(); ++k) {
        const Ref& in = step.in[k];
        const Type& type = graph_.type(in.value);
        if (in.buffer != out.buffer || !written.meets(span_of(type, in.offset, in.strides))) continue;
        if (!target_.may_overwrite(call, static_cast<int>(r), static_cast<int>(k))) {
          report("{}: result {} may not overwrite operand {}", at(t), r, k);
        } else if (in.offset != out.offset || !is_dense(type.shape, in.strides) ||
                   type.bytes() != graph_.type(out.value).bytes()) {
          report("{}: result {} overwrites a part of operand {}", at(t), r, k);
        }
      }
      for (std::size_t other = 0; other < r; ++other) {
        const Ref& also = step.out[other];
        if (also.buffer == out.buffer &&
            written.meets(span_of(graph_.type(also.value), also.offset, also.strides))) {
          report("{}: results {} and {} overlap", at(t), other, r);
        }
      }
    }
  }

  void check_scratch(std::size_t t, std::int64_t needed) {
    const BufferId scratch = plan_.steps[t].scratch;
    if (!scratch.valid()) {
      if (needed > 0) report("{}: needs {} bytes of scratch", at(t), needed);
      return;
    }
    if (!known(scratch)) return report("{}: no such scratch buffer", at(t));
    const Buffer& buf = buffer(scratch);
    if (buf.purpose != Purpose::scratch || buf.binding != Binding::arena)
      report("{}: scratch is no scratch", at(t));
    if (!is_at_hand(plan_.steps[t], scratch)) report("{}: scratch in another memory", at(t));
    if (buf.bytes < needed) report("{}: needs {} bytes of scratch and has {}", at(t), needed, buf.bytes);
    const auto now = static_cast<std::int32_t>(t);
    if (now < buf.begin || now >= buf.end) report("{}: scratch b{} is not alive", at(t), scratch.index);
  }

  void check_effects() {
    const bool sound = std::ranges::all_of(plan_.steps, [&](const Step& step) {
      return step.kind != StepKind::compute || step.node.index < graph_.nodes().size();
    });
    if (!sound) return;  // said already
    for (const std::string& problem : effect_problems(graph_, plan_)) report("{}", problem);
  }

  void check_outputs() {
    const auto last = static_cast<std::int32_t>(plan_.steps.size());
    std::map<std::uint32_t, std::size_t> first_in;  // by buffer: the first output that is there
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Ref& ref = plan_.outputs[i];
      const auto where = [&] { return fmt::format("output {}", i); };
      if (!known(ref.buffer)) {
        report("{}: no such buffer", where());
        continue;
      }
      if (buffer(ref.buffer).end != last)
        report("{}: b{} is not alive at the end", where(), ref.buffer.index);
      if (last > 0 && !check_ref(where, ref, graph_.outputs()[i], last - 1)) continue;
      if (last == 0 && ref.value != graph_.outputs()[i]) {
        report("{}: names another value", where());
        continue;
      }
      if (!is_dense(graph_.type(ref.value).shape, ref.strides)) report("{}: not dense", where());
      if (!holds(ref)) report("{}: b{} does not hold %{}", where(), ref.buffer.index, ref.value.index);
      const Buffer& buf = buffer(ref.buffer);
      if (buf.binding == Binding::arena && buf.purpose != Purpose::output)
        report("{}: purpose of its buffer", where());
      if (buf.binding == Binding::arena && plan_.binds_outputs)
        report("{}: not where the caller wants it", where());
      if (buf.purpose == Purpose::input && !graph_.is_input(ref.value))
        report("{}: a view of an input", where());
      const auto [other, fresh] = first_in.try_emplace(ref.buffer.index, i);
      if (!fresh && plan_.outputs[other->second].value != ref.value)
        report("outputs {} and {} share b{}", other->second, i, ref.buffer.index);
    }
  }

  void check_figures() {
    if (plan_.input_bytes > absurd || plan_.arena_bytes > absurd) return report("figures beyond all memory");
    for (std::size_t m = 0; m < memory_count(plan_); ++m) check_figures_of(m);
    if (plan_.order_free_bound > plan_.lower_bound)
      report("order_free_bound is above the load of this order");
    if (plan_.store_all_bytes < plan_.peak()) report("store_all_bytes is below the peak");
    if (!problems_.empty()) return;  // costs are facts about sound steps
    double flops = 0, moved = 0;
    for (const Step& step : plan_.steps) {
      if (step.kind != StepKind::compute) continue;
      const Node& node = graph_[step.node];
      NodeCall call(graph_, node);
      std::vector<Strides> strides;
      for (const Ref& ref : step.in) strides.push_back(ref.strides);
      call.call.in_strides = strides;
      call.call.planned = facts(step.node);
      const Cost cost = target_.cost(call);
      flops += cost.flops;
      moved += std::max(
          0.0,
          cost.bytes - unmoved_bytes(graph_, plan_, static_cast<std::size_t>(&step - plan_.steps.data())));
    }
    // Sums of fractions (a factorisation counts n³/3) depend on the order they are taken in.
    const auto differ = [](double a, double b) { return !(std::abs(a - b) <= 1e-12 * std::abs(a)); };
    if (differ(flops, plan_.flops)) report("flops are {}, not {}", flops, plan_.flops);
    if (differ(moved, plan_.bytes_moved)) report("bytes_moved is {}, not {}", moved, plan_.bytes_moved);
  }

  void check_figures_of(std::size_t m) {
    const PlanMemory memory = memory_of(plan_, m);
    std::int64_t inputs = 0, top = 0;
    for (const Buffer& buf : plan_.buffers) {
      if (static_cast<std::size_t>(buf.memory) != m) continue;
      if (buf.binding == Binding::argument) {
        inputs += buf.bytes;
      } else if (buf.binding == Binding::arena && buf.bytes > 0) {
        top = std::max(top, align_up(buf.offset + buf.bytes, memory.alignment));
      }
    }
    const auto figure = [&](std::string_view name, std::int64_t said, std::int64_t found) {
      if (said != found) report("{}: {} is {}, not {}", memory.name, name, found, said);
    };
    figure("input_bytes", memory.input_bytes, inputs);
    figure("arena_bytes", memory.arena_bytes, top);
    figure("lower_bound", memory.lower_bound, inputs + most_load_[m]);
    if (memory.budget > 0 && memory.peak() > memory.budget)
      report("{}: the peak is above the budget", memory.name);
  }

  const Graph& graph_;
  const Plan& plan_;
  const Target& target_;
  std::vector<std::string> problems_;
  std::vector<std::vector<Content>> contents_;    // per buffer: values whose bytes are whole
  std::vector<std::vector<BufferId>> homes_;      // per value: the buffers whose contents name it
  std::vector<std::vector<Place>> places_;        // per value, where known
  std::vector<bool> known_places_;                // per value: known for all that it may be a window on, too
  std::vector<std::vector<ValueId>> windows_on_;  // per value: results of nodes that may show it
  std::vector<std::vector<RegionFacts>> facts_;   // per node; empty: no node has regions
  std::map<std::size_t, std::size_t> result_buffers_;  // by output
  std::vector<std::int64_t> most_load_;                // per memory
};

}  // namespace

std::vector<std::string> problems(const Graph& graph, const Plan& plan, const Target& target) {
  return Verifier(graph, plan, target).run();
}

void verify_or_throw(const Graph& graph, const Plan& plan, const Target& target) {
  const std::vector<std::string> found = problems(graph, plan, target);
  if (!found.empty())
    throw InternalError(fmt::format("a plan fails verification:\n  {}", fmt::join(found, "\n  ")));
}

VerifiedPlan verified(const Graph& graph, Plan plan, const Target& target) {
  verify_or_throw(graph, plan, target);
  return VerifiedPlan(std::move(plan), target);
}

}  // namespace tidemark
