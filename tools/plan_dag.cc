#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/plan/order_search.h"
#include "tidemark/plan/remat_bound.h"
#include "tidemark/plan/remat_search.h"
#include "tools/dag_report.h"
#include "tools/plan_command.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Sequence own_order(const Dag& dag) {
  Sequence order(static_cast<std::size_t>(dag.size()));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool better(const RematResult& a, const RematResult& b) {
  if (a.feasible != b.feasible) return a.feasible;
  return a.feasible ? a.figures.cost < b.figures.cost : a.figures.peak < b.figures.peak;
}

// Given seconds, rounds of doubling work, the next one only if time is left for it: so what is found depends on the
// machine's speed in steps of two, not on its mood.
RematResult solve(const RematProblem& problem, const Sequence& base, const Effort& effort) {
  RematEffort units;
  if (!effort.seconds) {
    units.units = static_cast<std::int64_t>(static_cast<double>(units.units) * effort.scale);
    return solve_remat(problem, base, units);
  }
  const auto start = std::chrono::steady_clock::now();
  units.units /= 16;
  RematResult best = solve_remat(problem, base, units);
  const auto settled = [&] {
    return best.optimal || (!best.feasible && best.figures.peak <= best.memory_bound);
  };
  for (double last = seconds_since(start); !settled() && seconds_since(start) + 2 * last < *effort.seconds;) {
    const double begin = seconds_since(start);
    units.units *= 2;
    RematResult next = solve_remat(problem, base, units);
    const double time_bound = std::max(best.time_bound, next.time_bound);
    const std::int64_t memory_bound = std::max(best.memory_bound, next.memory_bound),
                       work = best.work_units + next.work_units;
    if (better(next, best)) best = std::move(next);
    best.time_bound = time_bound, best.memory_bound = memory_bound, best.work_units = work;
    last = seconds_since(start) - begin;
  }
  return best;
}

// Without a budget: every node once, in the order with the lowest peak.
RematResult least_memory(const RematProblem& problem, const Sequence& base, const Effort& effort) {
  Work work{static_cast<std::int64_t>(RematEffort{}.units * effort.scale)};
  const std::int64_t units = work.left;
  RematResult result;
  result.sequence = problem.fixed_order ? base : best_order(problem.model, 0, work);
  result.time_bound = problem.base_cost();
  result.memory_bound = memory_bound(problem);
  result.work_units = units - work.left;
  return result;
}

// What the file itself says: its order, every node once.
DagReport base_report(const Dag& dag, const PlanCommand& command) {
  const ScheduleCheck figures = check_schedule(dag, own_order(dag));
  TM_CHECK(!figures.fault, "{}", *figures.fault);
  DagReport report{.file = command.model.model, .fixed_order = command.fixed_order};
  report.base_peak = figures.peak;
  report.base_cost = figures.cost;
  if (command.memory) report.budget = command.memory->bytes(figures.peak);
  report.effort = command.effort_name;
  return report;
}

// Judges a schedule that someone else may have made.
ExitCode judge(const Dag& dag, const PlanCommand& command, DagReport report) {
  report.schedule = schedule_from_text(read_text(command.check), command.check);
  report.figures = check_schedule(dag, report.schedule);
  const ScheduleCheck& figures = report.figures;
  if (figures.fault) {
    fail(ErrorCode::bad_file, {.what = fmt::format("not a schedule of this graph: {}", *figures.fault),
                               .where = SourceLine(intern(command.check), 1)});
  }
  if (command.fixed_order && !figures.in_order) {
    fail(ErrorCode::bad_file, {.what = "the nodes do not first run in the file's order",
                               .where = SourceLine(intern(command.check), 1)});
  }
  report.fits = !report.budget || figures.peak <= *report.budget;
  (command.json ? print_verdict_json : print_verdict)(report);
  return report.fits ? exit_ok : exit_infeasible;
}

}  // namespace

ExitCode plan_dag(const PlanCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  const Dag dag = read_dag(command.model.model);
  DagReport report = base_report(dag, command);
  if (!command.check.empty()) return judge(dag, command, std::move(report));

  RematProblem problem = problem_of(dag);
  problem.fixed_order = command.fixed_order;
  if (report.budget) problem.budget = *report.budget;
  RematResult found = (report.budget ? solve : least_memory)(problem, own_order(dag), command.effort);
  report.schedule = std::move(found.sequence);
  report.cost_bound = found.time_bound;
  report.memory_bound = found.memory_bound;
  report.work = found.work_units;

  // The search's own figures are not taken on trust.
  report.figures = check_schedule(dag, report.schedule);
  TM_CHECK(!report.figures.fault, "{}", *report.figures.fault);
  TM_CHECK(!command.fixed_order || report.figures.in_order);
  report.fits = !report.budget || report.figures.peak <= *report.budget;
  report.optimal = report.fits && report.figures.cost <= report.cost_bound * (1 + 1e-9);
  report.seconds = seconds_since(start);

  if (report.fits && !command.schedule.empty()) write_text(command.schedule, schedule_text(report.schedule));
  if (command.json) {
    print_json(dag, report);
  } else if (report.fits) {
    print_text(dag, report);
  }
  std::fflush(stdout);
  if (!report.fits) fmt::print(stderr, "{}\n", misfit_text(dag, report));
  return report.fits ? exit_ok : exit_infeasible;
}

}  // namespace tidemark::cli
