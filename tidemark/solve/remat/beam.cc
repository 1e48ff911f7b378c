// Beam search from the last step to the first. Backwards no drops need be guessed (exact.h): a state is the
// position up to which first runs are placed and the set of items alive before it. At each position states
// grow by repeated runs, one at a time, and those that leave room for the next first run go on:
//
//        position t - 1 │ position t                              the best states of each column and row stay
//   first run ◀─────────┼── states ─▶ one repeat more ─▶ two more …
//
// A state is judged by the cost of its repeats and by what would be too much at earlier first runs if nothing
// else were computed again; a step nearby counts more, as it must be solved sooner. Where no state goes on,
// the search starts over and gives that step more weight.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "tidemark/base/repeatable_math.h"
#include "tidemark/solve/at.h"
#include "tidemark/solve/random.h"
#include "tidemark/solve/remat/moves.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {
namespace {

constexpr double near_weight = 5,
                 near_length = 5;  // what a step weighs more, and over how many steps that wears off
constexpr int most_in_a_row = 40;  // repeats between two first runs
constexpr int most_passes = 12;
constexpr std::int64_t cells_a_unit = 1500;  // of profiles looked at

class Beam {
 public:
  Beam(const RematProblem& problem, std::span<const int> start, const BeamOptions& options)
      : problem_(problem),
        model_(problem.model),
        makers_(makers_of(problem.model)),
        width_(static_cast<std::size_t>(options.width)),
        position_(at(model_.tasks), -1),
        closed_(at(model_.tasks), model_.tasks),
        last_use_(at(model_.items)),
        name_(at(model_.items)),
        bytes_(at(model_.items)),
        emphasis_(at(model_.tasks), 1),
        weight_(at(model_.tasks)),
        row_(at(model_.tasks)) {
    for (int t : start) {
      if (position_[at(t)] >= 0) continue;
      position_[at(t)] = static_cast<int>(order_.size());
      order_.push_back(t);
    }
    for (int t = 0; t < model_.tasks; ++t) {
      for (int c : problem.closed_by[t]) closed_[at(t)] = std::min(closed_[at(t)], position_[at(c)]);
    }
    const double all = std::accumulate(model_.size.begin(), model_.size.end(), 0.0);
    unit_ = std::max(1.0, all / std::max(1, model_.items));
    price_ = options.price * problem.base_cost() / std::max(1, model_.tasks);
    Random random(1);
    for (int i = 0; i < model_.items; ++i) {
      name_[at(i)] = random.bits();
      bytes_[at(i)] = static_cast<float>(static_cast<double>(model_.size[at(i)]) / unit_);
    }
  }

  Sequence run(Work& work) {
    for (int pass = 0; pass < most_passes && work.left > 0; ++pass) {
      if (Sequence found = search(work); !found.empty()) return found;
      const int first = std::max(0, stuck_ - 1), last = std::min(model_.tasks, stuck_ + 2);
      for (int k = first; k < last; ++k) emphasis_[at(k)] *= 2;
    }
    return {};
  }

 private:
  struct State {
    std::vector<std::uint64_t> alive;  // a bit per item
    std::vector<float> over;           // per position before: load less budget, in typical items
    std::int64_t bytes = 0;            // alive
    std::uint64_t hash = 0;            // of what is alive
    double cost = 0, excess = 0;       // of repeats; weighted sum of what is over
    int trace = -1;

    bool has(int i) const { return alive[at(i) / 64] >> (at(i) % 64) & 1; }
  };
  struct Repeat {  // of a task, on a state
    double value, cost, excess;
    std::uint64_t hash;
    int state, task;
  };
  struct TraceEntry {
    int later, task;
  };

  double value_of(const State& s) const { return s.cost + price_ * s.excess; }

  void set_alive(State& s, int item, bool alive) const {
    if (s.has(item) == alive) return;
    s.alive[at(item) / 64] ^= std::uint64_t{1} << (at(item) % 64);
    s.bytes += alive ? model_.size[at(item)] : -model_.size[at(item)];
    s.hash ^= name_[at(item)];
  }

