#include "tidemark/solve/remat/peaks.h"

#include <algorithm>
#include <limits>

#include "tidemark/solve/at.h"

namespace tidemark {
namespace {

constexpr int neighbourhood = 2;  // only the heaviest of this many tasks on either side is looked at
constexpr int whole = 3;          // moments looked at with whole items
constexpr int cover_nodes = 200;

}  // namespace

RematPeaks::RematPeaks(const RematProblem& problem, int prior)
    : problem_(problem),
      model_(problem.model),
      prior_(prior),
      maker_(at(model_.items), -1),
      closed_(at(model_.tasks), model_.tasks),
      own_(at(model_.tasks)),
      takeable_(at(model_.tasks)),
      end_(at(model_.items)) {
  for (int t = 0; t < model_.tasks; ++t) {
    std::int64_t& own = own_[at(t)];
    own = model_.base + model_.scratch[at(t)] - problem.budget;
    for (int i : model_.uses[t]) own += model_.size[at(i)];
    for (int i : model_.makes[t]) {
      own += model_.size[at(i)];
      maker_[at(i)] = t < prior ? -1 : t;
    }
    for (const InPlaceReuse& pair : model_.reuses[at(t)]) {
      auto& list = takeable_[at(t)];
      if (std::ranges::count(list, pair.used) == 0) list.push_back(pair.used);
    }
    for (int c : problem.closed_by[t]) closed_[at(t)] = std::min(closed_[at(t)], c);
  }
}

double RematPeaks::repeats_needed(int front, const std::vector<int>& alive) {
  over_.assign(at(front) + 1, 0);
  visits_ += 4 * model_.items;
  for (int i = 0; i < model_.items; ++i) {
    end_[at(i)] = 0;
    for (int u : model_.users[i]) {
      if (prior_ <= u && u < front) end_[at(i)] = std::max(end_[at(i)], u);
    }
  }
  for (int i : alive) end_[at(i)] = front;
  for (int i = 0; i < model_.items; ++i) {
    const int first = maker_[at(i)] + 1, last = end_[at(i)];
    if (first >= last) continue;
    over_[at(first)] += model_.size[at(i)];
    over_[at(last)] -= model_.size[at(i)];
  }
  const auto crosses = [&](int i, int t) { return maker_[at(i)] < t && t < end_[at(i)]; };
  for (int t = 1; t < front; ++t) over_[at(t)] += over_[at(t - 1)];
  for (int t = prior_; t < front; ++t) {
    over_[at(t)] += own_[at(t)];
    for (int i : model_.uses[t]) over_[at(t)] -= crosses(i, t) ? model_.size[at(i)] : 0;
    for (int i : takeable_[at(t)]) over_[at(t)] -= crosses(i, t) ? 0 : model_.size[at(i)];
  }

  moments_.clear();
  for (int t = prior_; t < front; ++t) {
    if (over_[at(t)] <= 0) continue;
    bool heaviest = true;
    for (int s = std::max(prior_, t - neighbourhood); s < std::min(front, t + neighbourhood + 1); ++s) {
      heaviest &= over_[at(s)] < over_[at(t)] || (over_[at(s)] == over_[at(t)] && s <= t);
    }
    if (heaviest) moments_.push_back({cost_of(t, 0), t});
  }
  if (moments_.empty()) return 0;
  const auto few = std::min<std::ptrdiff_t>(whole, static_cast<std::ptrdiff_t>(moments_.size()));
  std::ranges::partial_sort(moments_, moments_.begin() + few, [](const Moment& a, const Moment& b) {
    return std::pair(-a.cost, a.task) < std::pair(-b.cost, b.task);
  });
  double most = moments_.front().cost;
  if (most == std::numeric_limits<double>::infinity()) return most;
  for (auto m = moments_.begin(); m != moments_.begin() + few; ++m) {
    most = std::max(most, cost_of(m->task, cover_nodes));
  }
  return most;
}

std::int64_t RematPeaks::gain_of(int maker, int task) const {
  std::int64_t sum = 0;
  for (int i : model_.makes[maker]) {
    if (task >= end_[at(i)] || maker_[at(i)] >= task) continue;
    // An operand of the task is there while it runs; if it dies then, it may be overwritten.
    const bool counted = std::ranges::count(model_.uses[task], i) != 0;
    if (!counted || std::ranges::count(takeable_[at(task)], i) != 0) sum += model_.size[at(i)];
  }
  return sum;
}

// Of making again, after the first run of the task, what is too much there.
double RematPeaks::cost_of(int task, int nodes) {
  gains_.clear();
  visits_ += 2 * task;
  for (int m = 0; m < task; ++m) {
    if (!problem_.repeatable[at(m)] || closed_[at(m)] <= task) continue;
    const std::int64_t gain = gain_of(m, task);
    if (gain > 0) gains_.push_back({problem_.cost[at(m)], static_cast<double>(gain)});
  }
  return least_cover(gains_, static_cast<double>(over_[at(task)]), nodes, visits_);
}

}  // namespace tidemark
