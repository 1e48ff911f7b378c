#include "tidemark/solve/remat/window.h"

#include <algorithm>

#include "tidemark/solve/at.h"
#include "tidemark/solve/bit_set.h"
#include "tidemark/solve/remat/backward.h"

namespace tidemark {
namespace {

constexpr int most_tasks = 128;  // of a window, those that ran before and may run again included
constexpr std::int64_t states_without_prices = 1'000;
constexpr double better = 1e-9;  // of the cost: less is rounding

std::vector<bool> alive_before(const OrderModel& model, std::span<const int> rest, std::vector<bool> alive) {
  for (std::size_t p = rest.size(); p-- > 0;) {
    for (int i : model.makes[rest[p]]) alive[at(i)] = false;
    for (int i : model.uses[rest[p]]) alive[at(i)] = true;
  }
  return alive;
}

// The piece as a problem of its own: tasks that ran before it first, then those that first run in it.
class Piece {
 public:
  Piece(const RematProblem& problem, std::span<const int> sequence, int first, int last)
      : problem_(problem),
        model_(problem.model),
        window_(sequence.subspan(at(first), at(last - first))),
        number_(at(model_.tasks), -1),
        item_number_(at(model_.items), -1),
        maker_(at(model_.items), -1) {
    at_end_ = alive_before(model_, sequence.subspan(at(last)), model_.pinned);
    at_start_ = alive_before(model_, window_, at_end_);
    for (int t = 0; t < model_.tasks; ++t) {
      for (int i : model_.makes[t]) maker_[at(i)] = t;
    }
    std::vector<int> first_run(at(model_.tasks), -1);
    for (std::size_t p = 0; p < at(last); ++p) {
      int& run = first_run[at(sequence[p])];
      if (run < 0) run = static_cast<int>(p);
    }
    const auto ran_before = [&](int t) { return first_run[at(t)] >= 0 && first_run[at(t)] < first; };
    choose_prior(ran_before);
    std::ranges::sort(tasks_, {}, [&](int t) { return first_run[at(t)]; });
    prior_ = static_cast<int>(tasks_.size());
    for (std::size_t p = 0; p < window_.size(); ++p) {
      if (first_run[at(window_[p])] == first + static_cast<int>(p)) tasks_.push_back(window_[p]);
    }
    for (std::size_t k = 0; k < tasks_.size(); ++k) number_[at(tasks_[k])] = static_cast<int>(k);
    write();
  }

  const RematProblem& problem() const { return piece_; }
  int prior() const { return prior_; }
  double once() const {
    double sum = 0;
    for (int t = prior_; t < piece_.model.tasks; ++t) sum += piece_.cost[at(t)];
    return sum;
  }
  Sequence in_full(const Sequence& sequence) const {
    Sequence result;
    for (int t : sequence) result.push_back(tasks_[at(t)]);
    return result;
  }

 private:
  // Of the tasks that ran before: those that run again in the window now, and those nearest to what the
  // window reads and leaves, as far as there is room.
  template <class F>
  void choose_prior(F&& ran_before) {
    std::vector<bool> seen(at(model_.tasks), false);
    const auto consider = [&](int t) {
      if (t < 0 || seen[at(t)] || !ran_before(t) || !problem_.repeatable[at(t)]) return;
      seen[at(t)] = true;
      if (std::ranges::none_of(problem_.closed_by[t], ran_before)) tasks_.push_back(t);
    };
    for (int t : window_) consider(t);
    for (int t : window_) {
      for (int i : model_.uses[t]) consider(maker_[at(i)]);
    }
    for (int i = 0; i < model_.items; ++i) {
      if (at_end_[at(i)] || at_start_[at(i)]) consider(maker_[at(i)]);
    }
    for (std::size_t k = 0; k < tasks_.size() && tasks_.size() < at(most_tasks); ++k) {
      for (int i : model_.uses[tasks_[k]]) consider(maker_[at(i)]);
    }
    const std::size_t room = at(most_tasks) - std::min(at(most_tasks), window_.size());
    if (tasks_.size() > room) tasks_.resize(room);
    drop_unreachable();
  }

  // A task one of whose operands is not there at the start and cannot be made within is of no use.
  void drop_unreachable() {
    std::vector<bool> may_run(at(model_.tasks), false);
    for (int t : tasks_) may_run[at(t)] = true;
    for (int t : window_) may_run[at(t)] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (int t : tasks_) {
        const bool can = std::ranges::all_of(model_.uses[t], [&](int i) {
          return at_start_[at(i)] || (maker_[at(i)] >= 0 && may_run[at(maker_[at(i)])]);
        });
        changed |= !can && may_run[at(t)];
        if (!can) may_run[at(t)] = false;
      }
    }
    std::erase_if(tasks_, [&](int t) { return !may_run[at(t)]; });
  }

