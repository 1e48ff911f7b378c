#include "tests/support/simulated_device.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "tests/support/run_kernel.h"
#include "tidemark/cpu/interpret.h"

namespace tidemark::testing {
namespace {

constexpr std::byte rubbish{0xcd};

class Simulation {
 public:
  Simulation(const Graph& graph, const Plan& plan, std::span<const Literal> inputs,
             const SimulatedOptions& options, ThreadPool& pool)
      : graph_(graph), plan_(plan), options_(options), pool_(pool), random_(options.seed) {
    for (std::size_t m = 0; m < memory_count(plan); ++m)
      arenas_.emplace_back(static_cast<std::size_t>(memory_of(plan, m).arena_bytes), rubbish);
    for (const Literal& input : inputs) arguments_.push_back(input.bytes);
    for (std::size_t first = 0; first < plan.steps.size(); first = group_end(plan, first))
      lanes_.resize(plan.lanes.size()), queue(first, group_end(plan, first));
    lanes_.resize(plan.lanes.size());
    ended_.assign(plan.steps.size(), false);
  }

  SimulatedRun run() {
    double now = 0;
    for (;;) {
      for (LaneState& lane : lanes_) begin_next(lane, now);
      double next = std::numeric_limits<double>::infinity();
      for (const LaneState& lane : lanes_) {
        if (lane.running) next = std::min(next, lane.ends);
      }
      if (next == std::numeric_limits<double>::infinity()) break;
      now = next;
      for (LaneState& lane : lanes_) {
        if (lane.running && lane.ends == now) end(lane);
      }
    }
    SimulatedRun result{.outputs = {}, .clock = now};
    for (const Ref& ref : plan_.outputs) result.outputs.push_back(read(ref));
    return result;
  }

 private:
  struct Launch {
    std::size_t first, last;  // steps
  };
  struct LaneState {
    std::vector<Launch> launches = {};
    std::size_t next = 0;
    bool running = false;
    double ends = 0;
    bool reads_late = false;
    std::map<std::pair<std::size_t, std::size_t>, Literal> operands = {};  // by step and number, as read
  };

  void queue(std::size_t first, std::size_t last) {
    lanes_[static_cast<std::size_t>(plan_.steps[first].lane)].launches.push_back({first, last});
  }

  std::byte* at(const Buffer& buffer) {
    if (buffer.binding == Binding::argument) return arguments_[static_cast<std::size_t>(buffer.slot)].data();
    return arenas_[static_cast<std::size_t>(buffer.memory)].data() + buffer.offset;
  }
  const Buffer& buffer(BufferId b) const { return plan_.buffers[b.index]; }

  // As it lies there: coded where the buffer is.
  Literal read(const Ref& ref) {
    const Type& type = graph_.type(ref.value);
    const Buffer& from = buffer(ref.buffer);
    const std::byte* data = at(from) + ref.offset;
    Literal literal{type.dtype, type.shape, {}};
    if (from.codec) {
      literal.bytes.assign(data, data + from.codec->bytes(type));
      return literal;
    }
    const auto size = static_cast<std::size_t>(size_of(type.dtype));
    literal.bytes.resize(static_cast<std::size_t>(type.bytes()));
    for (std::int64_t i = 0; i < type.count(); ++i) {
      const std::int64_t element = offset_of(type.shape, ref.strides, i);
      std::memcpy(literal.bytes.data() + static_cast<std::size_t>(i) * size,
                  data + element * static_cast<std::int64_t>(size), size);
    }
    return literal;
  }

  void write(const Ref& ref, const std::vector<std::byte>& bytes) {
    if (!bytes.empty()) std::memcpy(at(buffer(ref.buffer)) + ref.offset, bytes.data(), bytes.size());
  }

  void spoil(const Launch& launch) {
    for (std::size_t t = launch.first; t < launch.last; ++t) {
      for (const Ref& out : plan_.steps[t].out) {
        const Buffer& to = buffer(out.buffer);
        const Type& type = graph_.type(out.value);
        const std::int64_t bytes = to.codec ? to.codec->bytes(type) : type.bytes();
        if (to.binding != Binding::tile) std::fill_n(at(to) + out.offset, bytes, rubbish);
      }
      spoil_scratch(plan_.steps[t]);
    }
  }
  void spoil_scratch(const Step& step) {
    if (step.scratch.valid()) std::fill_n(at(buffer(step.scratch)), buffer(step.scratch).bytes, rubbish);
  }

