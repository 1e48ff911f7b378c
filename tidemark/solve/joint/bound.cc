#include "tidemark/solve/joint/bound.h"

#include <algorithm>
#include <limits>

#include "tidemark/solve/at.h"

namespace tidemark {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// Ways to relieve a memory, each at most once and in part, the best bytes for the time first.
class Ways {
 public:
  void add(double bytes, double cost) {
    if (bytes > 0) ways_.push_back({bytes, cost});
  }
  void close() {
    std::ranges::stable_sort(ways_,
                             [](const Way& a, const Way& b) { return a.bytes * b.cost > b.bytes * a.cost; });
  }
  // No selection that takes so long relieves more.
  double most(double time) const {
    double bytes = 0;
    for (const Way& way : ways_) {
      if (way.cost > time) return bytes + (time > 0 ? way.bytes * time / way.cost : 0);
      bytes += way.bytes;
      time -= way.cost;
    }
    return bytes;
  }

 private:
  struct Way {
    double bytes, cost;
  };
  std::vector<Way> ways_;
};

class Bounder {
 public:
  explicit Bounder(const JointProblem& problem)
      : problem_(problem),
        made_at_(problem.items.size(), -1),
        read_last_(problem.items.size(), -1),
        optional_makers_(problem.items.size()) {
    std::vector<bool> required(problem.tasks.size(), false);
    for (int c = 0; c < choices(); ++c) {
      double least = infinite;
      for (int t : problem.required[at(c)]) {
        const JointTask& task = problem.tasks[at(t)];
        required[at(t)] = true;
        least = std::min(least, task.lane == 0 ? task.cost : 0);
        for (int i : task.makes) {
          if (made_at_[at(i)] < 0) made_at_[at(i)] = c;
        }
      }
      costs_.push_back(least);
      base_ += least;
    }
    // What only some modes read need not be there.
    for (int c = 0; c < choices(); ++c) {
      const auto& modes = problem.required[at(c)];
      for (int i : problem.tasks[at(modes.front())].uses) {
        const auto reads = [&](int t) { return std::ranges::count(problem.tasks[at(t)].uses, i) > 0; };
        if (std::ranges::all_of(modes, reads)) read_last_[at(i)] = c;
      }
    }
    for (std::size_t i = 0; i < problem.items.size(); ++i) {
      if (problem.items[i].pinned) read_last_[i] = choices();
    }
    for (int t = 0; t < static_cast<int>(problem.tasks.size()); ++t) {
      if (required[at(t)]) continue;
      for (int i : problem.tasks[at(t)].makes) optional_makers_[at(i)].push_back(t);
    }
  }

  double bound() {
    constexpr std::size_t most_moments = 64;  // each sorts what is alive
    struct Moment {
      int choice;
      double excess, before;
    };
    std::vector<Moment> moments;
    double before = 0;
    for (int c = 0; c < choices(); ++c) {
      const double excess = working_set(c) + waiting_bytes(c) - static_cast<double>(problem_.budgets[0]);
      if (excess > 0) moments.push_back({c, excess, before});
      before += costs_[at(c)];
    }
    std::ranges::stable_sort(moments, std::ranges::greater{}, &Moment::excess);
    if (moments.size() > most_moments) moments.resize(most_moments);
    double bound = base_;
    for (const Moment& moment : moments)
      bound = std::max(bound, at_moment(moment.choice, moment.excess, moment.before));
    return bound;
  }

 private:
  int choices() const { return static_cast<int>(problem_.required.size()); }

  // Bytes of the first memory without which no mode of the choice runs.
  double working_set(int c) const {
    double least = infinite;
    for (int t : problem_.required[at(c)]) {
      const JointTask& task = problem_.tasks[at(t)];
      double bytes = static_cast<double>(task.scratch);
      for (const std::vector<int>* list : {&task.uses, &task.makes}) {
        for (int i : *list) {
          if (problem_.items[at(i)].memory == 0) bytes += static_cast<double>(problem_.items[at(i)].bytes);
        }
      }
      std::vector<int> overwritten;
      for (const InPlaceReuse& pair : task.reuses) {
        if (std::ranges::count(overwritten, pair.used)) continue;
        overwritten.push_back(pair.used);
        bytes -= static_cast<double>(problem_.items[at(pair.used)].bytes);
      }
      least = std::min(least, bytes);
    }
    return least;
  }

