// A training step of a model of the zoo on a GPU, at several budgets: time and memory, planned and measured.
//
// usage: gpu_training MODEL [--batch N] [--context N] [--dtype bf16] [--budgets 100,50,25] [--steps N]
//                     [--mib 12000,9000] [--host MIB] [--effort F] [--masters] [--labels N]
//                     [--fp8] [--profile] [--predict] [--bits]
//
// Budgets are shares of the peak without one, in percent, then numbers of MiB; peaks are the plan's, which
// hold parameters, moments and data too. With --host, budgets are tried without and with so much of the
// host's memory for values to wait in. With --fp8, large products of bf16 are computed from codes of 8 bits.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <utility>

#include "tidemark/cuda/device.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/cuda/target.h"
#include "tidemark/engine/program.h"
#include "tidemark/nn/models.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/plan/costs.h"
#include "tidemark/plan/makespan.h"
#include "tidemark/runtime/executor.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark::bench {
namespace {

struct Options {
  std::string model = "gpt2", dtype = "bf16";
  std::int64_t batch = 0, context = 0;
  std::vector<int> budgets = {100};
  std::vector<std::int64_t> mib = {};
  std::int64_t host_mib = 0;
  double effort = 1;
  int steps = 20;
  bool profile = false, masters = false, predict = false, bits = false, fp8 = false;
  std::uint32_t labels = 0;  // whole numbers are below it; 0: as the model has them
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Inputs small enough that nothing overflows; whole numbers are labels, tokens and keys.
std::vector<std::byte> data_of(const Type& type, std::uint32_t labels) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(type.bytes()));
  std::uint32_t state = 12345;
  const auto draw = [&] { return state = state * 1664525u + 1013904223u; };
  const std::size_t size = static_cast<std::size_t>(size_of(type.dtype));
  for (std::size_t i = 0; i + size <= bytes.size(); i += size) {
    const std::uint32_t number = draw() >> 8;
    if (type.dtype == DType::f32) {
      const float x = 0.02f * (static_cast<float>(number) / 8388608.0f - 1);
      std::memcpy(&bytes[i], &x, 4);
    } else if (type.dtype == DType::bf16) {
      const BFloat16 x(0.02f * (static_cast<float>(number) / 8388608.0f - 1));
      std::memcpy(&bytes[i], &x, 2);
    } else if (type.dtype == DType::i32) {
      const std::int32_t x = static_cast<std::int32_t>(number % labels);
      std::memcpy(&bytes[i], &x, 4);
    }
  }
  return bytes;
}

void report_routes(const Graph& graph, const Plan& plan) {
  std::map<std::string, int> counts;
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute) {
      ++counts["copy"];
      continue;
    }
    const StepCall call(graph, plan, step);
    const cuda::Route route = cuda::route_of(call);
    ++counts[route == cuda::Route::generated
                 ? std::string(step.group >= 0 ? "kernel, grouped" : "kernel")
                 : fmt::format("{} {}", cuda::name_of(route), static_cast<const Call&>(call).op->name)];
  }
  for (const auto& [name, count] : counts) fmt::print("  {:>6} {}\n", count, name);
}

// A command for people: what it computes, its largest operand, the bytes that it moves.
struct Described {
  std::string text;
  double bytes = 0;
  std::size_t last_step = 0;  // one past its last step of the plan
};
Described described(const Command& command) {
  Described d{.text = "copy", .last_step = command.last_step};
  if (command.kind != StepKind::compute) return d;
  for (const auto* list : {&command.in, &command.out}) {
    for (const CommandOperand& operand : *list) d.bytes += static_cast<double>(operand.type.bytes());
  }
  std::string ops;
  for (std::size_t s = 0; s < command.steps.size() && s < 8; ++s)
    ops += fmt::format("{}{}", s == 0 ? "" : " ", command.steps[s].call.op->name);
  const std::string route =
      command.is_group ? "group" : std::string(cuda::name_of(cuda::route_of(command.steps[0].call)));
  d.text = fmt::format("{} {} {}", route, ops, command.out.empty() ? "" : to_string(command.out[0].type));
  return d;
}

