#include "tidemark/solve/remat/chain.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "tidemark/solve/at.h"
#include "tidemark/solve/remat/timeline.h"

namespace tidemark {
namespace {

constexpr int most_stages = 100;

// Where each item is made, last read before the turn, and first read after it.
struct ItemSpan {
  int made = -1, last_forward = -1, first_backward = -1, last_backward = -1;
  bool saved() const { return first_backward >= 0; }
};

std::vector<ItemSpan> spans_of(const OrderModel& model, std::span<const int> order, int turn) {
  std::vector<ItemSpan> spans(at(model.items));
  for (int p = 0; p < static_cast<int>(order.size()); ++p) {
    const int t = order[at(p)];
    for (int i : model.makes[t]) spans[at(i)].made = p;
    for (int i : model.uses[t]) {
      ItemSpan& span = spans[at(i)];
      if (p <= turn) {
        span.last_forward = p;
      } else {
        if (span.first_backward < 0) span.first_backward = p;
        span.last_backward = p;
      }
    }
  }
  return spans;
}

// Boundaries where the least is handed on, within a window either side: a few dozen of them.
std::vector<int> cuts_of_forward(const std::vector<std::int64_t>& handed, int turn) {
  std::vector<int> cuts;
  const int window = turn / (2 * most_stages);
  for (int p = 1; p <= turn; ++p) {
    std::int64_t least = handed[at(p)];
    for (int q = std::max(1, p - window); q <= std::min(turn, p + window); ++q) {
      least = std::min(least, handed[at(q)]);
    }
    const bool near = !cuts.empty() && p - cuts.back() <= window;
    if (handed[at(p)] == least && !near) cuts.push_back(p);
  }
  return cuts;
}

}  // namespace

std::vector<ChainStage> chain_of(const RematProblem& problem, std::span<const int> order) {
  const OrderModel& model = problem.model;
  const int n = static_cast<int>(order.size());
  const int turn = figures_of(problem, order).peak_at;
  const std::vector<ItemSpan> spans = spans_of(model, order, turn);

  // What cannot be made again is there whatever the stages do.
  const auto movable = [&](int i) {
    return spans[at(i)].made >= 0 && spans[at(i)].made <= turn && !model.pinned[at(i)] &&
           problem.repeatable[at(order[at(spans[at(i)].made)])];
  };
  std::vector<std::int64_t> change(at(turn) + 2, 0);
  for (int i = 0; i < model.items; ++i) {
    if (!movable(i) || spans[at(i)].last_forward <= spans[at(i)].made) continue;
    change[at(spans[at(i)].made) + 1] += model.size[at(i)];
    change[at(spans[at(i)].last_forward) + 1] -= model.size[at(i)];
  }
  std::vector<std::int64_t> handed(at(turn) + 1, 0);
  for (int p = 1; p <= turn; ++p) handed[at(p)] = handed[at(p) - 1] + change[at(p)];

  std::vector<int> starts{0};
  for (int cut : cuts_of_forward(handed, turn)) starts.push_back(cut);
  const int count = static_cast<int>(starts.size());
  std::vector<ChainStage> stages(at(count));
  std::vector<int> stage_of(at(turn) + 1, 0);
  for (int s = 0; s < count; ++s) {
    stages[at(s)].first = starts[at(s)];
    stages[at(s)].handed = handed[at(starts[at(s)])];
    stages[at(s)].last = s + 1 < count ? starts[at(s) + 1] : turn + 1;
    for (int p = stages[at(s)].first; p < stages[at(s)].last; ++p) {
      stage_of[at(p)] = s;
      stages[at(s)].cost += problem.cost[at(order[at(p)])];
    }
  }

  // Where the backward first reads what ends in a stage or an earlier one; bytes made in each for the
  // backward.
  std::vector<int> needed(at(count), n);
  std::vector<std::int64_t> behind(at(count), 0);
  for (int i = 0; i < model.items; ++i) {
    if (!movable(i)) continue;
    const ItemSpan& span = spans[at(i)];
    if (!span.saved()) continue;
    const int made_in = stage_of[at(span.made)];
    const int home = std::max(made_in, stage_of[at(std::max(0, span.last_forward))]);
    (home == made_in ? stages[at(home)].saved : stages[at(made_in) + 1].fresh) += model.size[at(i)];
    needed[at(home)] = std::min(needed[at(home)], span.first_backward);
    behind[at(made_in)] += model.size[at(i)];
  }
  for (int s = 1; s < count; ++s) needed[at(s)] = std::min(needed[at(s)], needed[at(s) - 1]);
  for (int s = 0; s < count; ++s) {
    stages[at(s)].back_first = s + 1 == count ? turn + 1 : needed[at(s)];
    stages[at(s)].back_last = s == 0 ? n : needed[at(s) - 1];
  }

  const Timeline line(problem, order);
  std::vector<std::int64_t> load;
  for (Timeline::Run run = line.first(); run != Timeline::none; run = line.next(run))
    load.push_back(line.load(run));
  std::int64_t earlier = 0;
  for (int s = 0; s < count; ++s) {
    ChainStage& stage = stages[at(s)];
    const auto highest = [&](int first, int last) {
      std::int64_t most = 0;
      for (int p = first; p < last; ++p) most = std::max(most, load[at(p)] - earlier);
      return most;
    };
    stage.forward = highest(stage.first, stage.last);
    stage.backward = highest(stage.back_first, stage.back_last);
    earlier += behind[at(s)];
  }
  return stages;
}

namespace {

constexpr int levels = 256;
constexpr float no_way = std::numeric_limits<float>::infinity();

// best(range, memory level) = least cost of F runs to bring a range of stages forward and back, its state
// being held.
class ChainProgram {
 public:
  ChainProgram(const std::vector<ChainStage>& stages, std::int64_t limit)
      : stages_(stages),
        unit_(std::max<std::int64_t>(1, (limit + levels - 1) / levels)),
        top_(static_cast<int>(limit / unit_)) {
    number_ranges();
  }