  // Made before, read after, and no business of the choice itself.
  bool waits(int item, int c) const {
    if (problem_.items[at(item)].memory != 0) return false;
    if (made_at_[at(item)] < 0 || made_at_[at(item)] >= c || read_last_[at(item)] <= c) return false;
    return std::ranges::none_of(problem_.required[at(c)], [&](int t) {
      const JointTask& task = problem_.tasks[at(t)];
      return std::ranges::count(task.uses, item) + std::ranges::count(task.makes, item) > 0;
    });
  }

  double waiting_bytes(int c) const {
    double bytes = 0;
    for (int i = 0; i < static_cast<int>(problem_.items.size()); ++i) {
      if (waits(i, c)) bytes += static_cast<double>(problem_.items[at(i)].bytes);
    }
    return bytes;
  }

  // What it takes at least to have the operands of an optional task that only optional tasks make: time on
  // the first lane, time on other lanes, and bytes of the first memory that they take themselves.
  struct Preparation {
    double here = 0, elsewhere = 0, bytes = 0;
    int lane = 0;
  };
  Preparation preparation(const JointTask& task) const {
    Preparation all;
    for (int i : task.uses) {
      if (made_at_[at(i)] >= 0 || optional_makers_[at(i)].empty()) continue;
      if (problem_.items[at(i)].memory == 0) all.bytes += static_cast<double>(problem_.items[at(i)].bytes);
      double here = infinite, elsewhere = infinite;
      for (int t : optional_makers_[at(i)]) {
        const JointTask& maker = problem_.tasks[at(t)];
        here = std::min(here, maker.lane == 0 ? maker.cost : 0);
        elsewhere = std::min(elsewhere, maker.lane == 0 ? 0 : maker.cost);
        all.lane = maker.lane;
      }
      all.here += here;
      all.elsewhere += elsewhere;
    }
    return all;
  }

  // The shortest makespan with which so much can have left the memory when the choice runs.
  double at_moment(int c, double excess, double before) const {
    const auto lanes = at(problem_.lanes);
    Ways again;                                       // made again on the first lane
    std::vector<Ways> returns(lanes), leaves(lanes);  // by lane
    for (const JointTask& task : problem_.tasks) {
      double bytes = 0;
      for (int i : task.makes) {
        if (waits(i, c)) bytes += static_cast<double>(problem_.items[at(i)].bytes);
      }
      if (bytes <= 0) continue;
      const Preparation first = preparation(task);
      if (task.lane == 0) {
        again.add(bytes - first.bytes, task.cost + first.here);
      } else {
        returns[at(task.lane)].add(bytes - first.bytes, task.cost);
        leaves[at(first.lane)].add(bytes - first.bytes, first.elsewhere);
      }
    }
    again.close();
    for (Ways& ways : returns) ways.close();
    for (Ways& ways : leaves) ways.close();
    const double here = costs_[at(c)], after = base_ - before - here;
    const auto relief = [&](double makespan) {
      double back = 0, away = 0;
      for (const Ways& ways : returns) back += ways.most(makespan - before - here);
      for (const Ways& ways : leaves) away += ways.most(makespan - after - here);
      return again.most(makespan - base_) + std::min(back, away);
    };
    double low = base_, high = 2 * base_ + 1;
    if (relief(low) >= excess) return low;
    for (int doubling = 0; relief(high) < excess; ++doubling) {
      constexpr int most = 60;
      if (doubling == most) return infinite;
      high *= 2;
    }
    constexpr int halvings = 50;
    for (int k = 0; k < halvings; ++k) {
      const double middle = (low + high) / 2;
      (relief(middle) >= excess ? high : low) = middle;
    }
    return low;
  }

  const JointProblem& problem_;
  std::vector<int> made_at_;                       // per item: the first choice that makes it; -1: none
  std::vector<int> read_last_;                     // per item: the last choice that reads it in all modes
  std::vector<std::vector<int>> optional_makers_;  // per item
  std::vector<double> costs_;                      // per choice, in its cheapest mode
  double base_ = 0;
};

}  // namespace

double makespan_bound(const JointProblem& problem) { return Bounder(problem).bound(); }

}  // namespace tidemark
