// The portfolio, top to bottom: which solver is asked when, and why it stands where it does.
#include "tidemark/solve/remat/portfolio.h"

namespace tidemark {
namespace {

bool order_is_open(const RematState& state) {
  return !state.problem.fixed_order && state.limits.search_order;
}

bool can_be_solved(const RematState& state) { return state.small && !state.hopeless; }

bool has_small_base(const RematState& state) { return state.small && !state.problem.fixed_order; }

bool has_known(const RematState& state) { return state.limits.memory && !state.limits.memory->known.empty(); }

bool has_warm(const RematState& state) { return !state.warm.empty(); }

bool begins_at_base(const RematState& state) { return state.from_base; }

bool beams_pay(const RematState& state) {
  constexpr int most_tasks = 2000;  // a state of a beam has a profile as long as the order
  if (state.greedy) return state.much && state.may_begin_anew();
  return state.problem.model.tasks <= most_tasks;
}

bool has_nothing(const RematState& state) { return state.best.empty(); }

bool has_work(const RematState& state) { return state.work.left > 0; }

constexpr std::string_view at_base =
    "nothing from nearby is within the budget; up to 600 tasks, or nothing found yet";

const Solver solvers[] = {
    {{"order", "a free order, and none searched for before",
      "first: an order that fits costs nothing extra, and the lowest one is what all others go out from"},
     Stage::decide,
     order_is_open,
     search_order},
    {{"exact", "up to 48 tasks and items, or 256 with much work",
      "before all that guess: what it solves, or refutes, is decided for good"},
     Stage::decide,
     can_be_solved,
     solve_exactly},
    {{"window", "as exact, in a free order",
      "after exact, which got lost among the orders: the optimum in the order at hand is a good start in "
      "any"},
     Stage::recall,
     has_small_base,
     repair_base},
    {{"known", "earlier searches of the problem, for other budgets",
      "before anything is begun anew: what is cheap for another budget is often cheap to bring down to this "
      "one"},
     Stage::recall,
     has_known,
     try_known},
    {{"warm", "a sequence for a budget nearby",
      "before the ways down from the base: if it gets within the budget, they are not needed"},
     Stage::recall,
     has_warm,
     shave_warm},
    {{"shave", at_base,
      "the quickest way down, which no clock cuts off: with something found, the others can only improve"},
     Stage::descend,
     begins_at_base,
     shave_base},
    {{"steps", at_base, "after shave, which spends on the wrong items when it goes far at once"},
     Stage::descend,
     begins_at_base,
     shave_base_in_steps},
    {{"chain", at_base, "schedules of stages see the whole of a training step, items alone do not"},
     Stage::descend,
     begins_at_base,
     schedule_stages},
    {{"cut", at_base,
      "last of the ways down, and mostly the best: it sees all that is alive at a step at once, and what it "
      "takes to "
      "make that again"},
     Stage::descend,
     begins_at_base,
     cut_base},
    {{"beam", "much work and up to 600 tasks; up to 2000 if nothing was found yet",
      "before annealing, which begins from what it finds: long chains of runs at once are beyond single "
      "moves"},
     Stage::widen,
     beams_pay,
     search_beams},
    {{"descent", "nothing found yet",
      "after all that look at costs have failed: within the budget at any cost, for annealing to make "
      "cheaper"},
     Stage::widen,
     has_nothing,
     descend_to_budget},
    {{"anneal", "work left",
      "last of what looks for cheap ones: it takes what is left, from all that was found"},
     Stage::widen,
     has_work,
     anneal_in_rounds},
    {{"floor", "nothing found",
      "at the end: the lowest peak whatever the budget, to report, or to take if it is within it after all"},
     Stage::report,
     has_nothing,
     find_floor},
};
static_assert(std::size(solvers) <= 32, "SolverChoice has a bit for each");

}  // namespace

std::span<const Solver> portfolio() { return solvers; }

}  // namespace tidemark