  // What solve() will take, in microseconds or so.
  std::int64_t units() const {
    std::int64_t visits = 0;
    std::vector<bool> seen(tables_.size(), false);
    for (const std::vector<int>& from : ranges_) {
      for (std::size_t k = 0; k < from.size(); ++k) {
        if (!seen[at(from[k])]) visits += static_cast<std::int64_t>(k) + 1;
        seen[at(from[k])] = true;
      }
    }
    return 1 + visits * (top_ + 1) / 500;
  }

  void solve() {
    const int count = static_cast<int>(stages_.size());
    for (int length = 1; length <= count; ++length) {
      for (int i = 0; i + length <= count; ++i) {
        Table& table = tables_[at(range(i, i + length - 1))];
        if (!table.cost.empty()) continue;
        table.cost.assign(at(top_) + 1, no_way);
        table.choice.assign(at(top_) + 1, -1);
        for (int m = 0; m <= top_; ++m) fill(table, i, i + length - 1, m);
      }
    }
  }

  bool feasible() const { return cost(0, static_cast<int>(stages_.size()) - 1, top_) < no_way; }

  // (stage, forward?) in the order in which they run.
  std::vector<std::pair<int, bool>> moves() const {
    std::vector<std::pair<int, bool>> list;
    emit(0, static_cast<int>(stages_.size()) - 1, top_, list);
    return list;
  }

 private:
  struct Table {
    std::vector<float> cost;
    std::vector<short> choice;  // 0: save this stage; k: hold only the state k stages on
  };

  void emit(int i, int j, int m, std::vector<std::pair<int, bool>>& moves) const {
    const int choice = tables_[at(range(i, j))].choice[at(m)];
    moves.emplace_back(i, true);
    if (choice == 0) {
      if (i < j) emit(i + 1, j, m - saving(i), moves);
      moves.emplace_back(i, false);
      return;
    }
    for (int k = i + 1; k < i + choice; ++k) moves.emplace_back(k, true);
    emit(i + choice, j, m - holding(i + choice), moves);
    emit(i, i + choice - 1, m, moves);
  }

  int range(int i, int j) const { return ranges_[at(i)][at(j - i)]; }
  float cost(int i, int j, int m) const { return m < 0 ? no_way : tables_[at(range(i, j))].cost[at(m)]; }
  int level(std::int64_t bytes) const { return static_cast<int>((bytes + unit_ - 1) / unit_); }
  int saving(int i) const { return level(stages_[at(i)].saved + stages_[at(i) + 1].fresh); }
  int holding(int k) const { return level(stages_[at(k)].handed); }

