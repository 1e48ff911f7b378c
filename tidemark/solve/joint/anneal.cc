#include "tidemark/solve/joint/anneal.h"

#include <algorithm>

#include "tidemark/base/repeatable_math.h"
#include "tidemark/solve/at.h"
#include "tidemark/solve/joint/moves.h"

namespace tidemark {
namespace {

using Run = JointEdit::Run;
constexpr Run none = JointEdit::none;

// How often each move is made, in percent; the rest let one item come back and another go.
constexpr std::size_t percent = 100, modes = 5, drops = 25, restores = 15, shifts = 30, exchanges = 15;

constexpr std::int64_t steps_a_temperature = 64;  // over which it hardly falls
constexpr int steps_a_price = 256;                // enough to tell which side of the border it is on
constexpr double price_factor = 1.1;              // small: the price converges while the search cools down
// Playing the lanes visits every run; so many visits are a unit of work.
constexpr std::int64_t visits_a_unit = 150;

class Annealer {
 public:
  Annealer(const Lowered& lowered, const JointSchedule& start, const JointAnnealOptions& options)
      : problem_(*lowered.problem), edit_(lowered, start), moves_(lowered, options.seed) {
    for (const JointTask& task : problem_.tasks) mean_cost_ += task.cost;
    mean_cost_ /= static_cast<double>(std::max<std::size_t>(1, problem_.tasks.size()));
    now_ = figures();
    for (std::size_t m = 0; m < problem_.memories(); ++m) {
      const auto budget = static_cast<double>(std::max<std::int64_t>(1, problem_.budgets[m]));
      price_.push_back(std::max(now_.makespan, 1e-30) / budget);
    }
    outside_.assign(problem_.memories(), 0);
    for (std::size_t c = 0; c < problem_.required.size(); ++c) {
      if (problem_.required[c].size() > 1) with_modes_.push_back(static_cast<int>(c));
    }
    offer();
  }

  JointSchedule run(double hot, double cold, Work& work) {
    const double total = static_cast<double>(work.left);
    const double fall = repeatable::log(cold / hot);
    double temperature = hot * mean_cost_;
    for (std::int64_t step = 0; work.left > 0; ++step) {
      if (step % steps_a_temperature == 0) {
        const double done = 1 - static_cast<double>(work.left) / total;
        temperature = hot * mean_cost_ * repeatable::exp(fall * done);
      }
      propose();
      work.spend(1 + edit_.spent() + edit_.line().runs() / visits_a_unit);
      if (edit_.changed()) decide(temperature);
      adapt();
    }
    return best_;
  }

 private:
  struct Figures {
    double makespan = 0;
    std::vector<double> excess = {};  // per memory
    bool within() const {
      return std::ranges::all_of(excess, [](double bytes) { return bytes <= 0; });
    }
  };

  Figures figures() const {
    Figures figures{.makespan = edit_.makespan()};
    for (std::size_t m = 0; m < problem_.memories(); ++m) {
      figures.excess.push_back(
          problem_.budgets[m] == no_budget ? 0 : edit_.lines()[m].excess(problem_.budgets[m]));
    }
    return figures;
  }

  // Keeps the change or takes it back.
  void decide(double temperature) {
    if (!edit_.is_sound()) return edit_.undo();
    Figures after = figures();
    const double rise = energy(after) - energy(now_);
    if (rise > 0 && moves_.random().unit() >= repeatable::exp(-rise / temperature)) return edit_.undo();
    edit_.keep();
    now_ = std::move(after);
    offer();
  }

  double energy(const Figures& figures) const {
    double sum = figures.makespan;
    for (std::size_t m = 0; m < price_.size(); ++m) sum += price_[m] * figures.excess[m];
    return sum;
  }

  // The price of a byte too much follows how often the search is outside that memory's budget: about half of
  // the time, so that it keeps crossing the border, where the best schedules are.
  void adapt() {
    for (std::size_t m = 0; m < price_.size(); ++m) outside_[m] += now_.excess[m] > 0;
    if (++counted_ < steps_a_price) return;
    for (std::size_t m = 0; m < price_.size(); ++m) {
      price_[m] *= outside_[m] > steps_a_price / 2 ? price_factor : 1 / price_factor;
      outside_[m] = 0;
    }
    counted_ = 0;
  }

  void offer() {
    if (!now_.within()) return;
    constexpr double rounding = 1e-12;  // sums of costs are running sums
    if (!best_.empty() && now_.makespan >= best_makespan_ * (1 - rounding)) return;
    best_ = edit_.schedule();
    best_makespan_ = now_.makespan;
  }

  void propose() {
    const std::size_t kind = moves_.random().below(percent);
    if (kind < modes && !with_modes_.empty()) return change_mode();
    if (kind < modes + drops || edit_.extras().empty()) {
      drop();
    } else if (kind < modes + drops + restores) {
      moves_.restore(edit_);
    } else if (kind < modes + drops + restores + shifts) {
      moves_.shift(edit_);
    } else if (kind < modes + drops + restores + shifts + exchanges) {
      moves_.exchange(edit_);
    } else {
      moves_.restore(edit_);
      drop();
    }
  }

  // Half of the time where it is too full, if it is.
  void drop() {
    Run over = none;
    for (std::size_t m = 0; m < problem_.memories(); ++m) {
      if (now_.excess[m] > 0 && moves_.random().below(2)) over = edit_.lines()[m].peak_run();
    }
    moves_.drop(edit_, over);
  }

  void change_mode() {
    const int choice = with_modes_[moves_.random().below(with_modes_.size())];
    const auto& tasks = problem_.required[at(choice)];
    const int task = tasks[moves_.random().below(tasks.size())];
    if (task != edit_.task(edit_.base_run(choice))) edit_.switch_mode(choice, task);
  }

  const JointProblem& problem_;
  JointEdit edit_;
  JointMoves moves_;
  double mean_cost_ = 0;
  Figures now_;
  std::vector<double> price_;  // per memory, of a byte of excess
  std::vector<int> outside_;   // per memory, of the steps since prices were set
  std::vector<int> with_modes_;
  int counted_ = 0;
  JointSchedule best_;
  double best_makespan_ = 0;
};

}  // namespace

JointSchedule anneal(const Lowered& lowered, const JointSchedule& start, const JointAnnealOptions& options,
                     Work& work) {
  return Annealer(lowered, start, options).run(options.hot, options.cold, work);
}

}  // namespace tidemark
