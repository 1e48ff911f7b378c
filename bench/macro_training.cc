// Full training steps (loss, gradients, AdamW) of the models of bench/support/training_rows.h.
// bench/compare_training.py runs it next to the same models in PyTorch and JAX.
//
//   macro_training ROW [--threads N] [--steps N] [--memory N] [--machine FILE]   time, memory, flops, as JSON
//   macro_training ROW --shares 0.5,0.25    beside that, plans with these shares of the activations' memory
//   macro_training ROW --wait               plans first and runs when a line comes in, on a machine made
//                                           quiet meanwhile
//   macro_training ROW --plan               the plan's summary; nothing runs
//   macro_training ROW --profile            which kinds of kernels take the time
//   macro_training ROW --serve              rounds on demand: a line with a number of steps in, their times
//                                           out
//   macro_training --rates                  what the machine gives: products (flop/s) and copies (bytes/s)
//   macro_training --list                   the rows
//
// --memory is a budget for the plan that runs: bytes, or with a unit (800MiB). A share of the activations'
// memory is a budget too: what the plan without one needs, less the rest of what it keeps for the backward
// pass (activations.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "bench/support/activations.h"
#include "bench/support/step_times.h"
#include "bench/support/training_rows.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/program.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/costs.h"
#include "tidemark/plan/report/frontier.h"
#include "tidemark/trace/storage.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

using namespace tidemark;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string row;
  int threads = 0, steps = 10;
  std::optional<std::int64_t> memory = {};
  std::vector<double> shares = {};
  std::string machine = "";
  bool serve = false, wait = false, plan = false, profile = false, rates = false, list = false;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A line of /proc/self/status, in bytes.
std::int64_t status_bytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}
void reset_peak() { std::ofstream("/proc/self/clear_refs") << 5; }
// What the planner freed goes back to the system, as it would in a process that goes on for hours.
void give_back_freed() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

std::string list_of(const std::vector<double>& values) {
  std::string text;
  for (double v : values) text += fmt::format("{}{:.6f}", text.empty() ? "" : ", ", v);
  return "[" + text + "]";
}

// One program with a state of its own, trained on and on.
class Trainer {
 public:
  Trainer(const tiny::TinyModel& model, Graph graph, Plan plan)
      : state_(model.state),
        inputs_(model.inputs()),
        program_(std::move(graph), std::move(plan), std::make_shared<Workspace>(default_device())) {
    program_.reserve();
  }
  std::vector<double> run(int steps) {
    std::vector<double> times;
    for (int i = 0; i < steps; ++i) {
      const auto start = Clock::now();
      const std::vector<Tensor> outputs = program_.run(inputs_, {});
      loss_ = outputs.back().item();
      std::copy_n(outputs.begin(), state_, inputs_.begin());
      times.push_back(seconds_since(start));
    }
    return times;
  }
  double loss() const { return loss_; }
  const Plan& plan() const { return program_.plan(); }
  const Graph& graph() const { return program_.graph(); }
  std::vector<Tensor> inputs() const { return inputs_; }

 private:
  std::size_t state_;
  std::vector<Tensor> inputs_;
  Program program_;
  double loss_ = 0;
};

struct Planned {
  Graph graph;
  Plan plan;
};
// A plan for a share of the activations' memory; where none fits, for the least that does.
struct Budgeted {
  double share = 0, planning = 0;
  std::int64_t budget = 0;
  bool fits = false;
  Planned planned = {};
};
Budgeted within_share(double share, const Graph& step, const Planned& free, const Machine* machine) {
  Budgeted b{.share = share};
  const double dropped = (1 - share) * static_cast<double>(bench::activation_bytes(free.graph, free.plan));
  b.budget = free.plan.peak() - static_cast<std::int64_t>(dropped);
  const auto start = Clock::now();
  PlanOptions options{.memory = b.budget, .machine = machine};
  PlanWithLoops found = plan_with_loops(step, {}, options);
  b.fits = static_cast<bool>(found.plan);
  b.planned = {std::move(found.graph), b.fits ? std::move(found.plan).value() : found.plan.error().smallest};
  if (!b.fits) {
    // The lowest is looked for whatever it costs; within it, time counts again.
    options.memory = b.planned.plan.peak();
    PlanWithLoops least = plan_with_loops(step, {}, options);
    if (least.plan && least.plan.value().seconds < b.planned.plan.seconds)
      b.planned = {std::move(least.graph), std::move(least.plan).value()};
  }
  b.planning = seconds_since(start);
  return b;
}

