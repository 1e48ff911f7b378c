#include "tests/support/spread_plan.h"

#include <algorithm>
#include <map>
#include <random>

#include "tidemark/base/check.h"
#include "tidemark/ir/graph.h"

namespace tidemark::testing {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

class Spreader {
 public:
  Spreader(const Graph& graph, const Plan& plain, unsigned seed)
      : graph_(graph), plan_(plain), random_(seed) {}

  Plan run() {
    plan_.further.push_back({.name = "far", .alignment = std::int64_t{1} << draw(10)});
    plan_.lanes = {{.name = "compute"},
                   {.name = "out", .computes = false},
                   {.name = "in", .computes = false},
                   {.name = "compute too"}};
    const std::size_t buffers = plan_.buffers.size();
    for (std::size_t b = 0; b < buffers; ++b) {
      if (draw(2)) move_away(BufferId(b));
    }
    if (draw(2)) use_second_lane();
    set_waits();
    set_lifetimes();
    find_order();
    for (std::int32_t m = 0; m < 2; ++m) place(m);
    set_figures();
    return std::move(plan_);
  }

 private:
  static constexpr std::int32_t out_lane = 1, in_lane = 2, second_lane = 3;

  unsigned draw(unsigned n) { return static_cast<unsigned>(random_() % n); }

  // Is all that the buffer ever holds one value, written once and read whole?
  bool is_simple(BufferId b) const {
    const Buffer& buffer = plan_.buffers[b.index];
    if (buffer.binding != Binding::arena || buffer.purpose != Purpose::value || buffer.bytes == 0)
      return false;
    int writes = 0;
    for (const Step& step : plan_.steps) {
      for (const Ref& ref : step.out) writes += ref.buffer == b;
      for (const auto* refs : {&step.in, &step.out}) {
        for (const Ref& ref : *refs) {
          if (ref.buffer != b) continue;
          if (ref.value != buffer.value || ref.offset != 0) return false;
          if (!is_dense(graph_.type(ref.value).shape, ref.strides)) return false;
        }
      }
    }
    return writes == 1;
  }

  bool touches(const Step& step, BufferId b) const {
    const auto is = [&](const Ref& ref) { return ref.buffer == b; };
    return std::ranges::any_of(step.in, is) || std::ranges::any_of(step.out, is);
  }

  BufferId add_buffer(const Buffer& like, std::int32_t memory, const Codec* codec) {
    Buffer buffer{.bytes = like.bytes, .value = like.value, .memory = memory, .codec = codec};
    if (codec) buffer.bytes = codec->bytes(graph_.type(like.value));
    plan_.buffers.push_back(buffer);
    return BufferId(plan_.buffers.size() - 1);
  }

  Step transfer(StepKind kind, std::int32_t lane, BufferId from, BufferId to) const {
    const ValueId v = plan_.buffers[from.index].value;
    const Strides strides = dense_strides(graph_.type(v).shape);
    return {.kind = kind,
            .in = {{.value = v, .buffer = from, .strides = strides}},
            .out = {{.value = v, .buffer = to, .strides = strides}},
            .lane = lane};
  }

  // Between two launches that touch it, the value waits elsewhere, and is in a buffer of its own afterwards.
  void move_away(BufferId b) {
    if (!is_simple(b)) return;
    std::vector<std::size_t> touched;  // first steps of launches
    for (std::size_t t = 0; t < plan_.steps.size(); t = group_end(plan_, t)) {
      for (std::size_t s = t; s < group_end(plan_, t); ++s) {
        if (touches(plan_.steps[s], b) && (touched.empty() || touched.back() != t)) touched.push_back(t);
      }
    }
    if (touched.size() < 2) return;
    const std::size_t gap = draw(static_cast<unsigned>(touched.size() - 1));
    const std::size_t first = group_end(plan_, touched[gap]), next = touched[gap + 1];
    const std::size_t leaves = first + draw(static_cast<unsigned>(next - first + 1));
    const std::size_t returns = leaves + draw(static_cast<unsigned>(next - leaves + 1));
    if (inside_group(leaves) || inside_group(returns)) return;

    const Buffer like = plan_.buffers[b.index];
    const Codec* codec = find_codec("bits");
    if (!codec->takes(graph_.type(like.value))) codec = nullptr;
    std::vector<Step> away, back;
    BufferId from = b;
    if (codec) {
      const BufferId coded = add_buffer(like, 0, codec);
      away.push_back(transfer(StepKind::encode, out_lane, from, coded));
      from = coded;
    }
    const bool far = !codec || draw(2) == 0;
    BufferId waiting = from;
    if (far) {
      waiting = add_buffer(like, 1, codec);
      away.push_back(transfer(StepKind::copy, out_lane, from, waiting));
    }
    const BufferId fresh = add_buffer(like, 0, nullptr);
    if (codec) {
      BufferId near = waiting;
      if (far) {
        near = add_buffer(like, 0, codec);
        back.push_back(transfer(StepKind::copy, in_lane, waiting, near));
      }
      back.push_back(transfer(StepKind::decode, in_lane, near, fresh));
    } else {
      back.push_back(transfer(StepKind::copy, in_lane, waiting, fresh));
    }
    for (std::size_t t = next; t < plan_.steps.size(); ++t) {
      for (Ref& ref : plan_.steps[t].in) {
        if (ref.buffer == b) ref.buffer = fresh;
      }
    }
    const auto position = [&](std::size_t t) { return plan_.steps.begin() + static_cast<std::ptrdiff_t>(t); };
    plan_.steps.insert(position(returns), back.begin(), back.end());
    plan_.steps.insert(position(leaves), away.begin(), away.end());
  }

