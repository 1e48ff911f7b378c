#include "tidemark/plan/spill/rewrite.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/ir/graph.h"
#include "tidemark/solve/at.h"

namespace tidemark {
namespace {

class Rewriting {
 public:
  Rewriting(const Graph& graph, const Plan& plain, const SpillProblem& problem)
      : graph_(graph),
        plain_(plain),
        problem_(problem),
        plan_(plain),
        now_(plain.buffers.size()),
        written_by_(plain.buffers.size(), -1),
        room_(problem.joint.items.size()),
        flights_(problem.moves.size()) {
    plan_.steps.clear();
    plan_.buffers.clear();
  }

  Plan run(const JointSchedule& schedule, const std::vector<Tier>& tiers) {
    for (const Tier& tier : tiers) {
      plan_.further.push_back({.name = tier.name, .alignment = tier_alignment, .budget = tier.budget});
      plan_.lanes.push_back({.name = fmt::format("to {}", tier.name), .computes = false});
      plan_.lanes.push_back({.name = fmt::format("from {}", tier.name), .computes = false});
    }
    for (std::size_t b = 0; b < plain_.buffers.size(); ++b) {
      if (plain_.buffers[b].binding != Binding::arena) now_[b] = add(plain_.buffers[b]);
    }
    for (const JointEntry& entry : schedule) {
      const auto task = static_cast<std::size_t>(entry.task);
      if (task < problem_.kernels()) {
        run_kernel(task);
      } else if (entry.part == Part::end) {
        end_move(task - problem_.kernels());
      } else {
        begin_move(task - problem_.kernels());
        if (entry.part == Part::whole) end_move(task - problem_.kernels());
      }
    }
    finish();
    return std::move(plan_);
  }

 private:
  struct Flight {
    BufferId from = {}, to = {};
    std::int32_t step = -1;
  };

  BufferId add(Buffer buffer) {
    buffer.begin = -1;
    buffer.end = 0;
    plan_.buffers.push_back(buffer);
    return BufferId(plan_.buffers.size() - 1);
  }
  // As the plain plan's, for a new stretch of time.
  BufferId add_like(BufferId b) {
    Buffer buffer = plain_.buffers[b.index];
    buffer.offset = 0;
    if (buffer.purpose == Purpose::output) buffer.purpose = Purpose::value;
    return add(buffer);
  }

  std::int32_t steps() const { return static_cast<std::int32_t>(plan_.steps.size()); }
  void touch(BufferId b, std::int32_t first, std::int32_t last) {
    Buffer& buffer = plan_.buffers[b.index];
    if (buffer.begin < 0) buffer.begin = first;
    buffer.end = std::max(buffer.end, last);
  }

  // The first lane, or a lane that is handed something, has seen everything that the first lane has waited
  // for.
  std::vector<std::int32_t> waits_of(std::int32_t lane) const {
    std::vector<std::int32_t> waits;
    for (std::int32_t step : ended_) {
      if (plan_.steps[at(step)].lane != lane) waits.push_back(step);
    }
    if (lane != 0 && last_computed_ >= 0) waits.push_back(last_computed_);
    std::ranges::sort(waits);
    return waits;
  }
  void computed() {
    last_computed_ = steps() - 1;
    ended_.clear();
  }

  void run_kernel(std::size_t k) {
    const std::int32_t first = steps();
    const auto last =
        first + static_cast<std::int32_t>(problem_.first_steps[k + 1] - problem_.first_steps[k]);
    for (std::size_t t = problem_.first_steps[k]; t < problem_.first_steps[k + 1]; ++t) {
      Step step = plain_.steps[t];
      step.lane = 0;
      step.waits.clear();
      if (steps() == first) step.waits = waits_of(0);
      const auto touch_in = [&](BufferId b) {
        const bool tile = plan_.buffers[b.index].binding == Binding::tile;
        touch(b, tile ? steps() : first, tile ? steps() + 1 : last);
      };
      for (Ref& ref : step.in) touch_in(ref.buffer = now_[ref.buffer.index]);
      for (Ref& ref : step.out) touch_in(ref.buffer = written(ref.buffer, static_cast<int>(k)));
      if (step.scratch.valid()) touch_in(step.scratch = add_like(step.scratch));
      plan_.steps.push_back(std::move(step));
    }
    computed();
  }

