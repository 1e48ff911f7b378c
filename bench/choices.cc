// What each way to save memory costs, alone and all together: gradients of a GPT, a ResNet, a U-Net and an
// LSTM in a half and a quarter of what they hold beside parameters and gradients, and in the least that each
// way fits in. Times are ratios to the step with all the memory it likes, predicted and measured in turns.
//
//   choices FOLDER [MODEL [ROUNDS [MACHINE]]]     MODEL: gpt resnet18 unet lstm-scan, or all
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "bench/support/training_rows.h"
#include "tidemark/ir/graph.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;
using namespace tidemark::literals;

struct Settings {
  std::string folder, model = "all";
  int rounds = 3;
  std::optional<Machine> machine = {};
};

struct Way {
  const char* name;
  Choices allow;
};
const Way ways[] = {
    {"recompute", {Choice::recompute}},
    {"compress", {Choice::compress}},
    {"disk", {Choice::disk}},
    {"all", {Choice::recompute, Choice::compress, Choice::disk}},
};

CompileOptions options_for(const Settings& settings, const Way& way) {
  CompileOptions options{.allow = way.allow};
  if (way.allow.has(Choice::compress)) options.lossy = Lossy{.error = 4e-3};
  if (way.allow.has(Choice::disk)) options.disk = DiskBudget{.folder = settings.folder, .bytes = 16_GiB};
  options.machine = settings.machine;
  return options;
}

double seconds_of(const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Model>
Tensor class_loss(const Model& model, const Tensor& x, const Tensor& labels) {
  return nn::classification_loss(model(x), labels);
}

template <class Model>
void table(const Settings& settings, const char* name, const Model& model, const Tensor& x, const Tensor& y) {
  if (settings.model != "all" && settings.model != name) return;
  CompileOptions plain;
  plain.machine = settings.machine;
  const auto free = compile(grad(class_loss<Model>), plain);
  const Plan base = free.prepare(model, x, y).plan;
  std::int64_t fixed = base.input_bytes;  // and gradients, as large as the parameters
  for (const ValueId v : free.plan().graph.outputs()) fixed += free.plan().graph.type(v).bytes();
  fmt::print("{}: {} with everything kept, {} of it parameters, gradients and data\n", name,
             to_string(Bytes(base.peak())), to_string(Bytes(fixed)));

  const auto row = [&](const char* part, const Way& way, std::int64_t memory) {
    CompileOptions options = options_for(settings, way);
    options.memory = Bytes(memory);
    const auto step = compile(grad(class_loss<Model>), options);
    double planning = 0;
    try {
      planning = seconds_of([&] { (void)step.prepare(model, x, y); });
    } catch (const InfeasibleBudget& error) {
      fmt::print("  {:<8} {:<10} {:>11} does not fit\n", part, way.name, to_string(Bytes(memory)));
      return;
    }
    double least = std::numeric_limits<double>::infinity(), least_free = least;
    for (int round = 0; round <= settings.rounds; ++round) {
      const double own = seconds_of([&] { (void)step(model, x, y); });
      const double other = seconds_of([&] { (void)free(model, x, y); });
      if (round == 0) continue;
      least = std::min(least, own);
      least_free = std::min(least_free, other);
    }
    const Plan& plan = step.plan().plan;
    const std::int64_t on_disk = plan.further.empty() ? 0 : plan.further[0].peak();
    fmt::print(
        "  {:<8} {:<10} {:>11} {:>8.3f} predicted {:>8.3f} measured, {:>8.1f} ms; {:>10} on disk; planned in "
        "{:.1f} s\n",
        part, way.name, to_string(Bytes(plan.peak())), plan.seconds / base.seconds, least / least_free,
        1e3 * least, to_string(Bytes(on_disk)), planning);
    std::fflush(stdout);
  };
  for (const auto& [part, share] : {std::pair("a half", 2), std::pair("a quarter", 4)}) {
    for (const Way& way : ways) row(part, way, fixed + (base.peak() - fixed) / share);
  }
  for (const Way& way : ways) {
    const auto step = compile(grad(class_loss<Model>), options_for(settings, way));
    row("least", way, step.smallest(model, x, y).memory.count);
  }
}

Tensor some_labels(std::int64_t seed, const Shape& shape, double classes) {
  return cast(floor(random_uniform(key(seed), shape, 0, classes)), DType::i32);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    fmt::print(stderr, "usage: choices FOLDER [MODEL [ROUNDS [MACHINE]]]\n");
    return 2;
  }
  Settings settings{.folder = arguments[1]};
  if (count > 2) settings.model = arguments[2];
  if (count > 3) settings.rounds = std::atoi(arguments[3]);
  if (count > 4) settings.machine = load_machine(arguments[4]);
  const nn::GptConfig gpt{.layers = 6, .width = 384, .heads = 6, .vocabulary = 8192, .context = 256};
  table(settings, "gpt", nn::Gpt::init(key(0), gpt), some_labels(1, {8, 256}, 8192),
        some_labels(2, {8, 256}, 8192));
  table(settings, "resnet18", nn::ResNet::init(key(0), {}), random_normal(key(1), {64, 3, 64, 64}),
        some_labels(2, {64}, 1000));
  table(settings, "unet", nn::UNet::init(key(0), {}), random_normal(key(1), {4, 3, 128, 128}),
        some_labels(2, {4, 128, 128}, 2));
  const nn::LstmConfig lstm{.layers = 1, .width = 512, .vocabulary = 256};
  table(settings, "lstm-scan", bench::ScanLstm{nn::Lstm::init(key(0), lstm)}, some_labels(1, {256, 16}, 256),
        some_labels(2, {256, 16}, 256));
}
