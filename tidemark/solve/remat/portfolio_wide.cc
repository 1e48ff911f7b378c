// Solvers that take most of the work: beams, and rounds of annealing from all that was found.
#include <cmath>

#include "tidemark/solve/remat/portfolio.h"

namespace tidemark {
namespace {

// Temperatures to begin with. From a beam's way annealing must get further than from the base, which leaves
// all ways open; the best so far is only to be polished.
constexpr double hot_from_base = 1, hot_from_beam = 2, hot_from_best = 0.3;
constexpr double cold = 0.01;

// So many rounds that began anew and met the same cost: it is taken for the least. With more work, more must
// agree.
int rounds_to_agree(std::int64_t units) {
  constexpr int fewest = 2, normally = 4;
  constexpr double normal_units = 8e6;  // as RematLimits
  return std::max(fewest, static_cast<int>(normally * std::sqrt(static_cast<double>(units) / normal_units)));
}

}  // namespace

void search_beams(RematState& state) {
  // Of an excess: the right one differs from graph to graph.
  constexpr double prices[] = {0.03, 0.1, 0.3};
  constexpr double part = 0.12;  // of the work for each: two thirds are left for annealing
  // A state's profile is as long as the order, so that long orders get narrow beams.
  constexpr int cells = 30'000, narrowest = 8, widest = 200;
  const int width = std::clamp(cells / (state.problem.model.tasks + 1), narrowest, widest);
  std::vector<Sequence> found;
  for (double price : prices) {
    WorkShare share(state.work, part);
    Sequence sequence = beam(state.problem, state.base, {.price = price, .width = width}, share);
    if (!sequence.empty()) found.push_back(std::move(sequence));
  }
  for (Sequence& sequence : found) {
    state.best.offer(sequence);
    // Annealing finds its way from the base too where greedy ways did, and often a better one.
    if (state.greedy) state.starts.push_back({state.base, hot_from_base});
    state.starts.push_back({std::move(sequence), hot_from_beam});
  }
}

// Rounds that begin anew, from one start after the other, and rounds from the best so far, in turn, each
// longer than the last. A start that leads to nothing is dropped.
void anneal_in_rounds(RematState& state) {
  // Units of the first rounds: enough to cool down over a few changes at each task.
  constexpr std::int64_t least_length = 40'000, length_a_task = 400;
  const int enough = rounds_to_agree(state.limits.units);
  const bool may_begin_anew = !state.nearby && state.may_begin_anew();
  std::vector<AnnealStart>& starts = state.starts;
  Work& work = state.work;
  if (!state.greedy || starts.empty()) starts.push_back({state.base, hot_from_base});
  int met = 0;
  // Where little may be spent in all, it goes to one round anew and one from what that found; large problems,
  // which are never begun anew, gain more from several that cool down.
  std::int64_t length = std::min(least_length + length_a_task * state.problem.model.tasks,
                                 work.left / (state.may_begin_anew() ? 2 : 4) + 1);
  for (std::uint64_t round = 1; work.left > 0; ++round) {
    const bool anew = state.best.empty() || (may_begin_anew && round % 2 == 1);
    Work turn{std::min(length, work.left), work.control};
    work.left -= turn.left;
    const auto start = starts.begin() + static_cast<std::ptrdiff_t>(round / 2 % starts.size());
    Sequence found =
        anneal(state.problem, anew ? start->sequence : state.best.sequence(),
               {.seed = state.seed + round, .hot = anew ? start->hot : hot_from_best, .cold = cold}, turn);
    if (anew && found.empty() && starts.size() > 1) starts.erase(start);
    const Incumbent::Verdict verdict = state.best.offer(std::move(found));
    work.left += std::max<std::int64_t>(0, turn.left);
    work.spend(0);  // time may be up
    if (state.proved()) return;
    if (verdict == Incumbent::Verdict::better) met = 0;
    // A round from the best so far that comes back to it tells nothing.
    met += anew && verdict != Incumbent::Verdict::worse;
    if (met >= enough) return;
    if (round % 2 == 0) length += length / 2;
  }
}

}  // namespace tidemark
