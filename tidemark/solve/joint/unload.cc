#include "tidemark/solve/joint/unload.h"

#include <algorithm>

#include "tidemark/solve/at.h"
#include "tidemark/solve/joint/edit.h"

namespace tidemark {
namespace {

using Run = JointEdit::Run;

// A gap of an item that a moment falls in, and who would bring the item back.
struct Option {
  int item, maker;
  Run last, next;
  double score;  // bytes for the time that it seems to take
};

class Unloader {
 public:
  Unloader(const Lowered& lowered, const JointSchedule& start)
      : problem_(*lowered.problem), lowered_(lowered), edit_(lowered, start) {
    for (const JointTask& task : problem_.tasks) mean_cost_ += task.cost;
    mean_cost_ /= static_cast<double>(std::max<std::size_t>(1, problem_.tasks.size()));
  }

  JointSchedule run(Work& work) {
    while (work.left > 0 && step(work)) {
    }
    return edit_.schedule();
  }

 private:
  // One item leaves. False: everything fits, or nothing helps.
  bool step(Work& work) {
    constexpr std::int64_t items_a_unit = 20, visits_a_unit = 50;
    for (std::size_t m = 0; m < problem_.memories(); ++m) {
      const Timeline& line = edit_.lines()[m];
      if (problem_.budgets[m] == no_budget || line.peak() <= problem_.budgets[m]) continue;
      memory_ = m;
      begins_ = edit_.begins();
      const Figures before = figures();
      std::vector<Option> options = options_at(line.peak_run());
      work.spend(static_cast<std::int64_t>(problem_.items.size()) / items_a_unit + 1);
      keep_best(options);
      const Option* best = nullptr;
      int best_depth = 0;
      double best_gain = 0;
      for (const Option& option : options) {
        for (const int depth : {1, deepest}) {
          const double gain = try_out(option, depth, before);
          edit_.undo();
          work.spend(edit_.line().runs() / visits_a_unit + 1);
          if (gain > best_gain) best = &option, best_depth = depth, best_gain = gain;
        }
      }
      if (!best) continue;
      take(*best, best_depth);
      edit_.keep();
      return true;
    }
    return false;
  }

  struct Figures {
    double makespan, excess;
  };
  Figures figures() const {
    double excess = 0;
    for (std::size_t m = 0; m < problem_.memories(); ++m) {
      if (problem_.budgets[m] == no_budget) continue;
      // Relative to the budget, so that memories of all sizes count alike.
      const auto budget = static_cast<double>(std::max<std::int64_t>(1, problem_.budgets[m]));
      excess += edit_.lines()[m].excess(problem_.budgets[m]) / budget;
    }
    return {edit_.makespan(), excess};
  }

  std::vector<Option> options_at(Run over) const {
    std::vector<Option> options;
    for (int item = 0; item < static_cast<int>(problem_.items.size()); ++item) {
      const JointItem& what = problem_.items[at(item)];
      if (at(what.memory) != memory_ || what.bytes == 0) continue;
      const Timeline& line = edit_.line_of(item);
      const auto events = line.events(item);
      std::size_t k = at(line.events_before(item, over));
      if (k < events.size() && events[k].run == over && edit_.could_overwrite(over, item)) ++k;
      if (k == 0) continue;
      if (k < events.size() ? events[k].make || events[k].run == over : !what.pinned) continue;
      const Run last = events[k - 1].run, next = k < events.size() ? events[k].run : JointEdit::none;
      if (edit_.part(last) == Part::begin) continue;  // under way
      const double gap =
          (next == JointEdit::none ? begins_[at(last)] : begins_[at(next)]) - begins_[at(last)];
      for (int maker : lowered_.makers[at(item)]) {
        if (!edit_.may_run(maker, next)) continue;
        options.push_back({item, maker, last, next, static_cast<double>(what.bytes) / seems(maker, gap)});
      }
    }
    return options;
  }

  // What seems best of each lane: how long its queue is turns out when it is tried.
  void keep_best(std::vector<Option>& options) const {
    std::ranges::stable_sort(options, std::ranges::greater{}, &Option::score);
    std::vector<std::size_t> kept(at(problem_.lanes), 0);
    std::erase_if(options, [&](const Option& option) {
      return ++kept[at(problem_.tasks[at(option.maker)].lane)] > most_tried;
    });
  }

  // What bringing it back seems to take: of a transfer, what the gap does not hide.
  double seems(int maker, double gap) const {
    const JointTask& task = problem_.tasks[at(maker)];
    double sync = 0, async = 0;
    (task.lane == 0 ? sync : async) += task.cost;
    for (int item : task.uses) {
      if (!edit_.line_of(item).events(item).empty() || lowered_.makers[at(item)].empty()) continue;
      const JointTask& out = problem_.tasks[at(lowered_.makers[at(item)].front())];
      (out.lane == 0 ? sync : async) += out.cost;
    }
    constexpr double least = 1e-3;  // of a mean task: what is hidden is not for nothing, it takes a lane
    return sync + std::max(0.0, async - gap) + least * (async + mean_cost_);
  }

