#include "tidemark/schedule/kinds/split_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tidemark/base/check.h"
#include "tidemark/schedule/kinds/binomial_count.h"
#include "tidemark/schedule/kinds/least_sum.h"

namespace tidemark::schedule {
namespace {

constexpr double most_sums = 6e10;  // sums tried or refuted: a few seconds at worst
constexpr Step most_blocks = 100'000;

// A unit of which every cost is a multiple, binary or decimal; 0 where none is found.
double common_unit(const Question& question) {
  std::vector<double> costs = {question.forward_cost, question.reverse_cost};
  for (const Level& level : question.levels) costs.insert(costs.end(), {level.write_cost, level.read_cost});
  for (double unit : {1.0, 0.5, 0.25, 0.125, 0.1, 0.05, 0.025, 0.01, 0.001, 0.0001}) {
    if (std::all_of(costs.begin(), costs.end(), [unit](double cost) {
          return cost < 1e9 && std::abs(std::round(cost / unit) - cost / unit) <= 1e-12 * (cost / unit);
        }))
      return unit;
  }
  return 0;
}

// Row by row, one level after another.
template <class Value>
class RowSolver {
 public:
  // `below`: opt of the levels below, by length − 1.
  RowSolver(std::vector<Value> below, std::vector<Value> slopes, Value forward)
      : below_(std::move(below)),
        count_(below_.size()),
        forward_(forward),
        stored_(count_),
        opened_(count_),
        previous_(count_),
        best_(count_),
        splits_(count_),
        needed_(count_),
        least_(stored_.data(), count_, std::move(slopes)) {}

  void set_costs(Value write, Value read) {
    write_ = write, read_ = read;
    for (std::size_t l = 0; l < count_; ++l) previous_[count_ - 1 - l] = below_[l];
  }

  // With as many slots as are of use. Returns their number.
  std::int64_t any_number(std::int32_t* splits) {
    least_.start(opened_.data(), infinite<Value>());
    std::vector<std::int64_t> needed_open(count_);
    for (std::size_t l = 0; l < count_; ++l) {
      solve(l, splits);
      best_[l] = stored_[l], splits_[l] = splits[l];
      const auto split = static_cast<std::size_t>(std::abs(splits[l]));
      needed_[l] = split == 0 ? 1 : std::max(1 + needed_open[l - split], needed_[split - 1]);
      needed_open[l] = splits[l] > 0 ? needed_[l] : 0;
      least_.append_right(count_ - 1 - l);
    }
    return *std::max_element(needed_open.begin(), needed_open.end());
  }

  // With m slots, after the row for m − 1. False: further rows are the same.
  bool next_row(std::int64_t m, std::int32_t* splits) {
    least_.start_known(previous_.data());
    for (std::size_t l = 0; l < count_; ++l) {
      if (needed_[l] <= m) {
        keep(l, best_[l] - static_cast<Value>(l + 1) * forward_, std::abs(splits_[l]), splits);
      } else {
        solve(l, splits);
      }
    }
    const bool changed = opened_ != previous_;
    previous_ = opened_;
    return changed;
  }

  void finish_level() {
    for (std::size_t l = 0; l < count_; ++l) below_[l] = opened_[count_ - 1 - l];
  }

 private:
  void solve(std::size_t l, std::int32_t* splits) {
    Value best = below_[l];
    std::int32_t split = 0;
    if (l > 0) {
      const auto found = least_.find(l, best < infinite<Value>() ? best - read_ : best);
      if (found.index >= 0) best = found.sum + read_, split = static_cast<std::int32_t>(found.index) + 1;
    }
    keep(l, best, split, splits);
  }

  void keep(std::size_t l, Value best, std::int32_t split, std::int32_t* splits) {
    const Value whole = split == 0 ? below_[l] : std::min<Value>(below_[l], write_ + best);
    splits[l] = split > 0 && !(whole < below_[l]) ? -split : split;
    stored_[l] = best + static_cast<Value>(l + 1) * forward_;
    opened_[count_ - 1 - l] = std::min(whole, infinite<Value>());
    least_.append_left(l);
  }