  bool inside_group(std::size_t t) const {
    if (t == 0 || t >= plan_.steps.size()) return false;
    return plan_.steps[t].group >= 0 && plan_.steps[t - 1].group == plan_.steps[t].group;
  }

  void use_second_lane() {
    for (std::size_t first = 0; first < plan_.steps.size();) {
      const std::size_t last = group_end(plan_, first);
      if (plan_.steps[first].kind == StepKind::compute && draw(3) == 0) {
        for (std::size_t t = first; t < last; ++t) plan_.steps[t].lane = second_lane;
      }
      first = last;
    }
  }

  // A read waits for the write before it, a write for everything before it, in the same buffer. Some wait for
  // more.
  void set_waits() {
    struct Access {
      std::size_t step;
      bool writes;
    };
    std::vector<std::vector<Access>> accesses(plan_.buffers.size());
    for (std::size_t first = 0; first < plan_.steps.size();) {
      const std::size_t last = group_end(plan_, first);
      for (std::size_t t = first; t < last; ++t) {
        Step& step = plan_.steps[t];
        const auto follow = [&](BufferId b, bool writes) {
          for (const Access& other : accesses[b.index]) {
            if (other.step >= first || plan_.steps[other.step].lane == step.lane) continue;
            if (writes || other.writes) step.waits.push_back(static_cast<std::int32_t>(other.step));
          }
          accesses[b.index].push_back({t, writes});
        };
        for (const Ref& ref : step.in) follow(ref.buffer, false);
        for (const Ref& ref : step.out) follow(ref.buffer, true);
        if (step.scratch.valid()) follow(step.scratch, true);
        if (t > 0 && draw(6) == 0) {
          const auto other = static_cast<std::int32_t>(draw(static_cast<unsigned>(t)));
          if (at(other) < first && plan_.steps[at(other)].lane != step.lane) step.waits.push_back(other);
        }
        std::ranges::sort(step.waits);
        step.waits.erase(std::ranges::unique(step.waits).begin(), step.waits.end());
      }
      first = last;
    }
  }

  void set_lifetimes() {
    const auto steps = static_cast<std::int32_t>(plan_.steps.size());
    std::vector<std::int32_t> begin(plan_.buffers.size(), steps), end(plan_.buffers.size(), 0);
    for (std::size_t first = 0; first < plan_.steps.size();) {
      const std::size_t last = group_end(plan_, first);
      for (std::size_t t = first; t < last; ++t) {
        const auto touch = [&](BufferId b) {
          const bool tile = plan_.buffers[b.index].binding == Binding::tile;
          begin[b.index] = std::min(begin[b.index], static_cast<std::int32_t>(tile ? t : first));
          end[b.index] = std::max(end[b.index], static_cast<std::int32_t>(tile ? t + 1 : last));
        };
        for (const Ref& ref : plan_.steps[t].in) touch(ref.buffer);
        for (const Ref& ref : plan_.steps[t].out) touch(ref.buffer);
        if (plan_.steps[t].scratch.valid()) touch(plan_.steps[t].scratch);
      }
      first = last;
    }
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      Buffer& buffer = plan_.buffers[b];
      const bool untouched = begin[b] == steps && end[b] == 0;
      buffer.begin = untouched ? 0 : begin[b];
      buffer.end = end[b];
      if (buffer.binding == Binding::argument) buffer.begin = 0, buffer.end = steps;
    }
    for (const Ref& ref : plan_.outputs) plan_.buffers[ref.buffer.index].end = steps;
  }