  void write() {
    OrderParts parts;
    parts.base = model_.base;
    const auto item = [&](int i) {
      int& number = item_number_[at(i)];
      if (number < 0) {
        number = static_cast<int>(parts.size.size());
        parts.size.push_back(model_.size[at(i)]);
        parts.pinned.push_back(at_end_[at(i)]);
        parts.present.push_back(at_start_[at(i)]);
      }
      return number;
    };
    const auto items = [&](std::span<const int> list) {
      std::vector<int> result;
      for (int i : list) result.push_back(item(i));
      return result;
    };
    std::vector<std::vector<int>> closed_by;
    for (int t : tasks_) {
      parts.uses.push_back(items(model_.uses[t]));
      parts.makes.push_back(items(model_.makes[t]));
      parts.before.emplace_back();
      for (int p : model_.before[t]) {
        if (number_[at(p)] >= 0) parts.before.back().push_back(number_[at(p)]);
      }
      closed_by.emplace_back();
      for (int c : problem_.closed_by[t]) {
        if (number_[at(c)] >= prior_) closed_by.back().push_back(number_[at(c)]);
      }
      parts.scratch.push_back(model_.scratch[at(t)]);
      parts.reuses.emplace_back();
      for (const InPlaceReuse& pair : model_.reuses[at(t)]) {
        parts.reuses.back().push_back({item(pair.made), item(pair.used)});
      }
      piece_.cost.push_back(problem_.cost[at(t)]);
      piece_.repeatable.push_back(problem_.repeatable[at(t)]);
    }
    for (int i = 0; i < model_.items; ++i) {
      if (item_number_[at(i)] < 0 && at_start_[at(i)] && at_end_[at(i)]) parts.base += model_.size[at(i)];
    }
    piece_.model = make_model(std::move(parts));
    piece_.closed_by = IntLists(closed_by);
    piece_.budget = problem_.budget;
    piece_.fixed_order = true;
  }

  const RematProblem& problem_;
  const OrderModel& model_;
  std::span<const int> window_;
  std::vector<int> number_, item_number_, maker_;
  std::vector<bool> at_start_, at_end_;
  std::vector<int> tasks_;
  int prior_ = 0;
  RematProblem piece_;
};

struct Solved {
  Sequence sequence;
  bool complete = false;
  std::int64_t spent = 0;
};

template <class Set>
Solved solve(const Piece& piece, double limit, const ExactLimits& limits) {
  const auto search = [&](std::int64_t states, bool priced) {
    BackwardSearch<Set> backward(piece.problem(), BackwardGoal::cost, piece.prior());
    if (priced) backward.find_prices(limits.price_work, limit, limits.control);
    return backward.run(piece.problem().budget, limit, states, limits.work, 0, limits.control);
  };
  auto found = search(std::min(limits.states, states_without_prices), false);
  Solved solved;
  solved.spent = found.spent;
  if (!found.complete && limits.states > states_without_prices) {
    found = search(limits.states, true);
    solved.spent += found.spent + 10 * limits.price_work;
  }
  solved.sequence = piece.in_full(found.sequence);
  solved.complete = found.complete;
  return solved;
}

}  // namespace

WindowRepair repair_window(const RematProblem& problem, std::span<const int> sequence, int first, int last,
                           const ExactLimits& limits) {
  const SequenceFigures before = figures_of(problem, sequence);
  const Piece piece(problem, sequence, first, last);
  const OrderModel& model = piece.problem().model;
  const int size = std::max(model.tasks, model.items);
  if (size > most_exact_tasks) return {};
  double limit = std::numeric_limits<double>::infinity();
  if (before.peak <= problem.budget) {
    double now = 0;
    for (int t : sequence.subspan(at(first), at(last - first))) now += problem.cost[at(t)];
    limit = now - piece.once() - better * before.cost;
  }
  if (limit <= 0) return {.sequence = {}, .complete = true};
  const Solved solved = size <= 64    ? solve<BitSet<1>>(piece, limit, limits)
                        : size <= 128 ? solve<BitSet<2>>(piece, limit, limits)
                                      : solve<BitSet<4>>(piece, limit, limits);
  WindowRepair result{.sequence = {}, .complete = solved.complete, .spent = solved.spent};
  if (solved.sequence.empty()) return result;
  Sequence& whole = result.sequence;
  whole.assign(sequence.begin(), sequence.begin() + first);
  whole.insert(whole.end(), solved.sequence.begin(), solved.sequence.end());
  whole.insert(whole.end(), sequence.begin() + last, sequence.end());
  const SequenceFigures after = figures_of(problem, whole);
  const bool within = after.peak <= std::max(problem.budget, before.peak);
  TM_CHECK(is_valid_sequence(problem, whole));
  if (!within || (after.peak >= before.peak && after.cost >= before.cost)) whole.clear();
  return result;
}

}  // namespace tidemark
