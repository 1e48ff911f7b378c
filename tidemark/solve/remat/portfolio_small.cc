// Solvers that may end a search at once: an order that fits, and small problems solved to the end.
#include "tidemark/solve/remat/portfolio.h"
#include "tidemark/solve/remat/window.h"

namespace tidemark {
namespace {

// Exact search counts steps of about a nanosecond, a unit of work is about a microsecond.
constexpr std::int64_t steps_a_unit = 1000;

}  // namespace

void search_order(RematState& state) {
  constexpr double part = 0.3;  // of the work: recomputation needs the rest where no order fits
  WorkShare share(state.work, part);
  state.base = best_order(state.problem.model, state.problem.budget, share);
  state.best.offer(state.base);
}

void solve_exactly(RematState& state) {
  ExactSequence exact = exact_sequence(state.problem, state.exact_limits);
  state.aside += exact.spent / steps_a_unit;
  const bool found = !exact.sequence.empty();
  state.time_bound = exact.complete && found ? exact.cost : exact.bound;
  state.hopeless = exact.complete && !found;
  if (state.limits.memory) state.limits.memory->beyond_exact = !exact.complete;
  if (exact.complete) state.best.offer(std::move(exact.sequence));
}

void repair_base(RematState& state) {
  const int length = static_cast<int>(state.base.size());
  WindowRepair repair = repair_window(state.problem, state.base, 0, length, state.exact_limits);
  state.aside += repair.spent / steps_a_unit;
  state.best.offer(std::move(repair.sequence));
}

}  // namespace tidemark
