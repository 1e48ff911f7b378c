// Solvers that bring a sequence down to the budget greedily: one from another budget, the base, a schedule of
// stages.
#include "tidemark/solve/remat/chain.h"
#include "tidemark/solve/remat/portfolio.h"

namespace tidemark {

void try_known(RematState& state) {
  const std::int64_t budget = state.problem.budget;
  for (const Sequence& known : state.limits.memory->known) {
    if (state.best.offer(known) == Incumbent::Verdict::worse)
      state.best.offer(shave(state.problem, known, budget, state.work));
  }
}

void shave_warm(RematState& state) {
  const std::int64_t budget = state.problem.budget;
  state.best.offer(shave(state.problem, state.warm, budget, state.work));
  if (!state.best.empty()) return;
  // Where the budget is tight, item by item gets stuck on the last bytes.
  const Sequence cut = cut_down(state.problem, state.warm, {}, state.work);
  state.best.offer(shave(state.problem, cut, budget, state.work));
}

// The one search that is never cut off by a clock, so that there is something to take when time is up.
void shave_base(RematState& state) {
  Work untimed{state.work.left};
  state.best.offer(shave(state.problem, state.base, state.problem.budget, untimed));
  state.work.spend(state.work.left - untimed.left);
}

void shave_base_in_steps(RematState& state) {
  constexpr int steps = 6;  // each as long as the others
  const std::int64_t budget = state.problem.budget;
  const std::int64_t from = figures_of(state.problem, state.base).peak;
  Sequence sequence = state.base;
  for (int k = 1; k <= steps; ++k) {
    const std::int64_t limit = budget + (from - budget) / steps * (steps - k);
    sequence = shave(state.problem, sequence, limit, state.work);
  }
  state.best.offer(std::move(sequence));
}

void schedule_stages(RematState& state) {
  constexpr std::size_t fewest_stages = 4;  // with fewer there is nothing between all and nothing to choose
  // Of the budget. Stages are coarse, and items alone lose sight of the whole: schedules for more than the
  // budget are brought down the rest of the way item by item, and which of them ends cheapest differs from
  // graph to graph.
  constexpr double limits[] = {1.0, 1.15, 1.4, 1.8};
  const std::vector<ChainStage> stages = chain_of(state.problem, state.base);
  if (stages.size() < fewest_stages) return;
  const auto peak = static_cast<double>(figures_of(state.problem, state.base).peak);
  for (double more : limits) {
    const double limit = static_cast<double>(state.problem.budget) * more;
    if (limit >= peak) break;
    const Sequence coarse =
        chain_sequence(state.problem, state.base, stages, static_cast<std::int64_t>(limit), state.work);
    if (!coarse.empty()) state.best.offer(shave(state.problem, coarse, state.problem.budget, state.work));
  }
}

void cut_base(RematState& state) {
  // Beside the work: where it leads to nothing, annealing needs all of that.
  constexpr std::int64_t part = 5;
  Work work{state.limits.units / part + 1, state.work.control};
  const std::int64_t before = work.left;
  const auto improves = [&](const CutOptions& options) {
    if (work.left <= 0) return false;
    const Sequence cut = cut_down(state.problem, state.base, options, work);
    const auto verdict = state.best.offer(shave(state.problem, cut, state.problem.budget, work));
    return verdict == Incumbent::Verdict::better;
  };
  // Items that are alike are let go in the order of their makers or the other way round: which is cheaper
  // differs from graph to graph, as does which step to begin with.
  constexpr double tilt = 0.05;
  bool better = false;
  for (const bool highest_first : {true, false}) {
    better |= improves({.highest_first = highest_first, .tilt = tilt});
    better |= improves({.highest_first = highest_first, .tilt = -tilt});
  }
  // A cut knows nothing of the next one, and one that looks dearer may leave more to the others: with prices
  // that differ by much, drawn anew so long as that leads to something.
  constexpr double noise = 3;
  constexpr int patience = 8;
  int failures = better ? 0 : patience;
  for (std::uint64_t seed = 1; failures < patience && work.left > 0; ++seed) {
    better = improves({.highest_first = seed % 2 == 1, .tilt = 0, .noise = noise, .seed = seed});
    failures = better ? 0 : failures + 1;
  }
  state.aside += before - work.left;
}

void descend_to_budget(RematState& state) {
  constexpr double part = 0.5;  // of the work: what it finds is dear, and annealing needs the other half
  WorkShare share(state.work, part);
  state.best.offer(lowest_peak(state.problem, state.base, state.problem.budget, share).sequence);
}

// The same work whatever the budget was: a floor that is reported can be planned for.
void find_floor(RematState& state) {
  RematMemory* memory = state.limits.memory;
  std::optional<Floor> floor = memory ? memory->floor : std::nullopt;
  if (!floor) {
    const std::int64_t units =
        state.limits.floor_units > 0 ? state.limits.floor_units : state.limits.units / 2;
    Work extra{units, state.limits.control};
    floor = lowest_peak(state.problem, state.base, 0, extra);
    state.work.left -= units - extra.left;
    if (memory) memory->floor = floor;
  }
  state.memory_bound = std::max(state.memory_bound, floor->bound);
  state.best.offer(floor->sequence);
  state.lowest = std::move(floor->sequence);
}

}  // namespace tidemark