  void fill(Table& table, int i, int j, int m) {
    const ChainStage& stage = stages_[at(i)];
    float& best = table.cost[at(m)];
    if (level(std::max(stage.forward, stage.backward)) <= m) {
      const float rest = i == j ? 0 : cost(i + 1, j, m - saving(i));
      if (rest < no_way) {
        best = static_cast<float>(stage.cost) + rest;
        table.choice[at(m)] = 0;
      }
    }
    float ahead = 0;
    for (int k = i + 1; k <= j; ++k) {
      ahead += static_cast<float>(stages_[at(k) - 1].cost);
      const float total = ahead + cost(k, j, m - holding(k)) + cost(i, k - 1, m);
      if (total < best) {
        best = total;
        table.choice[at(m)] = static_cast<short>(k - i);
      }
    }
  }

  // Ranges of stages with the same figures get the same number.
  void number_ranges() {
    using Figures = std::tuple<double, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
    std::map<Figures, int> kinds;
    std::map<std::pair<int, int>, int> numbers;
    const int count = static_cast<int>(stages_.size());
    ranges_.resize(at(count));
    for (int i = count - 1; i >= 0; --i) {
      const ChainStage& s = stages_[at(i)];
      const auto kind = kinds
                            .emplace(Figures{s.cost, s.handed, s.fresh, s.saved, s.forward, s.backward},
                                     static_cast<int>(kinds.size()))
                            .first->second;
      for (int j = i; j < count; ++j) {
        const std::pair<int, int> key{kind, j == i ? -1 : ranges_[at(i) + 1][at(j - i - 1)]};
        const int number = numbers.emplace(key, static_cast<int>(numbers.size())).first->second;
        ranges_[at(i)].push_back(number);
      }
    }
    tables_.resize(numbers.size());
  }

  const std::vector<ChainStage>& stages_;
  std::int64_t unit_;                     // bytes of a level
  int top_;                               // the level of the limit
  std::vector<std::vector<int>> ranges_;  // [first][length - 1]
  std::vector<Table> tables_;
};

// Leaves out repeats whose results are made again before they are read.
Sequence without_idle(const RematProblem& problem, const Sequence& sequence) {
  const OrderModel& model = problem.model;
  std::vector<bool> alive = model.pinned, later(sequence.size(), true), met(at(model.tasks), false);
  for (std::size_t p = 0; p < sequence.size(); ++p) {
    later[p] = met[at(sequence[p])];
    met[at(sequence[p])] = true;
  }
  Sequence kept;
  for (std::size_t p = sequence.size(); p-- > 0;) {
    const int t = sequence[p];
    const auto made = model.makes[t];
    if (later[p] && std::ranges::none_of(made, [&](int i) { return bool{alive[at(i)]}; })) continue;
    for (int i : made) alive[at(i)] = false;
    for (int i : model.uses[t]) alive[at(i)] = true;
    kept.push_back(t);
  }
  std::ranges::reverse(kept);
  return kept;
}

}  // namespace

Sequence chain_sequence(const RematProblem& problem, std::span<const int> order,
                        const std::vector<ChainStage>& stages, std::int64_t limit, Work& work) {
  ChainProgram program(stages, limit);
  // Where little is to be spent in all, it is better spent otherwise.
  if (program.units() > work.left / 8) return {};
  work.spend(program.units());
  program.solve();
  if (!program.feasible()) return {};
  Sequence sequence;
  std::vector<bool> ran(stages.size(), false);
  for (const auto& [s, forward] : program.moves()) {
    const ChainStage& stage = stages[at(s)];
    const int first = forward ? stage.first : stage.back_first, last = forward ? stage.last : stage.back_last;
    for (int p = first; p < last; ++p) {
      const int t = order[at(p)];
      if (!forward || !ran[at(s)] || problem.repeatable[at(t)]) sequence.push_back(t);
    }
    if (forward) ran[at(s)] = true;
  }
  sequence = without_idle(problem, sequence);
  return is_valid_sequence(problem, sequence) ? sequence : Sequence{};
}

}  // namespace tidemark