  // before_[b][a]: has step a ended when step b begins?
  void find_order() {
    const std::size_t steps = plan_.steps.size();
    before_.assign(steps, std::vector<bool>(steps, false));
    std::vector<std::size_t> last_of_lane(plan_.lanes.size(), steps);
    for (std::size_t first = 0; first < steps;) {
      const std::size_t last = group_end(plan_, first);
      std::vector<bool> all(steps, false);
      const auto join = [&](std::size_t other) {
        for (std::size_t s = 0; s < steps; ++s) all[s] = all[s] || before_[other][s];
        const std::size_t group = first_of(other);
        for (std::size_t s = group; s < group_end(plan_, group); ++s) all[s] = true;
      };
      const std::size_t previous = last_of_lane[at(plan_.steps[first].lane)];
      if (previous < steps) join(previous);
      for (std::size_t t = first; t < last; ++t) {
        for (std::int32_t wait : plan_.steps[t].waits) join(at(wait));
      }
      for (std::size_t t = first; t < last; ++t) before_[t] = all;
      last_of_lane[at(plan_.steps[first].lane)] = first;
      first = last;
    }
  }

  std::size_t first_of(std::size_t t) const {
    while (inside_group(t)) --t;
    return t;
  }

  bool all_before(std::size_t a, std::size_t b) const {
    if (plan_.buffers[a].end == static_cast<std::int32_t>(plan_.steps.size()) && is_output(a)) return false;
    for (std::size_t s : accesses_[a]) {
      for (std::size_t t : accesses_[b]) {
        if (!before_[t][s]) return false;
      }
    }
    return true;
  }
  bool is_output(std::size_t b) const {
    return std::ranges::any_of(plan_.outputs, [&](const Ref& ref) { return ref.buffer.index == b; });
  }

  // First fit, in a random order.
  void place(std::int32_t memory) {
    accesses_.assign(plan_.buffers.size(), {});
    for (std::size_t t = 0; t < plan_.steps.size(); ++t) {
      for (const auto* refs : {&plan_.steps[t].in, &plan_.steps[t].out}) {
        for (const Ref& ref : *refs) accesses_[ref.buffer.index].push_back(t);
      }
      if (plan_.steps[t].scratch.valid()) accesses_[plan_.steps[t].scratch.index].push_back(t);
    }
    std::vector<std::size_t> todo, placed;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      if (buffer.binding == Binding::arena && buffer.memory == memory) todo.push_back(b);
    }
    std::shuffle(todo.begin(), todo.end(), random_);
    const std::int64_t alignment = memory_of(plan_, at(memory)).alignment;
    for (std::size_t b : todo) {
      Buffer& buffer = plan_.buffers[b];
      buffer.offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t other : placed) {
          const Buffer& there = plan_.buffers[other];
          const bool meets =
              buffer.offset < there.offset + there.bytes && there.offset < buffer.offset + buffer.bytes;
          if (!meets || all_before(other, b) || all_before(b, other)) continue;
          buffer.offset = align_up(there.offset + there.bytes, alignment);
          moved = true;
        }
      }
      placed.push_back(b);
    }
  }

  void set_figures() {
    for (std::size_t m = 0; m < 2; ++m) {
      const std::int64_t alignment = memory_of(plan_, m).alignment;
      std::vector<std::int64_t> change(plan_.steps.size() + 1, 0);
      std::int64_t top = 0, inputs = 0, load = 0, most = 0;
      for (const Buffer& buffer : plan_.buffers) {
        if (at(buffer.memory) != m) continue;
        if (buffer.binding == Binding::argument) inputs += buffer.bytes;
        if (buffer.binding != Binding::arena) continue;
        if (buffer.bytes > 0) top = std::max(top, align_up(buffer.offset + buffer.bytes, alignment));
        change[at(buffer.begin)] += align_up(buffer.bytes, alignment);
        change[at(buffer.end)] -= align_up(buffer.bytes, alignment);
      }
      for (std::int64_t c : change) most = std::max(most, load += c);
      if (m == 0) {
        plan_.input_bytes = inputs, plan_.arena_bytes = top, plan_.lower_bound = inputs + most;
      } else {
        plan_.further[m - 1].arena_bytes = top, plan_.further[m - 1].lower_bound = inputs + most;
      }
    }
    plan_.order_free_bound = std::min(plan_.order_free_bound, plan_.lower_bound);
    plan_.store_all_bytes = std::max(plan_.store_all_bytes, plan_.peak());
  }

  const Graph& graph_;
  Plan plan_;
  std::mt19937 random_;
  std::vector<std::vector<bool>> before_;
  std::vector<std::vector<std::size_t>> accesses_;  // per buffer: steps
};

}  // namespace

Plan spread(const Graph& graph, const Plan& plain, unsigned seed) {
  TM_CHECK(is_plain(plain), "a plan of one memory and one lane is to be spread");
  return Spreader(graph, plain, seed).run();
}

}  // namespace tidemark::testing
