// What the solvers of one search share, and the table of them. The driver (solve.cc) walks the table from top
// to bottom; a solver looks at the state, offers what it finds to the incumbent, and takes its work out of
// what is left.
#pragma once
#include <algorithm>
#include <span>

#include "tidemark/solve/remat/exact.h"
#include "tidemark/solve/remat/search.h"

namespace tidemark {

// The cheapest sequence within the budget so far.
class Incumbent {
 public:
  explicit Incumbent(const RematProblem& problem) : problem_(problem) {}

  enum class Verdict { worse, as_good, better };
  Verdict offer(Sequence sequence);

  bool empty() const { return sequence_.empty(); }
  const Sequence& sequence() const { return sequence_; }
  double cost() const { return figures_.cost; }
  std::int64_t improvements() const { return improvements_; }

 private:
  const RematProblem& problem_;
  Sequence sequence_;
  SequenceFigures figures_;
  std::int64_t improvements_ = 0;
};

// Costs are sums in floating point: what differs by less than this, as a share, is the same.
constexpr double same_cost = 1e-9;

// Where annealing begins.
struct AnnealStart {
  Sequence sequence;
  double hot;  // temperature, as AnnealOptions
};

struct RematState {
  RematState(const RematProblem& problem, std::span<const int> start, const RematLimits& limits,
             std::span<const int> warm);

  const RematProblem& problem;
  const RematLimits& limits;
  const std::span<const int> warm;  // good for a budget nearby; may be empty
  const bool much;                  // work: enough for exact search and beams on more than a few tasks
  const bool small;                 // few enough tasks and items to be solved to the end with that work
  const ExactLimits exact_limits;

  Sequence base;  // every task once: what solvers go out from
  Work work;
  std::int64_t aside = 0;  // units spent on what has limits of its own
  Incumbent best;
  double time_bound;          // nothing within the budget costs less
  std::int64_t memory_bound;  // nothing has a lower peak
  bool hopeless;              // nothing is within the budget
  Sequence lowest;            // where nothing within the budget was found: the lowest peak that was

  // Settled when the stage begins.
  bool nearby = false;     // `descend`: a sequence from nearby is within the budget
  bool from_base = false;  // `descend`: ways down from the base are looked for
  bool greedy = false;     // `widen`: the stages before found something within the budget
  std::uint64_t seed = 0;  // `widen`: of the first round of annealing, less one

  std::vector<AnnealStart> starts;  // of rounds of annealing: what beams found

  std::int64_t spent() const { return aside + limits.units - work.left; }
  bool proved() const { return !best.empty() && best.cost() <= time_bound * (1 + same_cost); }
  // Annealing a large problem from nothing gets nowhere.
  bool may_begin_anew() const { return problem.model.tasks <= most_anew; }

 private:
  static constexpr int most_anew = 600;  // tasks
};

// A part of the work that is left, taken out of it; what the part does not need goes back when it ends.
class WorkShare {
 public:
  WorkShare(Work& whole, double part);
  ~WorkShare() { whole_.left += share_.left; }
  WorkShare(const WorkShare&) = delete;
  WorkShare& operator=(const WorkShare&) = delete;
  operator Work&() { return share_; }  // NOLINT: it is used as one

 private:
  Work& whole_;
  Work share_;
};

// Solvers come in stages, between which the driver fixes what the next ones go by.
enum class Stage {
  decide,   // what may end the search at once
  recall,   // what is near, in order or budget; a bound on the cost is known from here on
  descend,  // greedy ways down from the base
  widen,    // what takes most of the work
  report,   // what to say where nothing is within the budget
};

struct Solver {
  SolverInfo info;
  Stage stage;
  bool (*applies)(const RematState&);
  void (*run)(RematState&);
};
std::span<const Solver> portfolio();

// The rows' `run`. Of small problems (portfolio_small.cc):
void search_order(RematState& state);
void solve_exactly(RematState& state);
void repair_base(RematState& state);
// Ways down (portfolio_down.cc):
void try_known(RematState& state);
void shave_warm(RematState& state);
void shave_base(RematState& state);
void shave_base_in_steps(RematState& state);
void schedule_stages(RematState& state);
void cut_base(RematState& state);
void descend_to_budget(RematState& state);
void find_floor(RematState& state);
// What takes most of the work (portfolio_wide.cc):
void search_beams(RematState& state);
void anneal_in_rounds(RematState& state);

}  // namespace tidemark