  bool fits(const State& s, int task) const {
    std::int64_t load = model_.base + s.bytes + model_.scratch[at(task)];
    for (int i : model_.makes[task]) load += s.has(i) ? 0 : model_.size[at(i)];
    for (int i : model_.uses[task]) load += s.has(i) ? 0 : model_.size[at(i)];
    return load - saved_by_reuse(model_, task, [&](int i) { return !s.has(i); }) <= problem_.budget;
  }

  State at_the_end() const {
    State s;
    s.alive.resize(at(model_.items) / 64 + 1);
    for (int i = 0; i < model_.items; ++i) {
      if (model_.pinned[at(i)]) set_alive(s, i, true);
    }
    for (std::int64_t load : loads_of(model_, order_).during) {
      s.over.push_back(static_cast<float>(static_cast<double>(load - problem_.budget) / unit_));
    }
    return s;
  }

  // In lanes, so that it is quick and the same on every machine.
  double excess_of(const float* over, int first, int last) const {
    std::array<float, 8> lanes{};
    int k = first;
    for (; k + 8 <= last; k += 8) {
      for (int j = 0; j < 8; ++j) lanes[at(j)] += weight_[at(k + j)] * std::max(0.0f, over[k + j]);
    }
    for (; k < last; ++k) lanes[0] += weight_[at(k)] * std::max(0.0f, over[k]);
    double sum = 0;
    for (float lane : lanes) sum += lane;
    return sum;
  }

  Sequence search(Work& work) {
    trace_.clear();
    std::vector<State> states{at_the_end()}, next;
    for (int t = model_.tasks; t > 0; --t) {
      look_back_from(t);
      next.clear();
      known_.clear();
      for (State& s : states) {
        s.excess = excess_of(s.over.data(), 0, t);
        known_[s.hash] = s.cost;
      }
      cut_ = std::numeric_limits<double>::infinity();
      cells_ = static_cast<std::int64_t>(states.size()) * t;
      for (int row = 0; row <= most_in_a_row && !states.empty(); ++row) {
        for (const State& s : states) {
          if (fits(s, order_[at(t - 1)])) next.push_back(with_first(s, t - 1));
        }
        keep_best(next);
        states = with_one_repeat_more(states, t);
      }
      if (!work.spend(cells_ / cells_a_unit + 1)) return {};
      if (next.empty()) {
        stuck_ = t - 1;
        return {};
      }
      std::swap(states, next);
    }
    const State& best = *std::ranges::min_element(states, {}, &State::cost);
    Sequence sequence;
    for (int k = best.trace; k >= 0; k = trace_[at(k)].later) sequence.push_back(trace_[at(k)].task);
    return sequence;
  }

  void look_back_from(int t) {
    for (int k = 0; k < t; ++k) {
      const double near = 1 + near_weight * repeatable::exp(-(t - 1 - k) / near_length);
      weight_[at(k)] = static_cast<float>(emphasis_[at(k)] * near);
    }
    for (int i = 0; i < model_.items; ++i) {
      int last = makers_[at(i)] < 0 ? -1 : position_[at(makers_[at(i)])];
      for (int u : model_.users[i]) {
        if (position_[at(u)] < t) last = std::max(last, position_[at(u)]);
      }
      last_use_[at(i)] = last;
    }
  }

  State with_first(const State& from, int position) {
    State s = from;
    const int task = order_[at(position)];
    s.excess -= excess_of(s.over.data(), position, position + 1);
    run_before(s, task);
    return s;
  }

  void run_before(State& s, int task) {
    for (int i : model_.makes[task]) set_alive(s, i, false);
    for (int i : model_.uses[task]) set_alive(s, i, true);
    trace_.push_back({s.trace, task});
    s.trace = static_cast<int>(trace_.size()) - 1;
  }

  // The best by value, of those with the same items alive only one.
  void keep_best(std::vector<State>& states) {
    if (states.size() < width_) return;
    std::ranges::sort(states, {}, [&](const State& s) { return std::tuple(value_of(s), s.hash, s.trace); });
    std::vector<State> best;
    std::unordered_map<std::uint64_t, bool> taken;
    for (State& s : states) {
      if (best.size() < width_ && taken.emplace(s.hash, true).second) best.push_back(std::move(s));
    }
    states = std::move(best);
    if (states.size() == width_) cut_ = value_of(states.back());
  }

