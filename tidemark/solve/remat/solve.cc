// The driver of the portfolio: walks the table of solvers (portfolio.cc) until the problem is solved, the
// bound is met or the table ends, and keeps account of each.
#include "tidemark/solve/remat/bound.h"
#include "tidemark/solve/remat/portfolio.h"

namespace tidemark {
namespace {

void remember(const Sequence& sequence, RematMemory& memory) {
  constexpr std::size_t most = 8;  // each is brought down to every later budget
  if (std::ranges::count(memory.known, sequence) > 0) return;
  if (memory.known.size() == most) memory.known.erase(memory.known.begin());
  memory.known.push_back(sequence);
}

// Asked for only when no solver decides the problem at once: it takes as long as the first of those that
// follow.
void find_time_bound(RematState& state) {
  constexpr std::int64_t visits_a_unit = 10;  // of some 10 nanoseconds: a tenth of the effort
  TimeBoundOptions options;
  options.work = std::min(options.work, visits_a_unit * state.limits.units);
  options.control = state.limits.control;
  state.time_bound = std::max(state.time_bound, time_bound(state.problem, options));
}

// Settles what the solvers of a stage go by.
void enter(Stage stage, RematState& state) {
  constexpr std::uint64_t most_rounds = 100;  // of annealing; more would draw the numbers of the next search
  switch (stage) {
    case Stage::recall:
      find_time_bound(state);
      break;
    case Stage::descend:
      state.nearby = !state.warm.empty() && !state.best.empty();
      // What is within the budget from nearby is better annealed than begun again with little work.
      state.from_base = state.best.empty() || (state.may_begin_anew() && !state.nearby);
      break;
    case Stage::widen:
      state.greedy = !state.best.empty();
      if (state.limits.memory) state.seed = most_rounds * state.limits.memory->searches++;
      break;
    case Stage::decide:
    case Stage::report:
      break;
  }
}

// Where nothing is within the budget, only solvers that decide that, or report what is, have anything to do.
bool is_reached(Stage stage, const RematState& state) {
  return !state.hopeless || stage == Stage::decide || stage == Stage::report;
}

void run(const Solver& solver, RematState& state, SolverRecord& record) {
  const std::int64_t spent = state.spent(), improvements = state.best.improvements();
  const std::optional<double> cost = state.best.empty() ? std::nullopt : std::optional(state.best.cost());
  solver.run(state);
  ++record.runs;
  record.work_units += state.spent() - spent;
  if (state.best.improvements() == improvements) return;
  record.improved += state.best.improvements() - improvements;
  record.cost_before = cost;
  record.cost_after = state.best.cost();
}

void walk(RematState& state, SolverLog& log) {
  Stage entered = Stage::decide;
  for (std::size_t row = 0; row < portfolio().size(); ++row) {
    const Solver& solver = portfolio()[row];
    if (state.proved()) return;
    if (!is_reached(solver.stage, state)) continue;
    if (solver.stage != entered) enter(entered = solver.stage, state);
    if (state.limits.solvers.has(row) && solver.applies(state)) run(solver, state, log[row]);
  }
}

RematResult result_of(const RematState& state, Sequence sequence, SolverLog log) {
  RematResult result;
  result.figures = figures_of(state.problem, sequence);
  result.sequence = std::move(sequence);
  result.feasible = result.figures.peak <= state.problem.budget;
  result.time_bound = std::min(state.time_bound, result.figures.cost);
  result.memory_bound = state.memory_bound;
  result.optimal = result.feasible && result.figures.cost <= result.time_bound * (1 + same_cost);
  result.work_units = state.spent();
  result.solvers = std::move(log);
  if (state.limits.memory && result.feasible) remember(result.sequence, *state.limits.memory);
  return result;
}

}  // namespace

RematLimits remat_limits(int tasks, double level) {
  // Long timelines take longer for each change: from so many tasks on, work grows with them and begins lower.
  constexpr int many_tasks = 1000;
  constexpr double units_if_few = 8e6, units_if_many = 1.5e6, units_a_task = 100;
  constexpr double fewest_units = 1e4, most_units = 1e12;
  const double units = tasks < many_tasks ? units_if_few : units_if_many + units_a_task * tasks;
  return {.units = static_cast<std::int64_t>(std::clamp(units * level, fewest_units, most_units))};
}

RematResult solve_remat(const RematProblem& problem, std::span<const int> start, const RematLimits& limits,
                        std::span<const int> warm) {
  RematState state(problem, start, limits, warm);
  SolverLog log = empty_log(limits.solvers);
  // What fits as it is needs no search.
  const bool fits = figures_of(problem, start).peak <= problem.budget;
  if (!fits) walk(state, log);
  Sequence sequence = !state.best.empty()     ? state.best.sequence()
                      : !state.lowest.empty() ? std::move(state.lowest)
                                              : std::move(state.base);
  return result_of(state, std::move(sequence), std::move(log));
}

}  // namespace tidemark
