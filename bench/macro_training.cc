// Full training steps (loss, gradients, AdamW) of the models of bench/support/training_rows.h. bench/compare_training.py
// runs it next to the same models in PyTorch and JAX.
//
//   macro_training ROW [--threads N] [--steps N] [--budgets 0.5,0.25] [--machine FILE]   time, memory, flops, as JSON
//   macro_training ROW --profile            which kinds of kernels take the time
//   macro_training ROW --serve              rounds on demand: a line with a number of steps in, their times out
//   macro_training --rates                  what the machine gives: products (flop/s) and copies (bytes/s)
//   macro_training --list                   the rows
//
// A budget is a share of the arena that the plan without a budget has, next to all inputs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "bench/support/training_rows.h"
#include "tidemark/plan/frontier.h"

namespace {

using namespace tidemark;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string row;
  int threads = 0, steps = 10;
  std::vector<double> budgets = {};
  std::string machine = "";
  bool serve = false, profile = false, rates = false, list = false;
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

// Plans within shares of the unconstrained plan's arena; with each the time that its search took.
struct Budgeted {
  double share = 0, planning = 0;
  std::int64_t budget = 0;
  std::optional<Plan> plan = {};
  std::int64_t smallest = 0;  // where no plan fits
};
std::vector<Budgeted> within_budgets(const Options& options, const Graph& graph, const Plan& free,
                                     const Machine* machine) {
  std::vector<Budgeted> list;
  for (double share : options.budgets) {
    Budgeted b{.share = share};
    b.budget = free.input_bytes + static_cast<std::int64_t>(share * static_cast<double>(free.arena_bytes));
    const auto start = Clock::now();
    auto result = try_plan(graph, {.memory = b.budget, .machine = machine});
    b.planning = seconds_since(start);
    if (result) {
      b.plan = std::move(result).value();
    } else {
      b.smallest = result.error().smallest.peak();
    }
    list.push_back(std::move(b));
  }
  return list;
}

void train(const Options& options, const bench::TrainingRow& row) {
  std::optional<Machine> machine;
  if (!options.machine.empty()) machine = load_machine(options.machine);
  const Machine* for_machine = machine ? &*machine : nullptr;
  matmul(ones({64, 64}), ones({64, 64}));  // the pool and BLAS take their own before the baseline
  reset_peak();
  const std::int64_t baseline = status_bytes("VmRSS:");

  auto start = Clock::now();
  const tiny::TinyModel model = row.build();
  const double trace = seconds_since(start);
  start = Clock::now();
  Graph graph = prepare_graph(model.step);
  const double optimise = seconds_since(start);
  start = Clock::now();
  Plan free = make_plan(graph, {.machine = for_machine});
  const double planning = seconds_since(start);
  const std::vector<Budgeted> budgets = within_budgets(options, graph, free, for_machine);
  const double flops = bench::product_flops(graph, free);

  Trainer trainer(model, graph, std::move(free));
  trainer.run(2);
  fmt::print(
      "{{\"row\": \"{}\", \"parameters\": {}, \"flops\": {:.0f}, \"state_bytes\": {}, \"planned\": {}, "
      "\"arena\": {}, \"nodes\": {}, \"compile\": {{\"trace\": {:.3f}, \"optimise\": {:.3f}, "
      "\"plan\": {:.3f}}}}}\n",
      row.name, bench::parameter_count(model), flops, trainer.plan().input_bytes, trainer.plan().peak(),
      trainer.plan().arena_bytes, graph.nodes().size(), trace, optimise, planning);
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
  fmt::print("{{\"seconds\": {:.6f}, \"loss\": {:.5f}, \"peak_rss\": {}, \"predicted\": {:.6f}}}\n",
             median(times), trainer.loss(), peak(), trainer.plan().seconds);
  std::fflush(stdout);
  for (const Budgeted& b : budgets) {
    if (!b.plan) {
      fmt::print("{{\"share\": {}, \"budget\": {}, \"smallest\": {}, \"planning\": {:.2f}}}\n", b.share,
                 b.budget, b.smallest, b.planning);
      continue;
    }
    Trainer within(model, graph, *b.plan);
    within.run(1);
    std::vector<double> base, bounded;  // alternating, so that drift of the machine meets both
    for (int i = 0; i < options.steps; ++i) {
      base.push_back(trainer.run(1).front());
      bounded.push_back(within.run(1).front());
    }
    fmt::print(
        "{{\"share\": {}, \"budget\": {}, \"planned\": {}, \"planning\": {:.2f}, \"predicted\": {:.4f}, "
        "\"measured\": {:.4f}, \"seconds\": {:.6f}}}\n",
        b.share, b.budget, b.plan->peak(), b.planning, 1 + b.plan->extra_time(),
        median(bounded) / median(base), median(bounded));
    std::fflush(stdout);
  }
}

// Time by op and type of result, from the executor's own steps.
void profile(const Options& options, const bench::TrainingRow& row) {
  const tiny::TinyModel model = row.build();
  const Graph graph = prepare_graph(model.step);
  const Plan plan = make_plan(graph);
  Arena arena(*default_device(), plan.arena_bytes);
  Executor executor(graph, plan, *default_device(), arena);
  std::vector<Tensor> inputs = model.inputs();
  std::vector<std::byte*> memory;
  for (Tensor& t : inputs) {
    t.storage()->settle();
    memory.push_back(t.storage()->data());
  }
  std::vector<double> seconds(plan.steps.size());
  Clock::time_point last;
  const auto watch = [&](std::size_t step) {
    const auto now = Clock::now();
    seconds[step] += std::chrono::duration<double>(now - last).count();
    last = now;
  };
  executor.run(memory);
  for (int i = 0; i < options.steps; ++i) {
    last = Clock::now();
    executor.run(memory, watch);
  }
  struct Entry {
    double seconds = 0, flops = 0, bytes = 0, predicted = 0;
    int runs = 0;
    void add(double s, const Cost& cost, double forecast) {
      seconds += s, flops += cost.flops, bytes += cost.bytes, predicted += forecast, ++runs;
    }
  };
  std::map<std::string, Entry> by_op, by_call;
  double total = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const Node& node = graph[step.node];
    NodeCall call(graph, node);
    const std::vector<RegionFacts> facts = region_facts(plan, step.node);
    call.call.planned = facts;
    const Cost cost = cost_of(call);
    const double s = seconds[i] / options.steps, forecast = seconds_of(reference_machine(), call);
    std::string types;
    for (const Ref& ref : step.in) types += (types.empty() ? "" : ", ") + to_string(graph.type(ref.value));
    types += " -> " + to_string(graph.type(step.out[0].value));
    by_op[std::string(node.op->name)].add(s, cost, forecast);
    by_call[fmt::format("{} {}", node.op->name, types)].add(s, cost, forecast);
    total += s;
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
  fmt::print("{} ({}): {:.2f} ms in {} steps\n", row.name, row.about, 1e3 * total, plan.steps.size());
  fmt::print("{:>7} {:>10} {:>6} {:>9} {:>8} {:>9}  {}\n", "share", "ms", "runs", "Gflop/s", "GB/s",
             "predicted", "op");
  show(by_op, 14);
  fmt::print("\n");
  show(by_call, 24);
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
    } else if (word == "--budgets") {
      std::istringstream shares(value());
      for (std::string share; std::getline(shares, share, ',');) options.budgets.push_back(std::stod(share));
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
               "usage: macro_training ROW [--threads N] [--steps N] [--budgets SHARES] [--machine FILE]"
               " [--serve | --profile]; --list; --rates\n");
    return 2;
  }
  if (options.profile) {
    profile(options, *row);
  } else {
    train(options, *row);
  }
}
