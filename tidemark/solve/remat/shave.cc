// Shaving: as long as some step is above the limit, let the item go there that costs least for what it frees,
// counted over all steps that are too high. Greedy in the spirit of DTR's score (cost / (bytes × idle time),
// Kirisame et al. 2021), but each choice is made by trying it: how its operands come back, and what that does
// to every load.
#include <algorithm>
#include <limits>

#include "tidemark/solve/at.h"
#include "tidemark/solve/remat/moves.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {
namespace {

using Run = Timeline::Run;

// Candidates that compete for one place: the more, the better the choice; fewer on long timelines, which take
// longer to change and to look at.
constexpr int rivals_times_tasks = 20'000, fewest_rivals = 2, most_rivals = 8;
constexpr int most_in_a_chain = 256;  // runs for one item, so that a step stays short
// What a unit of work covers: items that are only looked at, and runs of a timeline whose loads are summed
// up.
constexpr int items_a_unit = 32, runs_a_unit = 512;

struct Candidate {
  int item;
  double score;  // estimated cost of a byte freed
};

class Shaver {
 public:
  Shaver(const RematProblem& problem, std::span<const int> start, std::int64_t limit)
      : problem_(problem),
        model_(problem.model),
        makers_(makers_of(problem.model)),
        edit_(problem, start),
        limit_(limit),
        rivals_(static_cast<std::size_t>(
            std::clamp(rivals_times_tasks / (model_.tasks + 1), fewest_rivals, most_rivals))) {}

  Sequence run(Work& work) {
    while (work.left > 0) {
      const Run over = edit_.now().peak_run();
      if (edit_.now().load(over) <= limit_) break;
      if (!lower(over, work)) break;
    }
    tidy(work);
    return edit_.now().sequence();
  }

 private:
  // Lets items go until the load of `over` is within the limit. False: nothing helped.
  bool lower(Run over, Work& work) {
    std::vector<Candidate> candidates;
    for (int item = 0; item < model_.items; ++item) {
      const Gap gap = gap_at(edit_.now(), model_, item, over);
      if (gap.event < 0 || model_.size[at(item)] == 0) continue;
      const int task = makers_[at(item)];
      if (task < 0 || !edit_.may_insert(task, end_of(gap))) continue;
      candidates.push_back({item, estimate(task, gap)});
    }
    work.spend(model_.items / items_a_unit);
    std::ranges::stable_sort(candidates, {}, &Candidate::score);
    bool helped = false;
    // A few at a time compete in earnest; the winner is taken, and the estimates stay good enough for the
    // rest.
    std::size_t first = 0;
    while (first < candidates.size() && edit_.now().load(over) > limit_ && work.left > 0) {
      const std::size_t last = std::min(candidates.size(), first + rivals_);
      Choice best;
      for (std::size_t k = first; k < last; ++k) consider(candidates[k].item, over, best, work);
      if (best.item < 0) {
        first = last;
        continue;
      }
      take(best.item, gap_at(edit_.now(), model_, best.item, over), best.way);
      edit_.keep();
      helped = true;
      const auto taken = std::ranges::find(candidates, best.item, &Candidate::item);
      candidates.erase(taken);
    }
    return helped;
  }

  enum class Way { keep_sources, cheap_sources_again, sources_again };
  struct Choice {
    int item = -1;
    Way way = Way::keep_sources;
    double score = std::numeric_limits<double>::infinity();
  };

  void consider(int item, Run over, Choice& best, Work& work) {
    const Gap gap = gap_at(edit_.now(), model_, item, over);
    if (gap.event < 0) return;
    const double cost = edit_.now().cost();
    const double excess = edit_.now().excess(limit_);
    const std::int64_t load = edit_.now().load(over);
    std::size_t runs = 0;
    for (Way way : {Way::keep_sources, Way::cheap_sources_again, Way::sources_again}) {
      const std::size_t before = edit_.repeats().size();
      take(item, gap, way);
      const std::size_t added = edit_.repeats().size() - before;
      const double freed = excess - edit_.now().excess(limit_);
      const bool lower = edit_.now().load(over) < load;
      const double score = (edit_.now().cost() - cost) / freed;
      edit_.undo();
      work.spend(1 + static_cast<std::int64_t>(added) + edit_.now().runs() / runs_a_unit);
      if (lower && freed > 0 && score < best.score) best = {item, way, score};
      if (added == runs) break;  // nothing more to compute again
      runs = added;
    }
  }

  void take(int item, Gap gap, Way way) {
    const int task = makers_[at(item)];
    const double price = unit_cost(item);
    int most = most_in_a_chain;
    insert_chain(edit_, problem_, makers_, task, end_of(gap), most, [&](int source) {
      return way == Way::sources_again || (way == Way::cheap_sources_again && unit_cost(source) <= price);
    });
  }

  Run end_of(Gap gap) const {
    const auto events = edit_.now().events(gap.item);
    return at(gap.event) < events.size() ? events[at(gap.event)].run : Timeline::none;
  }

  double unit_cost(int item) const {
    return problem_.cost[at(makers_[at(item)])] / static_cast<double>(model_.size[at(item)]);
  }

  // The item's own cost and that of operands that are gone by then, for a byte.
  double estimate(int task, Gap gap) const {
    double cost = problem_.cost[at(task)];
    const Run end = end_of(gap);
    for (int source : model_.uses[task]) {
      const bool there =
          end == Timeline::none ? model_.pinned[at(source)] : edit_.now().alive_before(source, end);
      if (!there && makers_[at(source)] >= 0) cost += problem_.cost[at(makers_[at(source)])];
    }
    return cost / static_cast<double>(model_.size[at(gap.item)]);
  }

  // Takes back what later choices made needless, dearest first.
  void tidy(Work& work) {
    const std::int64_t allowed = std::max(limit_, edit_.now().peak());
    std::vector<Run> repeats(edit_.repeats().begin(), edit_.repeats().end());
    std::ranges::sort(repeats, [&](Run a, Run b) {
      const double ca = problem_.cost[at(edit_.now().task(a))], cb = problem_.cost[at(edit_.now().task(b))];
      return ca != cb ? ca > cb : edit_.now().earlier(a, b);
    });
    for (std::size_t k = 0; k < repeats.size() && work.left > 0; ++k) {
      // Erasing one may have erased others; no number is given anew meanwhile, as nothing is put in.
      if (!edit_.is_repeat(repeats[k])) continue;
      edit_.erase_with_idle(repeats[k]);
      work.spend(2);
      if (edit_.now().peak() <= allowed) {
        edit_.keep();
      } else {
        edit_.undo();
      }
    }
  }

  const RematProblem& problem_;
  const OrderModel& model_;
  std::vector<int> makers_;
  TimelineEdit edit_;
  std::int64_t limit_;
  std::size_t rivals_;  // candidates that compete for one place
};

}  // namespace

Sequence shave(const RematProblem& problem, std::span<const int> start, std::int64_t limit, Work& work) {
  return Shaver(problem, start, limit).run(work);
}

}  // namespace tidemark