  // Where a kernel writes what the plain plan has it write in `b`: in place, unless a copy still reads what
  // is there.
  BufferId written(BufferId b, int kernel) {
    BufferId& now = now_[b.index];
    if (plain_.buffers[b.index].binding != Binding::arena) return now;
    if (std::exchange(written_by_[b.index], kernel) == kernel) return now;
    const bool read = std::ranges::any_of(
        flights_, [&](const Flight& flight) { return flight.step >= 0 && flight.from == now; });
    if (!now.valid() || read) now = add_like(b);
    return now;
  }

  void begin_move(std::size_t m) {
    const SpillProblem::Move& move = problem_.moves[m];
    const SpillProblem::Held& held = problem_.held[at(move.item)];
    const Type& type = graph_.type(held.value);
    BufferId& room = room_[at(move.room_item)];
    Flight& flight = flights_[m];
    if (move.leaves) {
      room = add({.bytes = move.room.codec ? move.room.codec->bytes(type) : type.bytes(),
                  .value = held.value,
                  .memory = move.room.memory,
                  .codec = move.room.codec});
      flight = {now_[held.buffer.index], room, steps()};
    } else {
      flight = {room, add_like(held.buffer), steps()};
      plan_.buffers[flight.to.index].value = held.value;
    }
    const StepKind coding = move.leaves ? StepKind::encode : StepKind::decode;
    Step step{.kind = move.room.codec ? coding : StepKind::copy};
    const Strides strides = dense_strides(type.shape);
    step.in = {{.value = held.value, .buffer = flight.from, .strides = strides}};
    step.out = {{.value = held.value, .buffer = flight.to, .strides = strides}};
    step.lane = problem_.joint.tasks[problem_.kernels() + m].lane;
    step.waits = waits_of(step.lane);
    for (BufferId b : {flight.from, flight.to}) touch(b, steps(), steps() + 1);
    plan_.steps.push_back(std::move(step));
    if (plan_.steps.back().lane == 0) computed();
  }

  // Both sides stay as they are until here.
  void end_move(std::size_t m) {
    const SpillProblem::Move& move = problem_.moves[m];
    const Flight flight = std::exchange(flights_[m], {});
    for (BufferId b : {flight.from, flight.to}) touch(b, steps(), steps());
    if (!move.leaves) now_[problem_.held[at(move.item)].buffer.index] = flight.to;
    if (plan_.steps[at(flight.step)].lane != 0) ended_.push_back(flight.step);
  }

  void finish() {
    for (Buffer& buffer : plan_.buffers) {
      if (buffer.binding == Binding::argument) buffer.end = steps();
      buffer.begin = std::max(0, buffer.binding == Binding::argument ? 0 : buffer.begin);
    }
    for (Ref& ref : plan_.outputs) {
      ref.buffer = now_[ref.buffer.index];
      Buffer& buffer = plan_.buffers[ref.buffer.index];
      buffer.end = steps();
      if (buffer.binding == Binding::arena) buffer.purpose = Purpose::output;
    }
  }

  const Graph& graph_;
  const Plan& plain_;
  const SpillProblem& problem_;
  Plan plan_;
  std::vector<BufferId> now_;        // per buffer of the plain plan: where in the first memory it is
  std::vector<int> written_by_;      // per buffer of the plain plan: the last kernel
  std::vector<BufferId> room_;       // per item elsewhere
  std::vector<Flight> flights_;      // per move; step -1: not under way
  std::vector<std::int32_t> ended_;  // moves that the first lane waited for since it last computed
  std::int32_t last_computed_ = -1;
};

}  // namespace

Plan rewritten(const Graph& graph, const Plan& plain, const SpillProblem& problem,
               const JointSchedule& schedule, const std::vector<Tier>& tiers) {
  return Rewriting(graph, plain, problem).run(schedule, tiers);
}

}  // namespace tidemark
