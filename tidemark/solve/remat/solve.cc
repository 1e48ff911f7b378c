// The portfolio. What fits as it is needs no search; small problems are solved to the end; then greedy ways down, beams
// for what is tight, and annealing from them and from the start, until several independent runs agree or the work is
// spent.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tidemark/solve/remat/bound.h"
#include "tidemark/solve/remat/chain.h"
#include "tidemark/solve/remat/exact.h"
#include "tidemark/solve/remat/search.h"
#include "tidemark/solve/remat/window.h"

namespace tidemark {
namespace {

constexpr std::int64_t exact_states = 50'000;
constexpr int most_beam = 2000;  // tasks; a state's profile is as long as the order
constexpr int most_anew = 600;   // tasks; annealing a large problem from nothing gets nowhere
// So few tasks are solved to the end whatever the effort: a few hundredths of a second at most.
constexpr int few_tasks = 36;
constexpr std::int64_t least_exact = 20'000'000;
// With less than this, exact search and beams get nowhere on more than so many tasks; annealing does.
constexpr std::int64_t much_work = 1'000'000;
constexpr int most_with_little = 48;

// The cheapest so far.
class Incumbent {
 public:
  explicit Incumbent(const RematProblem& problem) : problem_(problem) {}

  enum class Verdict { worse, as_good, better };
  Verdict offer(Sequence sequence) {
    if (sequence.empty()) return Verdict::worse;
    const SequenceFigures figures = figures_of(problem_, sequence);
    if (figures.peak > problem_.budget) return Verdict::worse;
    constexpr double same = 1e-9;
    if (!empty() && figures.cost >= figures_.cost * (1 - same)) {
      return figures.cost <= figures_.cost * (1 + same) ? Verdict::as_good : Verdict::worse;
    }
    sequence_ = std::move(sequence);
    figures_ = figures;
    return Verdict::better;
  }
  bool empty() const { return sequence_.empty(); }
  const Sequence& sequence() const { return sequence_; }
  const SequenceFigures& figures() const { return figures_; }

 private:
  const RematProblem& problem_;
  Sequence sequence_;
  SequenceFigures figures_;
};

void remember(const Sequence& sequence, RematMemory& memory) {
  constexpr std::size_t most = 8;
  if (std::ranges::count(memory.known, sequence) > 0) return;
  if (memory.known.size() == most) memory.known.erase(memory.known.begin());
  memory.known.push_back(sequence);
}

Work share_of(Work& work, double part) {
  Work share{std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(work.left) * part)),
             work.control};
  work.left -= share.left;
  return share;
}

// Down from the start in steps, each from the one before: shaving far at once spends on the wrong items.
Sequence shave_in_steps(const RematProblem& problem, const Sequence& start, Work& work) {
  constexpr int steps = 6;
  const std::int64_t from = figures_of(problem, start).peak;
  Sequence sequence = start;
  for (int k = 1; k <= steps; ++k) {
    const std::int64_t limit = problem.budget + (from - problem.budget) / steps * (steps - k);
    sequence = shave(problem, sequence, limit, work);
  }
  return sequence;
}

// Schedules of stages for the budget and for more than it, brought down the rest of the way item by item: stages are
// coarse, and items alone lose sight of the whole.
std::vector<Sequence> chain_seeds(const RematProblem& problem, const Sequence& base, Work& work) {
  std::vector<Sequence> seeds;
  const std::vector<ChainStage> stages = chain_of(problem, base);
  if (stages.size() < 4) return seeds;
  const double peak = static_cast<double>(figures_of(problem, base).peak);
  for (double more : {1.0, 1.15, 1.4, 1.8}) {
    const double limit = static_cast<double>(problem.budget) * more;
    if (limit >= peak) break;
    const Sequence coarse = chain_sequence(problem, base, stages, static_cast<std::int64_t>(limit), work);
    if (!coarse.empty()) seeds.push_back(shave(problem, coarse, problem.budget, work));
  }
  return seeds;
}

