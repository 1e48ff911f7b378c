// How far recomputation plans at normal effort are from those of a long search, on random graphs of the
// families that planners are compared on. One row per graph and budget: overhead in percent of the base cost
// at normal effort and at `factor` times that, the lower bound, seconds at normal effort; a star where normal
// is more than 0.01 points worse.
//
//   bench/remat_quality [factor=20] [instances=30] [first_seed=1] [family]
#include <fmt/format.h>

#include <cstdlib>
#include <numeric>
#include <string_view>

#include "tests/support/random_dags.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/solve/remat/search.h"

namespace {

using namespace tidemark;
using tidemark::testing::DagFamily;

Sequence base_order(const RematProblem& problem) {
  Sequence base(static_cast<std::size_t>(problem.model.tasks));
  std::iota(base.begin(), base.end(), 0);
  return base;
}

struct Tally {
  int rows = 0, worse = 0, infeasible = 0, differ = 0;
  double seconds = 0, slowest = 0;
};

struct Found {
  RematResult result;
  double seconds = 0;
};
Found solve_at_normal(const RematProblem& problem) {
  const Stopwatch watch;
  RematLimits effort = remat_limits(problem.model.tasks, 1);
  effort.search_order = !problem.fixed_order;
  Found found{solve_remat(problem, base_order(problem), effort), 0};
  found.seconds = watch.seconds();
  return found;
}

// A search of `factor` times the work that does not stop where runs agree: annealing with seeds of its own,
// from the base order and from the best so far in turn.
RematResult solve_long(const RematProblem& problem, RematResult best, double factor) {
  constexpr int runs = 6;
  for (int k = 0; k < runs; ++k) {
    Work work{static_cast<std::int64_t>(factor * static_cast<double>(RematLimits{}.units) / runs)};
    const bool anew = !best.feasible || k % 2 == 0;
    Sequence found =
        anneal(problem, anew ? base_order(problem) : best.sequence,
               {.seed = 7001 + static_cast<std::uint64_t>(k), .hot = anew ? 2.0 : 0.5, .cold = 0.01}, work);
    if (found.empty()) continue;
    const SequenceFigures figures = figures_of(problem, found);
    if (best.feasible && figures.cost >= best.figures.cost) continue;
    best.feasible = true;
    best.sequence = std::move(found);
    best.figures = figures;
  }
  return best;
}

void compare(const char* family, std::uint64_t seed, const RematProblem& problem, double share, double factor,
             Tally& tally) {
  const double base = problem.base_cost();
  const auto percent = [&](double cost) { return 100 * (cost / base - 1); };
  const Found normal = solve_at_normal(problem);
  const RematResult& first = normal.result;
  ++tally.rows;
  tally.seconds += normal.seconds;
  tally.slowest = std::max(tally.slowest, normal.seconds);
  fmt::print("{:<8} {:>4} {:>4} {:<5} {:>4.2f} ", family, problem.model.tasks, seed,
             problem.fixed_order ? "fixed" : "free", share);
  const bool is_final = first.feasible ? first.optimal : first.figures.peak <= first.memory_bound;
  const RematResult second = is_final ? first : solve_long(problem, first, factor);
  const auto overhead = [&](const RematResult& r) {
    return r.feasible ? fmt::format("{:.4f}", percent(r.figures.cost)) : std::string("none");
  };
  const bool differ = first.feasible != second.feasible;
  const bool worse =
      first.feasible && second.feasible && percent(first.figures.cost) > percent(second.figures.cost) + 0.01;
  tally.infeasible += !second.feasible;
  tally.differ += differ;
  tally.worse += worse;
  fmt::print("{:>10} {:>10} {:>10.4f} {:>8.2f} {}\n", overhead(first), overhead(second),
             percent(first.time_bound), normal.seconds, differ || worse ? "*" : "");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const double factor = argc > 1 ? std::atof(argv[1]) : 20;
  const int instances = argc > 2 ? std::atoi(argv[2]) : 30;
  const std::uint64_t first_seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const std::string_view only = argc > 4 ? argv[4] : "";
  constexpr DagFamily families[] = {DagFamily::layered, DagFamily::chain, DagFamily::unet, DagFamily::resnet,
                                    DagFamily::uneven};
  fmt::print("{:<8} {:>4} {:>4} {:<5} {:>4} {:>10} {:>10} {:>10} {:>8}\n", "family", "size", "seed", "order",
             "at", "normal %", "long %", "bound %", "seconds");
  Tally tally;
  for (int k = 0; k < instances; ++k) {
    const DagFamily family = families[k % 5];
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(k);
    const int nodes = 40 + 53 * (k / 5 % 5) % 211;
    if (!only.empty() && only != name_of(family)) continue;
    RematProblem problem = problem_of(random_dag(family, nodes, seed));
    const auto peak = static_cast<double>(figures_of(problem, base_order(problem)).peak);
    for (double share : {0.9, 0.7, 0.5}) {
      if (family == DagFamily::layered && share < 0.6) share = 0.8;
      problem.budget = static_cast<std::int64_t>(share * peak);
      problem.fixed_order = true;
      compare(name_of(family), seed, problem, share, factor, tally);
      if (family != DagFamily::layered) continue;
      problem.fixed_order = false;
      compare(name_of(family), seed, problem, share, factor, tally);
    }
  }
  fmt::print(
      "{} rows, {} worse by more than 0.01 points, {} feasible at one effort only, {} at none; "
      "{:.2f} s on average, {:.2f} at most\n",
      tally.rows, tally.worse, tally.differ, tally.infeasible, tally.seconds / std::max(1, tally.rows),
      tally.slowest);
  return 0;
}