  // Excess that it takes away for the time that it adds.
  double try_out(const Option& option, int depth, const Figures& before) {
    if (!take(option, depth) || !edit_.is_sound()) return 0;
    const Figures after = figures();
    if (after.excess >= before.excess) return 0;
    constexpr double least = 1e-3;  // of a mean task, as above
    const double added = std::max(0.0, after.makespan - before.makespan);
    return (before.excess - after.excess) / (added + least * mean_cost_);
  }

  bool take(const Option& option, int depth) { return bring(option.maker, option.last, option.next, depth); }

  bool is_over(Run run) const { return edit_.lines()[memory_].load(run) > problem_.budgets[memory_]; }

  // The place to end what begins at `from`: when it is likely to have ended, but before it gets too full.
  Run end_of_out(Run from, Run next, double cost) const {
    constexpr double slack = 2;  // lanes are shared
    double time = 0;
    Run place = from;
    while (place != JointEdit::none && place != next && !is_over(place) && time < slack * cost) {
      if (edit_.part(place) == Part::whole) time += problem_.tasks[at(edit_.task(place))].cost;
      place = edit_.line().next(place);
    }
    return place;
  }

  // The place to begin what must have ended before `next`: in time, but not where it is too full.
  Run begin_of_in(Run last, Run next, double cost) const {
    constexpr double slack = 2;
    double time = 0;
    Run place = next;
    while (time < slack * cost) {
      const Run before = edit_.line().previous(place);
      if (before == JointEdit::none || before == last || is_over(before)) break;
      place = before;
      if (edit_.part(place) == Part::whole) time += problem_.tasks[at(edit_.task(place))].cost;
    }
    return place;
  }

  bool bring(int t, Run last, Run next, int depth) {
    if (depth <= 0) return true;
    const JointTask& task = problem_.tasks[at(t)];
    for (int item : task.uses) {
      const auto events = edit_.line_of(item).events(item);
      if (events.empty()) {
        last = provide(item, last, next);
        if (last == JointEdit::none) return false;
      } else if (next != JointEdit::none && !edit_.is_made_before(item, next)) {
        return false;
      }
    }
    Run run = JointEdit::none;
    if (task.lane == 0) {
      run = edit_.insert(t, next);
    } else {
      if (next == JointEdit::none) return false;
      last = edit_.ready_after(t, last, next);
      if (!edit_.line().earlier(last, next)) return false;
      run = edit_.insert(t, begin_of_in(last, next, task.cost), next);
    }
    // What would be kept for this run alone is made again too.
    for (int item : task.uses) {
      const Timeline& line = edit_.line_of(item);
      const auto events = line.events(item);
      const std::size_t k = at(line.events_before(item, run));
      if (k + 1 < events.size() ? !events[k + 1].make : problem_.items[at(item)].pinned) continue;
      const Run source_last = events[k - 1].run;
      if (line.next(source_last) == run || lowered_.makers[at(item)].empty()) continue;
      const int source = lowered_.makers[at(item)].front();
      if (task.lane == 0 && edit_.may_run(source, run) && !bring(source, source_last, run, depth - 1))
        return false;
    }
    return true;
  }

  // Makes an item that was never made right behind `last`. Returns the run after which it is there.
  Run provide(int item, Run last, Run next) {
    if (lowered_.makers[at(item)].empty()) return JointEdit::none;
    const int t = lowered_.makers[at(item)].front();
    const Run place = edit_.line().next(last);
    const JointTask& task = problem_.tasks[at(t)];
    for (int source : task.uses) {
      if (place == JointEdit::none || !edit_.is_made_before(source, place)) return JointEdit::none;
    }
    if (!edit_.may_run(t, place)) return JointEdit::none;
    if (task.lane == 0) return edit_.insert(t, place);
    return edit_.partner(edit_.insert(t, place, end_of_out(place, next, task.cost)));
  }

  static constexpr std::size_t most_tried = 6;  // options of a lane, exactly
  static constexpr int deepest = 8;             // of a chain of runs

  const JointProblem& problem_;
  const Lowered& lowered_;
  JointEdit edit_;
  std::size_t memory_ = 0;  // that is too full
  std::vector<double> begins_;
  double mean_cost_ = 0;
};

}  // namespace

JointSchedule unload(const Lowered& lowered, const JointSchedule& start, Work& work) {
  return Unloader(lowered, start).run(work);
}

}  // namespace tidemark
