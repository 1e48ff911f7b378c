#include "tools/report/dag_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/plan/report/plan_hash.h"
#include "tidemark/solve/at.h"
#include "tools/options/solver_option.h"
#include "tools/report/exact_size.h"
#include "tools/report/print_figures.h"

namespace tidemark::cli {
namespace {

// A node that runs more than once.
struct Repeated {
  int node = 0, repeats = 0;
  double cost = 0;  // of the repeats
};

// Costliest first.
std::vector<Repeated> repeated_nodes(const Dag& dag, const Sequence& schedule) {
  std::vector<int> runs(at(dag.size()), 0);
  for (int node : schedule) ++runs[at(node)];
  std::vector<Repeated> repeated;
  for (int i = 0; i < dag.size(); ++i) {
    if (runs[at(i)] > 1) repeated.push_back({i, runs[at(i)] - 1, (runs[at(i)] - 1) * dag.cost[at(i)]});
  }
  std::stable_sort(repeated.begin(), repeated.end(),
                   [](const Repeated& a, const Repeated& b) { return a.cost > b.cost; });
  return repeated;
}

// The largest of what is in memory at the peak, the step's own values among them.
std::string alive_text(const Dag& dag, const DagReport& report) {
  constexpr std::size_t shown = 4;
  const std::vector<int> alive = alive_at(dag, report.schedule, report.figures.peak_at);
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, alive.size()); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", node_label(dag, alive[i]),
                        to_string(Bytes(dag.bytes[at(alive[i])])));
  }
  return alive.size() > shown ? fmt::format("{}, {} more", text, alive.size() - shown) : text;
}

int peak_node(const DagReport& report) { return report.schedule[at(report.figures.peak_at)]; }

nlohmann::ordered_json peak_json(const Dag& dag, const DagReport& report) {
  constexpr std::size_t shown = 8;
  std::vector<int> nodes = alive_at(dag, report.schedule, report.figures.peak_at);
  const std::size_t count = nodes.size();
  if (nodes.size() > shown) nodes.resize(shown);
  nlohmann::ordered_json alive = nlohmann::ordered_json::array();
  for (int node : nodes) {
    alive.push_back({{"node", node}, {"name", dag.names[at(node)]}, {"bytes", dag.bytes[at(node)]}});
  }
  const int node = peak_node(report);
  return {
      {"node", node}, {"name", dag.names[at(node)]}, {"values_alive", count}, {"largest", std::move(alive)}};
}

}  // namespace

void print_text(const Dag& dag, const DagReport& report) {
  const ScheduleCheck& figures = report.figures;
  fmt::print("graph        {} nodes, {} edges\n", dag.size(), dag.edges.size());
  if (report.budget) {
    fmt::print("budget       {}, {:.2f}% of the file's own order\n", exact_size(*report.budget),
               100 * static_cast<double>(*report.budget) /
                   static_cast<double>(std::max<std::int64_t>(report.base_peak, 1)));
  } else {
    fmt::print("budget       none: the least memory at no extra cost\n");
  }
  fmt::print("peak         {}, at {}\n", exact_size(figures.peak), node_label(dag, peak_node(report)));
  fmt::print("  alive      {}\n", alive_text(dag, report));
  fmt::print("base peak    {} in the file's own order\n", exact_size(report.base_peak));
  fmt::print("memory bound {}: no schedule needs less\n", exact_size(report.memory_bound));
  fmt::print("cost         {:.15g}, {:.15g} with every node once\n", figures.cost, report.base_cost);
  const double overhead = report.overhead_percent(figures.cost),
               bound = report.overhead_percent(report.cost_bound);
  fmt::print("overhead     {:.4f}%\n", overhead);
  fmt::print("lower bound  {:.4f}%: {}\n", bound,
             report.optimal ? "optimal, proved" : fmt::format("a gap of {:.4f} points", overhead - bound));
  if (const std::vector<Repeated> repeated = repeated_nodes(dag, report.schedule); repeated.empty()) {
    fmt::print("recomputed   nothing\n");
  } else {
    constexpr std::size_t shown = 6;
    fmt::print("recomputed   {} runs of {} nodes, by cost:\n", figures.repeats, repeated.size());
    for (std::size_t i = 0; i < std::min(shown, repeated.size()); ++i) {
      const Repeated& r = repeated[i];
      fmt::print("  {:<40} ×{:<3} {:.4f}%\n", node_label(dag, r.node), r.repeats,
                 report.base_cost > 0 ? 100 * r.cost / report.base_cost : 0);
    }
    if (repeated.size() > shown) fmt::print("  {} more\n", repeated.size() - shown);
  }
  fmt::print("seconds      {:.3f}\n", report.seconds);
}

