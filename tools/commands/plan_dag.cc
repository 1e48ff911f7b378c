#include <fmt/format.h>

#include <cstdio>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/base/stopwatch.h"
#include "tools/commands/plan_command.h"
#include "tools/report/dag_report.h"
#include "tools/report/dag_search.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

// What the file itself says: its order, every node once.
DagReport base_report(const Dag& dag, const PlanCommand& command) {
  const ScheduleCheck figures = check_schedule(dag, own_order(dag));
  TM_CHECK(!figures.fault, "{}", *figures.fault);
  DagReport report{.file = command.model.model, .fixed_order = command.fixed_order};
  report.base_peak = figures.peak;
  report.base_cost = figures.cost;
  if (command.memory) report.budget = command.memory->bytes(figures.peak);
  report.effort = command.effort.text;
  return report;
}

// Judges a schedule that someone else may have made.
ExitCode judge(const Dag& dag, const PlanCommand& command, DagReport report) {
  report.schedule = schedule_from_text(read_text(command.check, "a schedule"), command.check);
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
  const Stopwatch watch;
  const Dag dag = read_dag(command.model.model);
  DagReport report = base_report(dag, command);
  if (!command.check.empty()) return judge(dag, command, std::move(report));

  RematProblem problem = problem_of(dag);
  problem.fixed_order = command.fixed_order;
  if (report.budget) problem.budget = *report.budget;
  const Sequence base = own_order(dag);
  RematResult found =
      report.budget ? cheapest_schedule(problem, base, command.effort.value, {}, command.solvers.choice())
                    : least_memory(problem, base, command.effort.value);
  report.schedule = std::move(found.sequence);
  report.cost_bound = found.time_bound;
  report.memory_bound = found.memory_bound;
  report.work = found.work_units;
  report.solvers = std::move(found.solvers);

  // The search's own figures are not taken on trust.
  report.figures = check_schedule(dag, report.schedule);
  TM_CHECK(!report.figures.fault, "{}", *report.figures.fault);
  TM_CHECK(!command.fixed_order || report.figures.in_order);
  report.fits = !report.budget || report.figures.peak <= *report.budget;
  report.optimal = report.fits && report.figures.cost <= report.cost_bound * (1 + 1e-9);
  report.seconds = watch.seconds();

  if (report.fits && !command.schedule.empty()) write_text(command.schedule, schedule_text(report.schedule));
  if (command.json) {
    print_json(dag, report);
  } else if (report.fits) {
    print_text(dag, report);
    if (command.passes) print_solvers(report.solvers);
  }
  flush_output();
  if (!report.fits) fmt::print(stderr, "{}\n", misfit_text(dag, report));
  return report.fits ? exit_ok : exit_infeasible;
}

}  // namespace tidemark::cli