// What the plan runs again, and what that would take if every run were a kernel of its own.
std::string repeats_text(const Graph& graph, const Plan& plan, const Machine& machine) {
  struct Sum {
    int runs = 0;
    double seconds = 0;
  };
  std::map<std::string_view, Sum> by_op;
  std::vector<bool> ran(graph.nodes().size(), false);
  for (const Step& step : plan.steps) {
    NodeCall call(graph, graph[step.node]);
    const std::vector<RegionFacts> facts = region_facts(plan, step.node);
    call.call.planned = facts;
    if (ran[step.node.index]) {
      Sum& sum = by_op[graph[step.node].op->name];
      ++sum.runs, sum.seconds += seconds_of(machine, cpu_target(), call);
    }
    ran[step.node.index] = true;
  }
  std::string text;
  for (const auto& [op, sum] : by_op)
    text += fmt::format("{:<18}{} x {}, {:.2f} ms\n", text.empty() ? "run again" : "", sum.runs, op,
                        1e3 * sum.seconds);
  return text;
}

// The planner, the pool and the kernels take their own before the baseline, as the peers' do.
void warm_up() {
  const tiny::TinyModel small = tiny::mlp();
  const Graph graph = prepare_graph(small.step);
  const Plan free = make_plan(graph, cpu_target());
  Trainer(small, graph, make_plan(graph, cpu_target(), {.memory = free.peak()})).run(1);
  matmul(ones({64, 64}), ones({64, 64}));
}

void train(const Options& options, const bench::TrainingRow& row) {
  std::optional<Machine> machine;
  if (!options.machine.empty()) machine = load_machine(options.machine);
  const Machine* for_machine = machine ? &*machine : nullptr;
  warm_up();
  reset_peak();
  const std::int64_t baseline = status_bytes("VmRSS:");

  auto start = Clock::now();
  tiny::TinyModel model = row.build();
  const double trace = seconds_since(start);
  start = Clock::now();
  Planned free{.graph = prepare_graph(model.step), .plan = {}};
  const double optimise = seconds_since(start);
  start = Clock::now();
  free.plan = make_plan(free.graph, cpu_target(), {.machine = for_machine});
  const double free_seconds = free.plan.seconds;
  std::optional<Planned> within;
  if (options.memory) {
    auto [graph, plan, loops] =
        plan_with_loops(model.step, {}, {.memory = options.memory, .machine = for_machine});
    if (!plan) throw InfeasibleBudget(graph, plan.error());
    within = {std::move(graph), std::move(plan).value()};
  }
  const double planning = seconds_since(start);
  if (options.plan) {
    const auto& [graph, plan] = within ? *within : free;
    fmt::print("{}{}{:<18}{} (without a budget {})\n", summary(graph, plan),
               repeats_text(graph, plan, machine ? *machine : reference_machine()), "activations",
               to_string(Bytes(bench::activation_bytes(graph, plan))),
               to_string(Bytes(bench::activation_bytes(free.graph, free.plan))));
    return;
  }
  std::vector<Budgeted> budgets;
  for (double share : options.shares) budgets.push_back(within_share(share, model.step, free, for_machine));
  const double flops = bench::product_flops(free.graph, free.plan);
  const std::int64_t parameters = bench::parameter_count(model);
  model.step = Graph();  // what runs holds one graph and one plan
  if (within) free = std::move(*within);
  within.reset();
  if (std::string line; options.wait) std::getline(std::cin, line);

  Trainer trainer(model, std::move(free.graph), std::move(free.plan));
  give_back_freed();
  trainer.run(2);
  const Graph& graph = trainer.graph();
  const Plan& plan = trainer.plan();
  fmt::print(
      "{{\"row\": \"{}\", \"parameters\": {}, \"flops\": {:.0f}, \"state_bytes\": {}, \"planned\": {}, "
      "\"activations\": {}, \"nodes\": {}, \"predicted\": {:.6f}, \"predicted_slow_down\": {:.4f}, "
      "\"compile\": {{\"trace\": {:.3f}, \"optimise\": {:.3f}, \"plan\": {:.3f}}}}}\n",
      row.name, parameters, flops, plan.input_bytes, plan.peak(), bench::activation_bytes(graph, plan),
      graph.nodes().size(), plan.seconds, plan.seconds / free_seconds, trace, optimise, planning);
  std::fflush(stdout);

  const auto peak = [&] { return status_bytes("VmHWM:") - baseline; };
  if (options.serve) {
    for (std::string line; std::getline(std::cin, line);) {
      const std::vector<double> times = trainer.run(std::stoi(line));
      fmt::print("{{\"times\": {}, \"loss\": {:.5f}, \"peak_rss\": {}}}\n", list_of(times), trainer.loss(),
                 peak());
      std::fflush(stdout);
    }
    return;
  }
  std::vector<double> times = trainer.run(options.steps);
  fmt::print("{{\"seconds\": {:.6f}, \"least\": {:.6f}, \"loss\": {:.5f}, \"peak_rss\": {}}}\n",
             median(times), *std::ranges::min_element(times), trainer.loss(), peak());
  std::fflush(stdout);
  for (const Budgeted& b : budgets) {
    Trainer bound(model, b.planned.graph, b.planned.plan);
    bound.run(1);
    std::vector<double> base, bounded;  // alternating, so that drift of the machine meets both
    for (int i = 0; i < options.steps; ++i) {
      base.push_back(trainer.run(1).front());
      bounded.push_back(bound.run(1).front());
    }
    fmt::print(
        "{{\"share\": {}, \"budget\": {}, \"fits\": {}, \"planned\": {}, \"activations\": {}, "
        "\"planning\": {:.2f}, \"predicted\": {:.4f}, \"measured\": {:.4f}, \"seconds\": {:.6f}}}\n",
        b.share, b.budget, b.fits, b.planned.plan.peak(),
        bench::activation_bytes(b.planned.graph, b.planned.plan), b.planning,
        b.planned.plan.seconds / plan.seconds,
        *std::ranges::min_element(bounded) / *std::ranges::min_element(base), median(bounded));
    std::fflush(stdout);
  }
}