  // What the launch reads from outside: not what its own steps make.
  void read_operands(LaneState& lane, const Launch& launch) {
    std::vector<BufferId> made;
    for (std::size_t t = launch.first; t < launch.last; ++t) {
      const Step& step = plan_.steps[t];
      for (std::size_t k = 0; k < step.in.size(); ++k) {
        if (std::ranges::find(made, step.in[k].buffer) == made.end())
          lane.operands[{t, k}] = read(step.in[k]);
      }
      for (const Ref& out : step.out) made.push_back(out.buffer);
    }
  }

  void begin_next(LaneState& lane, double now) {
    if (lane.running || lane.next == lane.launches.size()) return;
    const Launch& launch = lane.launches[lane.next];
    double seconds = 0;
    for (std::size_t t = launch.first; t < launch.last; ++t) {
      seconds += options_.seconds[t];
      for (std::int32_t wait : plan_.steps[t].waits) {
        if (!ended_[static_cast<std::size_t>(wait)]) return;
      }
    }
    lane.running = true;
    lane.ends = now + seconds;
    lane.reads_late = random_() % 2 == 0;
    if (lane.reads_late) return;
    read_operands(lane, launch);
    spoil(launch);
  }

  void end(LaneState& lane) {
    const Launch& launch = lane.launches[lane.next++];
    if (lane.reads_late) read_operands(lane, launch);
    std::map<std::uint32_t, Literal> made;  // by buffer
    for (std::size_t t = launch.first; t < launch.last; ++t) {
      const Step& step = plan_.steps[t];
      std::vector<Literal> operands;
      for (std::size_t k = 0; k < step.in.size(); ++k) {
        const auto outside = lane.operands.find({t, k});
        operands.push_back(outside != lane.operands.end() ? outside->second
                                                          : made.at(step.in[k].buffer.index));
      }
      std::vector<Literal> results = results_of(step, operands);
      for (std::size_t r = 0; r < results.size(); ++r) {
        if (buffer(step.out[r].buffer).binding != Binding::tile) write(step.out[r], results[r].bytes);
        made[step.out[r].buffer.index] = std::move(results[r]);
      }
      spoil_scratch(step);
      ended_[t] = true;
      if (options_.fail_at == t) throw SimulatedFailure(t);
    }
    lane.running = false;
    lane.operands.clear();
  }

  std::vector<Literal> results_of(const Step& step, const std::vector<Literal>& operands) {
    if (step.kind == StepKind::fetch) return {};
    if (step.kind == StepKind::copy) return {operands[0]};
    if (step.kind == StepKind::compute) {
      const Node& node = graph_[step.node];
      return interpret(*node.op, operands, node.attrs, pool_);
    }
    const Type& type = graph_.type(step.in[0].value);
    Literal result{type.dtype, type.shape, {}};
    if (step.kind == StepKind::encode) {
      const Codec& codec = *buffer(step.out[0].buffer).codec;
      result.bytes.resize(static_cast<std::size_t>(codec.bytes(type)));
      codec.encode(type, operands[0].bytes.data(), result.bytes.data());
    } else {
      result.bytes.resize(static_cast<std::size_t>(type.bytes()));
      buffer(step.in[0].buffer).codec->decode(type, operands[0].bytes.data(), result.bytes.data());
    }
    return {result};
  }

  const Graph& graph_;
  const Plan& plan_;
  const SimulatedOptions& options_;
  ThreadPool& pool_;
  std::mt19937_64 random_;
  std::vector<std::vector<std::byte>> arenas_, arguments_;
  std::vector<LaneState> lanes_;
  std::vector<bool> ended_;  // per step
};

}  // namespace

SimulatedRun run_simulated(const Graph& graph, const Plan& plan, std::span<const Literal> inputs,
                           const SimulatedOptions& options, ThreadPool& pool) {
  return Simulation(graph, plan, inputs, options, pool).run();
}

}  // namespace tidemark::testing
