// How well seconds_of predicts: runs training steps with every step of the plan timed, and holds the least
// time of each against the prediction for this machine.
//   cost_model [--machine FILE] [--rounds N] [--model NAME] [--save FILE] [--threads N]
// Without a file the machine is calibrated first. Errors are factors: 1.25 means a quarter too long or too
// short.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>

#include "bench/support/step_times.h"
#include "tests/support/model_graphs.h"
#include "tidemark/cpu/calibrate.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/passes/pipeline.h"

using namespace tidemark;

namespace {

struct Options {
  std::string machine, save, model;
  int rounds = 40, threads = 0;
};

struct Case {
  std::string name;
  std::function<Graph()> graph;
};

Graph zoo_step(const char* name, std::int64_t batch, std::optional<std::int64_t> context = {}) {
  return nn::find_in_zoo(name)->training_step({.batch = batch, .context = context});
}

std::vector<Case> cases() {
  return {
      {"mlp", [] { return zoo_step("mlp", 64); }},
      {"mlp tanh adam", [] { return models::mlp(6, 32, 256, true); }},
      {"transformer", [] { return zoo_step("transformer", 2); }},
      {"transformer plain", [] { return models::transformer(2, 4, 64, 128, 4); }},
      {"residual", [] { return zoo_step("residual", 4); }},
      {"residual plain", [] { return models::residual(3, 4, 32, 16); }},
      {"convnet", [] { return zoo_step("convnet", 2); }},
      {"gpt", [] { return zoo_step("gpt", 1, 128); }},
  };
}

struct Row {
  std::string op, types;
  WorkKind work;
  double predicted, measured;
  double error() const { return std::abs(std::log(predicted / measured)); }
};

std::string types_text(const Call& call) {
  std::string text;
  for (const Type& type : call.in) text += (text.empty() ? "" : " ") + to_string(type);
  text += " ->";
  for (const Type& type : call.out) text += " " + to_string(type);
  return text;
}

std::vector<Row> run_case(const Case& c, const Machine& machine, CpuDevice& device, int rounds) {
  const Graph graph = prepare_graph(c.graph());
  const Plan plan = make_plan(graph, cpu_target(), {.skip = {"fuse"}});
  const bench::StepTimes times = bench::step_times(graph, plan, device, rounds);
  std::vector<Row> rows;
  double predicted = 0, measured = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Node& node = graph[plan.steps[i].node];
    NodeCall call(graph, node);
    std::vector<Strides> strides;
    for (const Ref& ref : plan.steps[i].in) strides.push_back(ref.strides);
    call.call.in_strides = strides;
    rows.push_back({std::string(node.op->name), types_text(call), cpu_target().cost(call).work,
                    seconds_of(machine, cpu_target(), call), times.seconds[i]});
    predicted += rows.back().predicted;
    measured += rows.back().measured;
  }
  fmt::print("{:<18} {:>6} {:>10.3f} {:>10.3f} {:>10.3f} {:>8.2f}\n", c.name, plan.steps.size(),
             1e3 * predicted, 1e3 * measured, 1e3 * times.whole, predicted / measured);
  return rows;
}

struct Summary {
  int steps = 0;
  double predicted = 0, measured = 0, logs = 0, weighted = 0, within = 0;
  void add(const Row& row) {
    ++steps;
    predicted += row.predicted;
    measured += row.measured;
    logs += row.error();
    weighted += row.measured * row.error();
    if (row.error() <= std::log(2.0)) ++within;
  }
};

void print_summaries(std::string_view title, const std::map<std::string, Summary>& table) {
  std::vector<std::pair<std::string, Summary>> rows(table.begin(), table.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.measured > b.second.measured; });
  fmt::print("\n{:<18} {:>6} {:>10} {:>10} {:>8} {:>8} {:>8} {:>10}\n", title, "steps", "pred ms", "meas ms",
             "ratio", "error", "by time", "within 2x");
  for (const auto& [name, s] : rows) {
    fmt::print("{:<18} {:>6} {:>10.3f} {:>10.3f} {:>8.2f} {:>8.2f} {:>8.2f} {:>9.0f}%\n", name, s.steps,
               1e3 * s.predicted, 1e3 * s.measured, s.predicted / s.measured, std::exp(s.logs / s.steps),
               std::exp(s.weighted / s.measured), 100 * s.within / s.steps);
  }
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--machine") options.machine = value;
    if (name == "--save") options.save = value;
    if (name == "--model") options.model = value;
    if (name == "--threads") options.threads = std::stoi(value);
    if (name == "--rounds") options.rounds = std::stoi(value);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  CpuDevice device(options.threads);
  const Machine machine = options.machine.empty() ? calibrate(device) : load_machine(options.machine);
  if (!options.save.empty()) std::ofstream(options.save) << to_json(machine) << '\n';

  fmt::print("{:<18} {:>6} {:>10} {:>10} {:>10} {:>8}\n", "training step", "steps", "pred ms", "steps ms",
             "whole ms", "ratio");
  std::vector<Row> rows;
  for (const Case& c : cases()) {
    if (!options.model.empty() && options.model != c.name) continue;
    const std::vector<Row> more = run_case(c, machine, device, options.rounds);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  std::map<std::string, Summary> by_work, by_op, all;
  for (const Row& row : rows) {
    by_work[std::string(name_of(row.work))].add(row);
    by_op[row.op].add(row);
    all["all"].add(row);
  }
  print_summaries("work", by_work);
  print_summaries("op", by_op);
  print_summaries("", all);

  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.measured * a.error() > b.measured * b.error(); });
  fmt::print("\nwhere the error costs most\n{:>10} {:>10} {:>7}\n", "pred µs", "meas µs", "ratio");
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 25); ++i) {
    fmt::print("{:>10.1f} {:>10.1f} {:>7.2f}  {} {}\n", 1e6 * rows[i].predicted, 1e6 * rows[i].measured,
               rows[i].predicted / rows[i].measured, rows[i].op, rows[i].types);
  }
}
