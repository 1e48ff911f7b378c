#include "tidemark/solve/remat/cover.h"

#include <algorithm>
#include <utility>

#include "tidemark/solve/never.h"

namespace tidemark {
namespace {

constexpr double close = 1e-4;  // choices that matter less are not told apart

// Depth first over the dear gains first, leaving before taking: often the cheap ones alone are nearly enough,
// and the question is which dear one closes the gap. What is undecided is bounded by taking parts.
class Cover {
 public:
  // `gains` by cost per byte.
  Cover(const std::vector<Gain>& gains, int nodes) : gains_(gains), rank_(gains.size()), left_(nodes) {
    by_cost_.resize(gains.size());
    for (std::size_t k = 0; k < gains.size(); ++k) by_cost_[k] = k;
    std::ranges::stable_sort(by_cost_, [&](std::size_t a, std::size_t b) {
      return std::pair(gains[a].cost, gains[a].bytes) > std::pair(gains[b].cost, gains[b].bytes);
    });
    for (std::size_t r = 0; r < gains.size(); ++r) rank_[by_cost_[r]] = r;
  }

  // Of the gains from this rank on.
  double relaxed(std::size_t from, double need) const {
    double sum = 0;
    for (std::size_t k = 0; k < gains_.size() && need > 0; ++k) {
      if (rank_[k] < from) continue;
      if (gains_[k].bytes >= need) return sum + gains_[k].cost * need / gains_[k].bytes;
      sum += gains_[k].cost;
      need -= gains_[k].bytes;
    }
    return need > 0 ? never : sum;
  }

  void search(std::size_t from, double need, double cost) {
    const double least = cost + relaxed(from, need);
    visits_ += static_cast<std::int64_t>(gains_.size());
    if (least >= best_ * (1 - close)) {
      left_out_ = std::min(left_out_, least);
      return;
    }
    if (need <= 0 || --left_ < 0) {
      best_ = least;
      return;
    }
    // What is left is left with all that cost as much and give no more.
    std::size_t next = from + 1;
    while (next < gains_.size() && gains_[by_cost_[next]].cost == gains_[by_cost_[from]].cost) ++next;
    search(next, need, cost);
    search(from + 1, need - gains_[by_cost_[from]].bytes, cost + gains_[by_cost_[from]].cost);
  }

  double bound() const { return std::min(best_, left_out_); }
  std::int64_t visits() const { return visits_; }

 private:
  const std::vector<Gain>& gains_;
  std::vector<std::size_t> by_cost_, rank_;
  int left_;
  std::int64_t visits_ = 0;
  double best_ = never, left_out_ = never;
};

}  // namespace

double least_cover(std::vector<Gain>& gains, double need, int nodes, std::int64_t& visits) {
  std::ranges::stable_sort(gains,
                           [](const Gain& a, const Gain& b) { return a.cost * b.bytes < b.cost * a.bytes; });
  visits += 4 * static_cast<std::int64_t>(gains.size());  // sorting them
  Cover cover(gains, nodes);
  const double relaxed = cover.relaxed(0, need);
  if (nodes == 0 || relaxed == never) return relaxed;
  cover.search(0, need, 0);
  visits += cover.visits();
  return std::max(relaxed, cover.bound());
}

}  // namespace tidemark