// Every command by itself, several times: the time it takes, the one predicted, and the rate of its bytes.
void profile(std::span<const Address> inputs, const Graph& graph, const Plan& plan, const Target& target,
             Device& device, const Arena& arena, const Arena& host) {
  constexpr int rounds = 10;
  const VerifiedPlan good = verified(graph, plan, target);
  std::vector<Described> commands;
  {
    CommandStream stream(graph, good);
    while (const Command* command = stream.next()) commands.push_back(described(*command));
  }
  CommandStream stream(graph, good);
  const Address bases[] = {arena.base(), host.base()};
  const std::unique_ptr<Prepared> prepared = device.prepare(stream, std::span(bases, memory_count(plan)));
  prepared->bind(inputs);
  struct Sum {
    double seconds = 0, predicted = 0, bytes = 0;
    int count = 0;
  };
  std::map<std::string, Sum> sums;
  const std::vector<double> predicted = step_seconds(graph, plan, target, device.machine());
  std::size_t step = 0;
  const auto wait = [&] {
    std::byte one{};
    device.read(&one, arena.base(), 1);
  };
  for (std::size_t i = 0; i < commands.size(); ++i) {
    prepared->run(i, i + 1);
    wait();
    const double begin = now();
    for (int r = 0; r < rounds; ++r) prepared->run(i, i + 1);
    wait();
    Sum& sum = sums[commands[i].text];
    sum.seconds += (now() - begin) / rounds;
    ++sum.count;
    sum.bytes += commands[i].bytes;
    for (; step < commands[i].last_step; ++step) sum.predicted += predicted[step];
  }
  std::vector<std::pair<double, std::string>> rows;
  double all = 0;
  for (const auto& [name, sum] : sums) {
    all += sum.seconds;
    rows.emplace_back(sum.seconds,
                      fmt::format("(predicted {:7.3f}) {:>4} × {:8.1f} GB/s {}", 1e3 * sum.predicted,
                                  sum.count, 1e-9 * sum.bytes / sum.seconds, name));
  }
  std::ranges::sort(rows, std::greater());
  if (rows.size() > 45) rows.resize(45);
  fmt::print("  {:9.3f} ms in all, {} commands, each alone\n", 1e3 * all, commands.size());
  for (const auto& [seconds, name] : rows) fmt::print("  {:9.3f} ms {}\n", 1e3 * seconds, name);
}

// What each kind of kernel was predicted to take, for plans that nobody runs.
void report_predicted(const Graph& graph, const Plan& plan, const Target& target, const Machine& machine) {
  const std::vector<double> seconds = step_seconds(graph, plan, target, machine);
  const VerifiedPlan good = verified(graph, plan, target);
  CommandStream stream(graph, good);
  std::map<std::string, std::pair<double, int>> sums;
  std::size_t step = 0;
  while (const Command* command = stream.next()) {
    const Described d = described(*command);
    auto& [sum, count] = sums[d.text];
    for (; step < d.last_step; ++step) sum += seconds[step];
    ++count;
  }
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [name, sum] : sums)
    rows.emplace_back(sum.first, fmt::format("{:>4} × {}", sum.second, name));
  std::ranges::sort(rows, std::greater());
  if (rows.size() > 45) rows.resize(45);
  for (const auto& [sum, name] : rows) fmt::print("  {:9.3f} ms {}\n", 1e3 * sum, name);
}