// The ops of a kernel, in order; of a group each once.
std::string ops_text(const Graph& graph, const Plan& plan, const KernelCost& kernel) {
  std::vector<std::string_view> ops;
  for (std::size_t t = kernel.first; t < kernel.last; ++t) {
    const std::string_view op = graph[plan.steps[t].node].op->name;
    if (std::ranges::count(ops, op) == 0) ops.push_back(op);
  }
  return fmt::format("{}{}", kernel.last - kernel.first > 1 ? "group: " : "", fmt::join(ops, " "));
}

// Time by kind of kernel, and by kind and types, from the executor's own steps.
void profile(const Options& options, const bench::TrainingRow& row) {
  const tiny::TinyModel model = row.build();
  const Graph graph = prepare_graph(model.step);
  const std::optional<Machine> machine =
      options.machine.empty() ? std::nullopt : std::optional(load_machine(options.machine));
  const Machine& predicting = machine ? *machine : reference_machine();
  const Plan plan = make_plan(graph, cpu_target(), {.memory = options.memory, .machine = &predicting});
  std::vector<Tensor> inputs = model.inputs();
  std::vector<std::byte*> memory;
  for (Tensor& t : inputs) {
    t.storage()->materialize();
    memory.push_back(t.storage()->data());
  }
  const bench::StepTimes times = bench::step_times(graph, plan, *default_device(), options.steps, memory);
  struct Entry {
    double seconds = 0, flops = 0, bytes = 0, predicted = 0;
    int runs = 0;
    void add(double s, const KernelCost& cost) {
      seconds += s, flops += cost.flops, bytes += cost.bytes, predicted += cost.seconds, ++runs;
    }
  };
  std::map<std::string, Entry> by_op, by_call;
  double total = 0;
  for (const KernelCost& kernel : kernel_costs(graph, plan, cpu_target(), predicting)) {
    const double seconds = times.seconds[kernel.first];
    const std::string ops = ops_text(graph, plan, kernel);
    std::string types;
    const Step& step = plan.steps[kernel.first];
    for (const Ref& ref : step.in) types += (types.empty() ? "" : ", ") + to_string(graph.type(ref.value));
    types += " -> " + to_string(graph.type(plan.steps[kernel.last - 1].out[0].value));
    by_op[ops].add(seconds, kernel);
    by_call[fmt::format("{} {}", ops, types)].add(seconds, kernel);
    total += seconds;
  }
  const auto show = [&](const std::map<std::string, Entry>& entries, std::size_t most) {
    std::vector<std::pair<std::string, Entry>> sorted(entries.begin(), entries.end());
    std::ranges::sort(sorted,
                      [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    if (sorted.size() > most) sorted.resize(most);
    for (const auto& [name, e] : sorted) {
      fmt::print("{:>6.1f}% {:>10.3f} {:>6} {:>9.1f} {:>8.1f} {:>9.2f}  {}\n", 100 * e.seconds / total,
                 1e3 * e.seconds, e.runs, e.flops / e.seconds * 1e-9, e.bytes / e.seconds * 1e-9,
                 e.predicted / e.seconds, name.size() > 120 ? name.substr(0, 117) + "..." : name);
    }
  };
  fmt::print("{} ({}): {:.2f} ms in {} kernels of {} steps, predicted {:.2f} ms\n", row.name, row.about,
             1e3 * total, kernel_count(plan), plan.steps.size(), 1e3 * plan.seconds);
  fmt::print("{:>7} {:>10} {:>6} {:>9} {:>8} {:>9}  {}\n", "share", "ms", "runs", "Gflop/s", "GB/s",
             "predicted", "op");
  show(by_op, 24);
  fmt::print("\n");
  show(by_call, 30);
  fmt::print("\n");
}

void rates(const Options& options) {
  const auto best_of = [](int tries, const auto& f) {
    double best = 1e9;
    for (int i = 0; i < tries; ++i) {
      const auto start = Clock::now();
      f();
      best = std::min(best, seconds_since(start));
    }
    return best;
  };
  const Tensor a = random_normal(key(1), {2048, 2048}), b = random_normal(key(2), {2048, 2048});
  const auto product = compile([](Tensor x, Tensor y) { return matmul(x, y); });
  product(a, b);
  const double seconds = best_of(8, [&] { product(a, b); });
  const std::size_t bytes = 256 << 20, piece = 1 << 20;
  std::vector<char> from(bytes, 1), to(bytes, 2);
  ThreadPool pool(options.threads);
  const double copy = best_of(8, [&] {
    parallel_for(pool, static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(piece),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
                 });
  });
  fmt::print("{{\"product\": {:.0f}, \"copy\": {:.0f}}}\n", 2.0 * 2048 * 2048 * 2048 / seconds,
             2.0 * static_cast<double>(bytes) / copy);
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (word == "--threads") {
      options.threads = std::atoi(value());
    } else if (word == "--steps") {
      options.steps = std::max(1, std::atoi(value()));
    } else if (word == "--machine") {
      options.machine = value();
    } else if (word == "--memory") {
      options.memory = parse_bytes(value()).count;
    } else if (word == "--shares") {
      std::istringstream shares(value());
      for (std::string share; std::getline(shares, share, ',');) options.shares.push_back(std::stod(share));
    } else if (word == "--wait") {
      options.wait = true;
    } else if (word == "--plan") {
      options.plan = true;
    } else if (word == "--serve") {
      options.serve = true;
    } else if (word == "--profile") {
      options.profile = true;
    } else if (word == "--rates") {
      options.rates = true;
    } else if (word == "--list") {
      options.list = true;
    } else if (word.starts_with("-")) {
      return false;
    } else {
      options.row = word;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::vector<bench::TrainingRow> rows = bench::training_rows();
  const bool understood = parse(argc, argv, options);
  if (understood && options.list) {
    for (const bench::TrainingRow& row : rows) fmt::print("{:<10} {}\n", row.name, row.about);
    return 0;
  }
  set_threads(options.threads);
  if (understood && options.rates) {
    rates(options);
    return 0;
  }
  const auto row = std::ranges::find(rows, options.row, &bench::TrainingRow::name);
  if (!understood || row == rows.end()) {
    fmt::print(stderr,
               "usage: macro_training ROW [--threads N] [--steps N] [--memory N] [--shares LIST]"
               " [--machine FILE] [--serve | --wait | --plan | --profile]; --list; --rates\n");
    return 2;
  }
  if (options.profile) {
    profile(options, *row);
  } else {
    train(options, *row);
  }
}