// Beams with dear and cheap excess: the right price differs from graph to graph. Those within the budget.
std::vector<Sequence> beam_seeds(const RematProblem& problem, const Sequence& base, Work& work) {
  std::vector<Sequence> seeds;
  const int width = std::clamp(30'000 / (problem.model.tasks + 1), 8, 200);
  for (double price : {0.03, 0.1, 0.3}) {
    Work share = share_of(work, 0.12);
    Sequence found = beam(problem, base, {.price = price, .width = width}, share);
    work.left += share.left;
    if (!found.empty()) seeds.push_back(std::move(found));
  }
  return seeds;
}

struct Start {
  Sequence sequence;
  double hot;
};

struct Rounds {
  std::vector<Start> starts;
  bool anew = true;        // not only from the best so far
  std::uint64_t seed = 0;  // of the first round, less one
  double bound = 0;        // nothing costs less
  int enough = 2;          // so many rounds that started anew met the same cost: it is taken for the least
};

// Runs that start anew, from one of `starts` after the other, and runs that start from the best so far, in turn, each
// longer than the last. A start that leads to nothing is dropped.
void anneal_rounds(const RematProblem& problem, Rounds rounds, Incumbent& best, Work& work) {
  std::vector<Start>& starts = rounds.starts;
  int met = 0;
  // Where little may be spent in all, it goes to one run anew and one from what that found.
  std::int64_t length = std::min(40'000 + std::int64_t{400} * problem.model.tasks, work.left / 2 + 1);
  for (std::uint64_t round = 1; work.left > 0; ++round) {
    const bool anew = best.empty() || (rounds.anew && round % 2 == 1);
    Work turn{std::min(length, work.left), work.control};
    work.left -= turn.left;
    const auto start = starts.begin() + static_cast<std::ptrdiff_t>(round / 2 % starts.size());
    Sequence found =
        anneal(problem, anew ? start->sequence : best.sequence(),
               {.seed = rounds.seed + round, .hot = anew ? start->hot : 0.3, .cold = 0.01}, turn);
    if (anew && found.empty() && starts.size() > 1) starts.erase(start);
    const Incumbent::Verdict verdict = best.offer(std::move(found));
    work.left += std::max<std::int64_t>(0, turn.left);
    work.spend(0);  // time may be up
    if (!best.empty() && best.figures().cost <= rounds.bound * (1 + 1e-9)) return;
    if (verdict == Incumbent::Verdict::better) met = 0;
    // A run from the best so far that comes back to it tells nothing.
    met += anew && verdict != Incumbent::Verdict::worse;
    if (met >= rounds.enough) return;
    if (round % 2 == 0) length += length / 2;
  }
}

}  // namespace

RematEffort remat_effort(int tasks, double level) {
  // Long timelines take longer for each change.
  const double units = tasks < 1000 ? 8e6 : 1.5e6 + 100.0 * tasks;
  return {.units = static_cast<std::int64_t>(std::clamp(units * level, 1e4, 1e12))};
}

RematResult solve_remat(const RematProblem& problem, std::span<const int> start, const RematEffort& effort,
                        std::span<const int> warm) {
  RematResult result;
  Work work{effort.units, effort.control};
  std::int64_t aside = 0;  // spent on what has limits of its own
  Sequence base(start.begin(), start.end());
  result.memory_bound = memory_bound(problem);
  result.time_bound = problem.base_cost();
  const auto finish = [&](Sequence sequence) {
    result.figures = figures_of(problem, sequence);
    result.sequence = std::move(sequence);
    result.feasible = result.figures.peak <= problem.budget;
    result.time_bound = std::min(result.time_bound, result.figures.cost);
    result.optimal |= result.feasible && result.figures.cost <= result.time_bound * (1 + 1e-9);
    if (effort.memory && result.feasible) remember(result.sequence, *effort.memory);
    result.work_units = aside + effort.units - work.left;
    return result;
  };
  if (figures_of(problem, base).peak <= problem.budget) return finish(std::move(base));

  if (!problem.fixed_order && effort.search_order) {
    Work share = share_of(work, 0.3);
    base = best_order(problem.model, problem.budget, share);
    work.left += share.left;
    if (figures_of(problem, base).peak <= problem.budget) return finish(std::move(base));
  }

  Incumbent best(problem);
  bool hopeless = result.memory_bound > problem.budget;
  const int size = std::max(problem.model.tasks, problem.model.items);
  // A unit of effort is about a microsecond, one of these a nanosecond, one of prices some ten: a third of the effort.
  constexpr std::int64_t steps_a_unit = 1000;
  const ExactLimits limits{.states = exact_states,
                           .work = std::max(size <= few_tasks ? least_exact : 0, 250 * effort.units),
                           .price_work = std::min<std::int64_t>(20'000'000, 5 * effort.units),
                           .control = effort.control};
  const bool much = effort.units >= much_work;
  const bool exactly =
      size <= (much ? most_exact_tasks : most_with_little) && !(effort.memory && effort.memory->beyond_exact);
  if (!hopeless && exactly) {
    ExactSequence exact = exact_sequence(problem, limits);
    aside += exact.spent / steps_a_unit;
    if (exact.complete && !exact.sequence.empty()) {
      result.time_bound = exact.cost;
      return finish(std::move(exact.sequence));
    }
    hopeless = exact.complete;
    if (effort.memory) effort.memory->beyond_exact = !exact.complete;
    result.time_bound = exact.bound;
  }
  if (!hopeless) {
    TimeBoundOptions bound;
    bound.work = std::min(bound.work, 10 * effort.units);
    bound.control = effort.control;
    result.time_bound = std::max(result.time_bound, time_bound(problem, bound));
    if (!problem.fixed_order && exactly) {
      // The optimum in the order at hand is a good start in any order.
      const int length = static_cast<int>(base.size());
      best.offer(repair_window(problem, base, 0, length, limits).sequence);
    }
    if (effort.memory) {
      for (const Sequence& known : effort.memory->known) {
        if (best.offer(known) == Incumbent::Verdict::worse) {
          best.offer(shave(problem, known, problem.budget, work));
        }
      }
    }
    if (!warm.empty()) best.offer(shave(problem, warm, problem.budget, work));
    // What is within the budget from nearby is better annealed than begun again with the little work that there is.
    const bool nearby = !warm.empty() && !best.empty();
    std::vector<Start> starts;
    constexpr double from_base = 1, from_beam = 2;  // temperatures
    if (best.empty() || (problem.model.tasks <= most_anew && !nearby)) {
      // The one search that is never cut off by a clock, so that there is something to take when time is up.
      Work greedily{work.left};
      best.offer(shave(problem, base, problem.budget, greedily));
      work.spend(work.left - greedily.left);
      best.offer(shave_in_steps(problem, base, work));
      for (Sequence& seed : chain_seeds(problem, base, work)) best.offer(std::move(seed));
    }
    if (!best.empty() && best.figures().cost <= result.time_bound * (1 + 1e-9))
      return finish(best.sequence());
    const bool greedy = !best.empty();  // then annealing finds its way from the base, and often a better one
    if ((much || !greedy) && problem.model.tasks <= (greedy ? most_anew : most_beam)) {
      for (Sequence& seed : beam_seeds(problem, base, work)) {
        best.offer(seed);
        if (greedy) starts.push_back({base, from_base});
        starts.push_back({std::move(seed), from_beam});
      }
    }
    if (best.empty()) {
      Work share = share_of(work, 0.5);
      Floor within = lowest_peak(problem, base, problem.budget, share);
      work.left += share.left;
      best.offer(std::move(within.sequence));
    }
    if (!greedy || starts.empty()) starts.push_back({base, from_base});
    const int enough = std::max(2, static_cast<int>(4 * std::sqrt(static_cast<double>(effort.units) / 8e6)));
    constexpr std::uint64_t most_rounds = 100;  // of one search; more would draw the numbers of the next
    anneal_rounds(problem,
                  {.starts = std::move(starts),
                   .anew = !nearby && problem.model.tasks <= most_anew,
                   .seed = effort.memory ? most_rounds * effort.memory->searches++ : 0,
                   .bound = result.time_bound,
                   .enough = enough},
                  best, work);
  }
  if (!best.empty()) return finish(best.sequence());

  // The same work whatever the budget was: a floor that is reported can be planned for.
  std::optional<Floor> known = effort.memory ? effort.memory->floor : std::nullopt;
  if (!known) {
    const std::int64_t units = effort.floor_units > 0 ? effort.floor_units : effort.units / 2;
    Work extra{units, effort.control};
    known = lowest_peak(problem, base, 0, extra);
    work.left -= units - extra.left;
    if (effort.memory) effort.memory->floor = known;
  }
  result.memory_bound = std::max(result.memory_bound, known->bound);
  return finish(std::move(known->sequence));
}

}  // namespace tidemark