// A GPT with f32 parameters that computes in bf16.
Graph gpt_with_masters(const Options& options) {
  nn::GptConfig config;
  if (options.model == "gpt2-350m") config.layers = 24, config.width = 1024, config.heads = 16;
  const std::int64_t batch = options.model == "gpt2" ? 16 : 8;
  const Shape shape = {options.batch ? options.batch : batch, options.context ? options.context : 1024};
  const Tensor tokens = Tensor::of_type({DType::i32, shape});
  const nn::LossGraph loss = nn::loss_graph(
      DType::f32, [&] { return nn::Gpt::init(key(0), config); },
      [](const nn::Gpt& model, Tensor in, Tensor next) {
        const nn::Gpt small = map_tree([](const Tensor& t) { return cast(t, DType::bf16); }, model);
        return small.loss(in, next);
      },
      tokens, tokens);
  return nn::training_step(loss, nn::OptimizerKind::adamw);
}

// The same of images: ResNet-50 at 224², or a U-Net at 512².
template <class Model>
Graph images_with_masters(const std::function<Model()>& init, const Shape& images, const Shape& labels) {
  const nn::LossGraph loss = nn::loss_graph(
      DType::f32, init,
      [](const Model& model, Tensor in, Tensor label) {
        const Model small = map_tree([](const Tensor& t) { return cast(t, DType::bf16); }, model);
        return nn::classification_loss(small(cast(in, DType::bf16)), label);
      },
      Tensor::of_type({DType::f32, images}), Tensor::of_type({DType::i32, labels}));
  return nn::training_step(loss, nn::OptimizerKind::adamw);
}
Graph with_masters(const Options& options) {
  if (options.model == "resnet50") {
    const std::int64_t batch = options.batch ? options.batch : 256,
                       side = options.context ? options.context : 224;
    return images_with_masters<nn::ResNet>(
        [] {
          return nn::ResNet::init(key(0), {.depths = {3, 4, 6, 3}, .bottleneck = true});
        },
        {batch, 3, side, side}, {batch});
  }
  if (options.model == "unet") {
    const std::int64_t batch = options.batch ? options.batch : 16,
                       side = options.context ? options.context : 512;
    return images_with_masters<nn::UNet>([] { return nn::UNet::init(key(0), {}); }, {batch, 3, side, side},
                                         {batch, side, side});
  }
  return gpt_with_masters(options);
}
// The Llama of 1.1 billion parameters: they, and AdamW's moments, all bf16, as PyTorch has them.
Graph llama(const Options& options) {
  const nn::LlamaConfig config{
      .layers = 22, .width = 2048, .heads = 32, .kv_heads = 32, .hidden = 5632, .vocabulary = 32000};
  const Shape shape = {options.batch ? options.batch : 1, options.context ? options.context : 4096};
  const Tensor tokens = Tensor::of_type({DType::i32, shape});
  const nn::LossGraph loss = nn::loss_graph(
      DType::bf16, [&] { return nn::Llama::init(key(0), config); },
      [](const nn::Llama& model, Tensor in, Tensor next) { return model.loss(in, next); }, tokens, tokens);
  return nn::training_step(loss, nn::OptimizerKind::adamw, DType::bf16);
}

Graph zoo_graph(const Options& options) {
  const nn::ZooModel* model = nn::find_in_zoo(options.model);
  if (!model) throw std::runtime_error(fmt::format("no model {}", options.model));
  nn::ZooOptions zoo{.optimizer = nn::OptimizerKind::adamw};
  if (options.batch) zoo.batch = options.batch;
  if (options.context) zoo.context = options.context;
  zoo.dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32;
  return model->training_step(zoo);
}

// Parameters, moments and data in the device's memory.
class Inputs {
 public:
  Inputs(Device& device, const Graph& graph, std::uint32_t labels)
      : device_(device), graph_(graph), labels_(labels) {
    for (const Input& input : graph.inputs()) {
      arenas_.push_back(std::make_unique<Arena>(device, graph.type(input.value).bytes()));
      addresses.push_back(arenas_.back()->base());
    }
    fill();
  }
  void fill() {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const std::vector<std::byte> data = data_of(graph_.type(graph_.inputs()[i].value), labels_);
      device_.write(addresses[i], data.data(), std::ssize(data));
    }
  }
  // Of all that a step returns in the place of what it was given: new parameters and moments.
  std::uint64_t checksum() const {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const Input& input = graph_.inputs()[i];
      if (!input.donated) continue;
      std::vector<std::byte> data(static_cast<std::size_t>(graph_.type(input.value).bytes()));
      device_.read(data.data(), addresses[i], std::ssize(data));
      all = all * 0x9e3779b97f4a7c15u + schedule::checksum(data);
    }
    return all;
  }
  std::vector<Address> addresses;

 private:
  Device& device_;
  const Graph& graph_;
  const std::uint32_t labels_;
  std::vector<std::unique_ptr<Arena>> arenas_;
};