  std::vector<Value> below_;
  std::size_t count_;
  Value forward_, write_ = 0, read_ = 0;
  // opt' at l plus (l+1)·forward, at l; opt at l, at count−1−l: sums run over both upwards.
  std::vector<Value> stored_, opened_, previous_;
  std::vector<Value> best_;           // stored_ with any number of slots, and
  std::vector<std::int32_t> splits_;  // how, and
  std::vector<std::int64_t> needed_;  // with how many
  LeastSum<Value> least_;
};

}  // namespace

SplitTable::SplitTable(const Question& question, std::vector<std::int64_t> slots)
    : steps_(question.steps), slots_(std::move(slots)), rows_(slots_.size()) {
  for (std::int64_t& count : slots_) {
    if (count >= steps_ - 1) count = -1;
  }
  while (bottom_ < slots_.size() && slots_[bottom_] == 0) ++bottom_;
  TM_CHECK(bottom_ < slots_.size());
  const Level& lowest = question.levels[bottom_];
  closed_ = lowest.write_cost == 0 && lowest.read_cost == 0;
  const auto blocks_within = [&](std::size_t first) {
    double rows = 0;
    for (std::size_t k = first; k < slots_.size(); ++k)
      rows += slots_[k] < 0 ? 1 : static_cast<double>(slots_[k]);
    const double blocks = std::min(std::sqrt(2 * most_sums / std::max(rows, 1.0)), 5e7 / std::max(rows, 1.0));
    return std::clamp<Step>(static_cast<Step>(blocks), 2, most_blocks);
  };
  if (!closed_ && steps_ > blocks_within(bottom_)) closed_ = true;
  if (closed_) grain_ = (steps_ + blocks_within(bottom_ + 1) - 1) / blocks_within(bottom_ + 1);
  blocks_ = (steps_ + grain_ - 1) / grain_;

  // Whole numbers where they are exact: half the bytes of a double, twice the sums at a time.
  const double unit = common_unit(question);
  const Step advances = slots_[bottom_] < 0 ? steps_ : least_advances(steps_, slots_[bottom_]);
  double most = question.forward_cost * static_cast<double>(advances + 2 * steps_) +
                question.reverse_cost * static_cast<double>(steps_);
  for (const Level& level : question.levels)
    most += (level.write_cost + level.read_cost) * static_cast<double>(steps_);
  if (unit > 0 && advances >= 0 && most / unit < infinite<std::int32_t>()) {
    fill<std::int32_t>(question, unit);
  } else {
    fill<double>(question, 1);
  }
}

template <class Value>
void SplitTable::fill(const Question& question, double unit) {
  const auto value = [unit](double cost) {
    return cost < std::numeric_limits<double>::infinity() ? static_cast<Value>(cost / unit)
                                                          : infinite<Value>();
  };
  const auto count = static_cast<std::size_t>(blocks_);
  const Value forward = value(question.forward_cost * static_cast<double>(grain_));
  std::vector<Value> below(count, infinite<Value>());  // opt of all levels below, by blocks − 1
  below[0] = value(question.reverse_cost);
  if (closed_) {
    for (std::size_t l = 0; l < count; ++l) {
      const Step length = std::min(static_cast<Step>(l + 1) * grain_, steps_);
      const Step advances = slots_[bottom_] < 0 ? length - 1 : least_advances(length, slots_[bottom_]);
      if (advances >= 0)
        below[l] = value(question.forward_cost * static_cast<double>(advances) +
                         question.reverse_cost * static_cast<double>(length));
    }
  }
  // A step more costs what its reverse costs and as many advances as it is repeated: the slopes of straight
  // stretches.
  std::vector<Value> slopes;
  for (Step repeats = 1; slopes.size() < 32; repeats += 1 + repeats / 12) {
    const double slope = (question.forward_cost * static_cast<double>(repeats) + question.reverse_cost) *
                         static_cast<double>(grain_);
    if (slope * static_cast<double>(blocks_) >= unit * static_cast<double>(1 << 28)) break;
    slopes.push_back(value(slope));
  }
  RowSolver<Value> solver(below, std::move(slopes), forward);
  for (std::size_t k = static_cast<std::size_t>(first()); k < slots_.size(); ++k) {
    if (slots_[k] == 0) continue;
    Rows& rows = rows_[k];
    solver.set_costs(value(question.levels[k].write_cost), value(question.levels[k].read_cost));
    rows.count = 1;
    rows.splits.resize(count);
    rows.any_number = solver.any_number(rows.splits.data()) <= slots_[k] || slots_[k] < 0;
    if (!rows.any_number) {
      for (std::int64_t m = 1; m <= slots_[k]; ++m) {
        rows.count = m;
        rows.splits.resize(static_cast<std::size_t>(m) * count);
        if (!solver.next_row(m, rows.splits.data() + static_cast<std::size_t>(m - 1) * count)) break;
      }
    }
    solver.finish_level();
  }
}

SplitTable::Choice SplitTable::choice(std::size_t level, std::int64_t slots, Step begin, Step length) const {
  const Rows& rows = rows_[level];
  const Step blocks = (length + grain_ - 1) / grain_;
  if (rows.count == 0 || (slots == 0 && !rows.any_number) || blocks == 1) return {};
  const std::int64_t row = rows.any_number ? 1 : std::min(slots, rows.count);
  const std::int32_t split = rows.splits[static_cast<std::size_t>((row - 1) * blocks_ + blocks - 1)];
  // The first block of all is the one that may be short.
  const Step missing = begin == 0 ? blocks * grain_ - length : 0;
  return {split > 0, split == 0 ? 0 : std::abs(split) * grain_ - missing};
}

}  // namespace tidemark::schedule
