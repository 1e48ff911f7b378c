#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <numeric>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/plan/order_search.h"
#include "tidemark/plan/remat_exact.h"
#include "tools/dag_report.h"
#include "tools/plan_command.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void search(const RematProblem& problem, DagReport& report) {
  Work work{3'000'000};
  const std::int64_t budget = report.budget.value_or(0);
  report.cost_bound = report.base_cost;
  report.schedule.resize(problem.cost.size());
  std::iota(report.schedule.begin(), report.schedule.end(), 0);
  if (!problem.fixed_order && report.base_peak > budget)
    report.schedule = best_order(problem.model, budget, work);
  report.work = 3'000'000 - work.left;
  if (problem.model.tasks > most_exact_tasks) return;
  const SmallestPeak smallest = smallest_peak(problem);
  report.memory_bound = smallest.bytes;
  if (!report.budget || figures_of(problem, report.schedule).peak <= budget) return;
  const ExactSequence exact = exact_sequence(problem);
  if (!exact.sequence.empty()) {
    report.schedule = exact.sequence;
    report.cost_bound = exact.bound;
  } else if (smallest.complete) {
    report.schedule = smallest.sequence;
  }
}

// What the file itself says: its order, every node once.
DagReport base_report(const Dag& dag, const PlanCommand& command) {
  Sequence base(static_cast<std::size_t>(dag.size()));
  std::iota(base.begin(), base.end(), 0);
  const ScheduleCheck figures = check_schedule(dag, base);
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
  search(problem, report);
  report.figures = check_schedule(dag, report.schedule);
  TM_CHECK(!report.figures.fault, "{}", *report.figures.fault);
  TM_CHECK(!command.fixed_order || report.figures.in_order);
  report.fits = !report.budget || report.figures.peak <= *report.budget;
  report.optimal = report.figures.cost <= report.cost_bound * (1 + 1e-12);
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