// A budget: a share of the peak without one, or MiB; and what of the host's memory there is.
struct Trial {
  int percent = 0;
  std::int64_t mib = 0, host_mib = 0;
  std::string name() const {
    return (mib > 0 ? fmt::format("{:>6} MiB", mib) : fmt::format("{:>4}%", percent)) +
           (host_mib > 0 ? " + host" : "");
  }
};
std::vector<Trial> trials_of(const Options& options) {
  std::vector<Trial> trials;
  const auto add = [&](Trial trial, bool has_budget) {
    trials.push_back(trial);
    trial.host_mib = options.host_mib;
    if (trial.host_mib > 0 && has_budget) trials.push_back(trial);
  };
  for (const int percent : options.budgets) add({.percent = percent}, !trials.empty());
  for (const std::int64_t mib : options.mib) add({.mib = mib}, true);
  return trials;
}

// What was predicted: the time, the stalls of computing, and what is moved.
void report_lanes(const Graph& graph, const Plan& plan, const Machine& machine, double measured,
                  std::int64_t host_bytes) {
  const Timetable table = timetable(plan, step_seconds(graph, plan, cuda::cuda_target(), machine));
  double moved[2] = {};  // there, back
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::copy) continue;
    const bool leaves = plan.buffers[step.out[0].buffer.index].memory > 0;
    moved[leaves ? 0 : 1] += static_cast<double>(graph.type(step.in[0].value).bytes()) / (1 << 20);
  }
  fmt::print(
      "      predicted {:.3f} ms ({:+.1f}% next to the measured), stalls {:.3f} ms, {:.1f} MiB to the host, "
      "{:.1f} back, {:.1f} there at most\n",
      1e3 * table.makespan, 100 * (table.makespan / measured - 1), 1e3 * table.stalled[0], moved[0], moved[1],
      static_cast<double>(host_bytes) / (1 << 20));
}