void print_json(const Dag& dag, const DagReport& report) {
  nlohmann::ordered_json json = {
      {"file", report.file},
      {"nodes", dag.size()},
      {"edges", dag.edges.size()},
      {"fixed_order", report.fixed_order},
      {"fits", report.fits},
      {"budget", nullptr},
      {"base_peak", report.base_peak},
      {"base_cost", report.base_cost},
      {"memory_bound", report.memory_bound},
  };
  if (report.budget) json["budget"] = *report.budget;
  if (report.fits) {
    const double overhead = report.overhead_percent(report.figures.cost);
    const double bound = report.overhead_percent(report.cost_bound);
    json["peak"] = report.figures.peak;
    json["plan_hash"] = hash_text(plan_hash(report.schedule));
    json["cost"] = report.figures.cost;
    json["overhead_percent"] = overhead;
    json["lower_bound_percent"] = bound;
    json["gap_percent"] = report.optimal ? 0 : overhead - bound;
    json["optimal"] = report.optimal;
    json["recomputed"] = report.figures.repeats;
    json["peak_at"] = peak_json(dag, report);
  } else {
    json["floor"] = report.figures.peak;
    json["floor_proved"] = report.figures.peak == report.memory_bound;
    json["proved"] = *report.budget < report.memory_bound;
    json["pinned_by"] = peak_json(dag, report);
  }
  json["effort"] = report.effort;
  json["work"] = report.work;
  if (report.budget) json["solvers"] = solvers_json(report.solvers);
  json["seconds"] = report.seconds;
  print_figures(json);
}

void print_verdict(const DagReport& report) {
  const ScheduleCheck& figures = report.figures;
  fmt::print("schedule     {} runs, {} of them again; first runs {} the file's order\n",
             report.schedule.size(), figures.repeats, figures.in_order ? "in" : "not in");
  fmt::print("peak         {}\n", exact_size(figures.peak));
  if (report.budget)
    fmt::print("budget       {}: {}\n", exact_size(*report.budget), report.fits ? "fits" : "does not fit");
  fmt::print("cost         {:.15g}, {:.15g} with every node once\n", figures.cost, report.base_cost);
  fmt::print("overhead     {:.4f}%\n", report.overhead_percent(figures.cost));
}

void print_verdict_json(const DagReport& report) {
  nlohmann::ordered_json json = {{"valid", true},
                                 {"fits", report.fits},
                                 {"budget", nullptr},
                                 {"peak", report.figures.peak},
                                 {"base_peak", report.base_peak},
                                 {"cost", report.figures.cost},
                                 {"base_cost", report.base_cost},
                                 {"overhead_percent", report.overhead_percent(report.figures.cost)},
                                 {"recomputed", report.figures.repeats},
                                 {"in_order", report.figures.in_order}};
  if (report.budget) json["budget"] = *report.budget;
  print_figures(json);
}

std::string misfit_text(const Dag& dag, const DagReport& report) {
  const std::int64_t floor = report.figures.peak;
  const bool proved = floor == report.memory_bound;
  ErrorParts parts;
  parts.where = SourceLine(intern(report.file), 1);
  parts.what = fmt::format("a budget of {} is {} below the {}", exact_size(*report.budget),
                           to_string(Bytes(floor - *report.budget)),
                           proved ? "smallest that fits" : "smallest found to fit");
  parts.notes.push_back(
      fmt::format("smallest: {}{}", exact_size(floor),
                  proved ? ", proved"
                         : fmt::format("; no schedule needs less than {}", exact_size(report.memory_bound))));
  parts.notes.push_back(
      fmt::format("peak: {} with {}", node_label(dag, peak_node(report)), alive_text(dag, report)));
  parts.help = fmt::format("--memory {} fits{}", floor,
                           report.fixed_order ? "; so may less without --fixed-order" : "");
  return Error(ErrorCode::infeasible_budget, parts).what();
}

}  // namespace tidemark::cli
