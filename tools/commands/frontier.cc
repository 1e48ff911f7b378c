#include "tools/commands/frontier.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "tidemark/base/bytes.h"
#include "tidemark/base/stopwatch.h"
#include "tools/commands/frontier_command.h"
#include "tools/exit_code.h"
#include "tools/help/manual.h"
#include "tools/options/choice_option.h"
#include "tools/options/number_option.h"
#include "tools/report/frontier_svg.h"
#include "tools/report/print_figures.h"
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

void print_text(const std::vector<Frontier>& frontiers) {
  for (std::size_t i = 0; i < frontiers.size(); ++i) {
    if (frontiers.size() > 1) fmt::print("{}{}\n", i > 0 ? "\n" : "", frontiers[i].name());
    print_text(frontiers[i]);
  }
}

using Json = nlohmann::ordered_json;

// What a curve says of itself: with --allow the choices, with --tier the memories.
Json curve_json(const Frontier& frontier, bool has_tiers) {
  Json points = Json::array();
  for (const FrontierPoint& p : frontier.points) {
    points.push_back({{"budget", p.budget},
                      {"peak", p.peak},
                      {frontier.unit == "s" ? "predicted_seconds" : "cost", p.time},
                      {"overhead_percent", frontier.percent(p.time)},
                      {"lower_bound_percent", frontier.percent(p.bound)},
                      {"recomputed", p.recomputed}});
  }
  Json json = Json::object();
  if (frontier.allow.named()) {
    json["allow"] = Json::array();
    for (const Choice choice : all_choices)
      if (choice != Choice::keep && frontier.allow.has(choice)) json["allow"].push_back(name_of(choice));
  }
  if (has_tiers) {
    json["tiers"] = Json::object();
    for (const TierBudget& tier : frontier.tiers) json["tiers"][tier.memory] = tier.bytes;
  }
  json["floor"] = frontier.points.front().peak;
  json["points"] = std::move(points);
  return json;
}

void print_json(const FrontierCommand& command, const std::vector<Frontier>& frontiers, double seconds) {
  const bool has_tiers = !command.tiers.empty();
  Json json = {{"model", command.model.model}};
  if (frontiers.size() == 1) {
    json.update(curve_json(frontiers[0], has_tiers));
  } else {
    json["curves"] = Json::array();
    for (const Frontier& frontier : frontiers) json["curves"].push_back(curve_json(frontier, has_tiers));
  }
  json["seconds"] = seconds;
  print_figures(json);
}

void draw(const FrontierCommand& command, const std::vector<Frontier>& frontiers) {
  std::vector<PlotCurve> curves;
  for (const Frontier& frontier : frontiers) {
    PlotCurve& curve = curves.emplace_back();
    curve.name = frontiers.size() > 1 || frontier.allow.named() ? frontier.name() : "plans";
    for (const FrontierPoint& p : frontier.points)
      curve.points.push_back({p.budget, frontier.percent(p.time), frontier.percent(p.bound)});
  }
  const auto slash = command.model.model.rfind('/');
  const std::string name =
      slash == std::string::npos ? command.model.model : command.model.model.substr(slash + 1);
  write_text(command.svg, frontier_svg(name, curves));
}

void run(const CLI::App& app, const FrontierCommand& command) {
  const Stopwatch watch;
  const ModelKind kind = command.model.kind();
  if (kind == ModelKind::dag_file)
    refuse_options(app,
                   {"--batch", "--context", "--width", "--layers", "--dtype", "--optimizer", "--machine",
                    "--tier", "--lossy", "--split", "--allow", "--device"},
                   "a graph of costs and bytes");
  if (kind == ModelKind::graph_file)
    refuse_options(
        app, {"--batch", "--context", "--width", "--layers", "--dtype", "--optimizer", "--lossy", "--split"},
        "a graph in a file");
  for (const Choices& allow : command.allow)
    check_means(
        allow,
        {.host = names_host(command.tiers), .disk = names_disk(command.tiers), .split = command.split});
  const std::vector<Frontier> frontiers =
      kind == ModelKind::dag_file ? std::vector{frontier_of_dag(command)} : frontiers_of_graph(command);
  const double seconds = watch.seconds();
  if (!command.svg.empty()) draw(command, frontiers);
  if (command.json) {
    print_json(command, frontiers, seconds);
  } else {
    print_text(frontiers);
  }
}

}  // namespace

std::string Frontier::name() const {
  if (allow.named()) return to_string(allow);
  if (tiers.empty()) return "memory alone";
  std::string text = "with";
  for (const TierBudget& tier : tiers)
    text += fmt::format(" {} {}", to_string(Bytes(tier.bytes)), tier.memory);
  return text;
}

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
  add_count_option(*frontier, "--points", command->points, {2, 1000}, "budgets to plan for")
      ->default_str("16");
  frontier->add_flag("--fixed-order", command->fixed_order, "first runs stay in the given order");
  add_effort_option(*frontier, command->effort);
  add_text_option(*frontier, "--machine", command->machine,
                  "plan for the machine that `tidemark machine` wrote to this file")
      ->type_name("FILE")
      ->default_str("a reference machine");
  add_device_option(*frontier, command->device,
                    "plan for this device; a GPU need not be there: an H200, unless --machine names another");
  add_tier_option(*frontier, command->tiers);
  add_lossy_option(*frontier, command->lossy);
  frontier
      ->add_option_function<std::string>(
          "--split",
          [command](const std::string& text) {
            if (text != "automatic") {
              fail(ErrorCode::bad_plan_option,
                   {.what = fmt::format("--split {}", text.substr(0, 60)),
                    .expected = "automatic: at each budget as many micro-batches as are fastest"});
            }
            command->split = true;
          },
          "automatic: in micro-batches where that is faster; built-in models only")
      ->type_name("automatic")
      ->default_str("the batch as a whole");
  frontier
      ->add_option_function<std::vector<std::string>>(
          "--allow",
          [command](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) command->allow.push_back(parse_choices(text));
          },
          "what plans may do to stay within a budget, separated by commas; given more than once, a curve for "
          "each")
      ->allow_extra_args(false)
      ->type_name(choices_type())
      ->default_str("all that the other options provide for");
  add_text_option(*frontier, "--svg", command->svg, "draw the points to this file")
      ->type_name("FILE")
      ->default_str("none");
  frontier->add_flag("--json", command->json, "the points as JSON");
  describe(*frontier, {.about = "Plans a model for several budgets, from the smallest that fits to what "
                                "takes no extra time, and shows "
                                "what each costs beside a lower bound.",
                       .examples = {{"tidemark frontier gpt --points 8", "eight budgets"},
                                    {"tidemark frontier gpt --allow recompute --allow recompute,disk --tier "
                                     "disk=20GiB --svg choices.svg",
                                     "two sets of choices as curves in one picture"}},
                       .exits = {exit_ok, exit_failure, exit_usage, exit_infeasible, exit_bad_input}});
  frontier->callback([frontier, command, &exit_code] {
    run(*frontier, *command);
    exit_code = exit_ok;
  });
}

}  // namespace tidemark::cli