int run(const Options& options) {
  const Graph step = options.model == "llama-1b" ? llama(options)
                     : options.masters           ? with_masters(options)
                                                 : zoo_graph(options);
  const Target& target = options.fp8 ? cuda::cuda_fp8_target() : cuda::cuda_target();
  const Graph graph = prepare_graph(step, {}, nullptr, {}, target);
  const std::uint32_t usual = options.model == "llama-1b"                           ? 32000
                              : options.masters && options.model.starts_with("gpt") ? 50257
                                                                                    : 2;
  const std::uint32_t labels = options.labels ? options.labels : usual;
  const std::shared_ptr<Device> device = options.predict ? nullptr : cuda::device();
  const Machine& machine = device ? device->machine() : cuda::h200_machine();
  double begin = now();
  std::int64_t free_peak = 0, state = 0;
  for (const Input& input : graph.inputs()) state += graph.type(input.value).bytes();
  std::optional<Inputs> inputs;
  if (device) inputs.emplace(*device, graph, labels);
  fmt::print("{}: {} nodes, inputs in {:.1f} s\n", options.model, graph.nodes().size(), now() - begin);
  bool reported = false;
  fmt::print("state and data: {:.1f} MiB\n", static_cast<double>(state) / (1 << 20));
  for (const Trial& trial : trials_of(options)) {
    begin = now();
    PlanOptions plan_options;
    plan_options.machine = &machine;
    if (trial.mib > 0) plan_options.memory = trial.mib << 20;
    if (trial.mib == 0 && free_peak > 0) plan_options.memory = free_peak * trial.percent / 100;
    if (trial.host_mib > 0 && plan_options.memory)
      plan_options.tiers = {{std::string(host_memory_name), trial.host_mib << 20}};
    plan_options.floor = false;
    plan_options.effort = options.effort;
    auto planned = try_plan(graph, target, plan_options);
    if (!planned) {
      fmt::print("{}: does not fit ({:.1f} s)\n", trial.name(), now() - begin);
      std::fflush(stdout);
      continue;
    }
    const Plan& plan = planned.value();
    if (free_peak == 0) free_peak = plan.peak();
    const double planning = now() - begin;
    const bool first = !std::exchange(reported, true);
    if (!device) {
      fmt::print("{}: predicted {:.3f} ms, above state {:.1f} MiB, planned in {:.2f} s\n", trial.name(),
                 1e3 * plan.seconds, static_cast<double>(plan.peak() - state) / (1 << 20), planning);
      if (options.profile && first) report_predicted(graph, plan, target, machine);
      continue;
    }
    begin = now();
    Arena arena(*device, plan.arena_bytes);
    Arena host(*device, plan.further.empty() ? 0 : plan.further[0].arena_bytes, 1);
    Arena* const arenas[] = {&arena, &host};
    Executor executor(graph, verified(graph, plan, target), *device, std::span(arenas, memory_count(plan)));
    const double preparing = now() - begin;
    if (first) report_routes(graph, plan);
    for (int r = 0; options.bits && r < 2; ++r) {
      inputs->fill();
      executor.run(inputs->addresses);
      fmt::print("{}: parameters and moments after a step: {:016x}\n", trial.name(), inputs->checksum());
    }
    std::vector<double> times;
    for (int s = 0; s < options.steps + 3; ++s) {
      begin = now();
      executor.run(inputs->addresses);
      if (s >= 3) times.push_back(now() - begin);
    }
    std::ranges::sort(times);
    fmt::print(
        "{}: {:8.3f} ms (least {:.3f}), above state {:.1f} MiB, planned in {:.2f} s, ready in "
        "{:.2f} s\n",
        trial.name(), 1e3 * times[times.size() / 2], 1e3 * times.front(),
        static_cast<double>(plan.peak() - state) / (1 << 20), planning, preparing);
    report_lanes(graph, plan, machine, times[times.size() / 2], host.bytes());
    std::fflush(stdout);
    if (options.profile && first) profile(inputs->addresses, graph, plan, target, *device, arena, host);
  }
  return 0;
}

}  // namespace
}  // namespace tidemark::bench

int main(int argc, char** argv) {
  tidemark::bench::Options options;
  CLI::App app("a training step on a GPU");
  app.add_option("model", options.model);
  app.add_option("--batch", options.batch);
  app.add_option("--context", options.context);
  app.add_option("--dtype", options.dtype);
  app.add_option("--budgets", options.budgets)->delimiter(',');
  app.add_option("--mib", options.mib, "further budgets, in MiB")->delimiter(',');
  app.add_option("--host", options.host_mib, "MiB of the host's memory that values may wait in");
  app.add_option("--effort", options.effort, "of planning; 1 is the normal");
  app.add_option("--steps", options.steps);
  app.add_flag("--fp8", options.fp8, "large products of bf16 from codes of 8 bits");
  app.add_flag("--profile", options.profile);
  app.add_flag("--bits", options.bits, "twice at each budget: a checksum of what a first step makes");
  app.add_flag("--predict", options.predict, "planned for an H200, not run: needs no GPU");
  app.add_flag("--masters", options.masters,
               "f32 parameters, computed with in bf16 (gpt2, gpt2-350m, resnet50, unet)");
  app.add_option("--labels", options.labels, "labels and tokens are below it");
  CLI11_PARSE(app, argc, argv);
  try {
    return tidemark::bench::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
