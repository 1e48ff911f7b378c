#include "tools/commands/frontier.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "tidemark/base/bytes.h"
#include "tidemark/base/stopwatch.h"
#include "tools/commands/frontier_command.h"
#include "tools/exit_code.h"
#include "tools/options/number_option.h"
#include "tools/report/frontier_svg.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

void print_text(const Frontier& frontier) {
  fmt::print("{:>14} {:>14} {:>14} {:>10} {:>10} {:>11}\n", "budget", "peak",
             frontier.unit == "s" ? "seconds" : frontier.unit, "extra", "at least", "recomputed");
  for (const FrontierPoint& p : frontier.points) {
    fmt::print("{:>14} {:>14} {:>14.6g} {:>9.3f}% {:>9.3f}% {:>11}\n", to_string(Bytes(p.budget)),
               to_string(Bytes(p.peak)), p.time, frontier.percent(p.time), frontier.percent(p.bound),
               p.recomputed);
  }
}

void print_json(const FrontierCommand& command, const Frontier& frontier, double seconds) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const FrontierPoint& p : frontier.points) {
    points.push_back({{"budget", p.budget},
                      {"peak", p.peak},
                      {frontier.unit == "s" ? "predicted_seconds" : "cost", p.time},
                      {"overhead_percent", frontier.percent(p.time)},
                      {"lower_bound_percent", frontier.percent(p.bound)},
                      {"recomputed", p.recomputed}});
  }
  const nlohmann::ordered_json json = {{"model", command.model.model},
                                       {"floor", frontier.points.front().peak},
                                       {"points", std::move(points)},
                                       {"seconds", seconds}};
  fmt::print("{}\n", json.dump(2));
}

void draw(const FrontierCommand& command, const Frontier& frontier) {
  std::vector<PlotPoint> points;
  for (const FrontierPoint& p : frontier.points)
    points.push_back({p.budget, frontier.percent(p.time), frontier.percent(p.bound)});
  const auto slash = command.model.model.rfind('/');
  const std::string name =
      slash == std::string::npos ? command.model.model : command.model.model.substr(slash + 1);
  write_text(command.svg, frontier_svg(name, points));
}

void run(const CLI::App& app, const FrontierCommand& command) {
  const Stopwatch watch;
  const ModelKind kind = command.model.kind();
  if (kind == ModelKind::dag_file)
    refuse_options(app, {"--batch", "--context", "--dtype", "--optimizer", "--machine"},
                   "a graph of costs and bytes");
  if (kind == ModelKind::graph_file)
    refuse_options(app, {"--batch", "--context", "--dtype", "--optimizer"}, "a graph in a file");
  const Frontier frontier =
      kind == ModelKind::dag_file ? frontier_of_dag(command) : frontier_of_graph(command);
  const double seconds = watch.seconds();
  if (!command.svg.empty()) draw(command, frontier);
  if (command.json) {
    print_json(command, frontier, seconds);
  } else {
    print_text(frontier);
  }
}

}  // namespace

void tighten_bounds(std::vector<FrontierPoint>& points) {
  for (std::size_t i = points.size(); i-- > 1;)
    points[i - 1].bound = std::max(points[i - 1].bound, points[i].bound);
  for (FrontierPoint& p : points) p.bound = std::min(p.bound, p.time);
}

void add_frontier(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<FrontierCommand>();
  CLI::App* frontier =
      app.add_subcommand("frontier", "time against memory, from the least memory to no extra time");
  add_model_options(*frontier, command->model);
  add_count_option(*frontier, "--points", command->points, {2, 1000}, "budgets to plan for; 16 if not given");
  frontier->add_flag("--fixed-order", command->fixed_order, "first runs stay in the given order");
  add_effort_option(*frontier, command->effort);
  add_text_option(*frontier, "--machine", command->machine,
                  "plan for the machine that `tidemark machine` wrote to this file");
  add_text_option(*frontier, "--svg", command->svg, "write a plot to this file");
  frontier->add_flag("--json", command->json, "the points as JSON");
  frontier->callback([frontier, command, &exit_code] {
    run(*frontier, *command);
    exit_code = exit_ok;
  });
}

}  // namespace tidemark::cli