  std::vector<State> with_one_repeat_more(const std::vector<State>& states, int t) {
    repeats_.clear();
    for (std::size_t k = 0; k < states.size(); ++k) {
      const State& s = states[k];
      for (std::size_t w = 0; w < s.alive.size(); ++w) {
        for (std::uint64_t rest = s.alive[w]; rest != 0; rest &= rest - 1) {
          consider(s, static_cast<int>(k), static_cast<int>(w) * 64 + std::countr_zero(rest), t);
        }
      }
    }
    if (repeats_.size() > width_) {
      const auto middle = repeats_.begin() + static_cast<std::ptrdiff_t>(width_);
      std::ranges::nth_element(repeats_, middle, {},
                               [](const Repeat& r) { return std::tuple(r.value, r.hash, r.state, r.task); });
      repeats_.erase(middle, repeats_.end());
    }
    std::vector<State> result;
    for (const Repeat& repeat : repeats_) {
      State s = states[at(repeat.state)];
      change(s, repeat.task, t, s.over.data());
      s.cost = repeat.cost;
      s.excess = repeat.excess;
      run_before(s, repeat.task);
      result.push_back(std::move(s));
    }
    return result;
  }

  // Running the maker of `item` again right before position t.
  void consider(const State& s, int state, int item, int t) {
    const int task = makers_[at(item)];
    if (task < 0 || position_[at(task)] >= t || closed_[at(task)] < t || !problem_.repeatable[at(task)])
      return;
    for (int other : model_.makes[task]) {
      if (other < item && s.has(other)) return;  // considered with that one
    }
    if (!fits(s, task)) return;
    Repeat repeat{0, s.cost + problem_.cost[at(task)], s.excess, s.hash, state, task};
    int first = t;
    for (int i : model_.makes[task]) {
      if (!s.has(i)) continue;
      repeat.hash ^= name_[at(i)];
      first = std::min(first, last_use_[at(i)] + 1);
    }
    for (int i : model_.uses[task]) {
      if (s.has(i)) continue;
      repeat.hash ^= name_[at(i)];
      first = std::min(first, last_use_[at(i)] + 1);
    }
    std::copy(s.over.begin() + first, s.over.begin() + t, row_.begin() + first);
    change(s, task, t, row_.data());
    repeat.excess += excess_of(row_.data(), first, t) - excess_of(s.over.data(), first, t);
    cells_ += 100 + 2 * (t - first);
    repeat.value = repeat.cost + price_ * repeat.excess;
    if (repeat.value >= cut_) return;
    const auto [known, fresh] = known_.try_emplace(repeat.hash, repeat.cost);
    if (!fresh && known->second <= repeat.cost) return;
    known->second = repeat.cost;
    repeats_.push_back(repeat);
  }

  // What the repeat, right before position t, frees and what it keeps longer.
  void change(const State& s, int task, int t, float* over) {
    const auto add = [&](int item, float bytes) {
      for (int k = last_use_[at(item)] + 1; k < t; ++k) over[k] += bytes;
      cells_ += t - last_use_[at(item)];
    };
    for (int i : model_.makes[task]) {
      if (s.has(i)) add(i, -bytes_[at(i)]);
    }
    for (int i : model_.uses[task]) {
      if (!s.has(i)) add(i, bytes_[at(i)]);
    }
  }

  const RematProblem& problem_;
  const OrderModel& model_;
  std::vector<int> makers_;
  std::size_t width_;
  double price_ = 1, unit_ = 1;
  std::vector<int> order_, position_;  // of first runs
  std::vector<int> closed_;            // per task: it may run again only up to this position
  std::vector<int> last_use_;          // per item: its last use, or its make, before the position at hand
  std::vector<std::uint64_t> name_;    // per item: random bits
  std::vector<float> bytes_;           // per item, in typical items
  std::vector<double> emphasis_;       // per position
  std::vector<float> weight_, row_;    // per position
  std::vector<TraceEntry> trace_;
  std::unordered_map<std::uint64_t, double>
      known_;  // what is alive, and the least cost of that at this position
  std::vector<Repeat> repeats_;
  double cut_ = 0;  // values from here on are of no use
  std::int64_t cells_ = 0;
  int stuck_ = 0;
};

}  // namespace

Sequence beam(const RematProblem& problem, std::span<const int> start, const BeamOptions& options,
              Work& work) {
  return Beam(problem, start, options).run(work);
}

}  // namespace tidemark
