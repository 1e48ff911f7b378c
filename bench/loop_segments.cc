// Loops and a disk: gradients of an LSTM and a GPT, each written as one scan, in a half and a quarter of what
// they hold beside parameters, gradients and data, and the least there is, with the disk, with recomputation
// and with both. Times are ratios to the step with all the memory it likes, predicted and measured in turns;
// every gradient is held against that step's, bit by bit.
//
//   loop_segments FOLDER [MODEL [ROUNDS]]     MODEL: lstm-scan gpt-scan, or all; no ROUNDS: plans alone
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "bench/support/training_rows.h"
#include "tidemark/ir/graph.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;
using namespace tidemark::literals;

struct Settings {
  std::string folder, model = "all";
  int rounds = 0;
};

struct Way {
  const char* name;
  Choices allow;
};
const Way ways[] = {
    {"disk", {Choice::disk}},
    {"recompute", {Choice::recompute}},
    {"both", {Choice::recompute, Choice::disk}},
};

double seconds_of(const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Model>
Tensor class_loss(const Model& model, const Tensor& x, const Tensor& labels) {
  return nn::classification_loss(model(x), labels);
}

bool same_bits(const auto& a, const auto& b) {
  const std::vector<Tensor> left = tensors_of(a), right = tensors_of(b);
  return std::ranges::equal(left, right, [](const Tensor& l, const Tensor& r) {
    return std::memcmp(l.bytes(), r.bytes(), static_cast<std::size_t>(l.type().bytes())) == 0;
  });
}

template <class Model>
void table(const Settings& settings, const char* name, const Model& model, const Tensor& x, const Tensor& y) {
  if (settings.model != "all" && settings.model != name) return;
  const auto free = compile(grad(class_loss<Model>));
  const Plan base = free.prepare(model, x, y).plan;
  std::int64_t fixed = base.input_bytes;  // and gradients, as large as the parameters
  for (const ValueId v : free.plan().graph.outputs()) fixed += free.plan().graph.type(v).bytes();
  fmt::print("{}: {} with everything kept, {} of it parameters, gradients and data\n", name,
             to_string(Bytes(base.peak())), to_string(Bytes(fixed)));
  const auto row = [&](const char* part, const Way& way, std::int64_t memory) {
    CompileOptions options{.memory = Bytes(memory), .allow = way.allow};
    if (way.allow.has(Choice::disk)) options.disk = DiskBudget{.folder = settings.folder, .bytes = 10_GiB};
    const auto step = compile(grad(class_loss<Model>), options);
    double planning = 0;
    fmt::print("  {:<10} {:<10} {:>11} ", part, way.name, to_string(Bytes(memory)));
    try {
      planning = seconds_of([&] { (void)step.prepare(model, x, y); });
    } catch (const InfeasibleBudget& error) {
      fmt::print("does not fit\n");
      return;
    }
    const Plan& plan = step.plan().plan;
    const std::int64_t on_disk = plan.further.empty() ? 0 : plan.further[0].peak();
    fmt::print("{:>11} {:>8.3f} predicted; {:>10} on disk; planned in {:.1f} s",
               to_string(Bytes(plan.peak())), plan.seconds / base.seconds, to_string(Bytes(on_disk)),
               planning);
    std::fflush(stdout);
    double least = std::numeric_limits<double>::infinity(), least_free = least;
    bool same = true;
    for (int round = 0; round < settings.rounds; ++round) {
      least = std::min(least, seconds_of([&] { (void)step(model, x, y); }));
      least_free = std::min(least_free, seconds_of([&] { (void)free(model, x, y); }));
      if (round == 0) same = same_bits(free(model, x, y), step(model, x, y));
    }
    if (settings.rounds > 0)
      fmt::print("; {:>8.3f} measured, {}, {}", least / least_free, same ? "the same bits" : "OTHER BITS",
                 step.arena_high_water().count == plan.arena_bytes ? "peak as planned" : "OTHER PEAK");
    fmt::print("\n");
    std::fflush(stdout);
  };
  for (const auto& [part, share] : {std::pair("a half", 2), std::pair("a quarter", 4)}) {
    for (const Way& way : ways) row(part, way, fixed + (base.peak() - fixed) / share);
  }
  for (const Way& way : ways) {
    CompileOptions options{.allow = way.allow};
    if (way.allow.has(Choice::disk)) options.disk = DiskBudget{.folder = settings.folder, .bytes = 10_GiB};
    const SmallestBudget least = compile(grad(class_loss<Model>), options).smallest(model, x, y);
    fmt::print("  least with {:<10} {:>11}, {:>8.3f} predicted; pinned by {}\n", way.name,
               to_string(least.memory), least.seconds / base.seconds, least.pinned_by);
  }
}

Tensor some_labels(std::int64_t seed, const Shape& shape, double classes) {
  return cast(floor(random_uniform(key(seed), shape, 0, classes)), DType::i32);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    fmt::print(stderr, "usage: loop_segments FOLDER [MODEL [ROUNDS]]\n");
    return 2;
  }
  Settings settings{.folder = arguments[1]};
  if (count > 2) settings.model = arguments[2];
  if (count > 3) settings.rounds = std::atoi(arguments[3]);
  const nn::LstmConfig lstm{.layers = 1, .width = 512, .vocabulary = 256};
  table(settings, "lstm-scan", bench::ScanLstm{nn::Lstm::init(key(0), lstm)}, some_labels(1, {256, 16}, 256),
        some_labels(2, {256, 16}, 256));
  const nn::GptConfig gpt{.layers = 8, .width = 256, .heads = 4, .vocabulary = 1024, .context = 256};
  table(settings, "gpt-scan", bench::ScanGpt::init(key(0), gpt), some_labels(1, {8, 256}, 1024),
        some_labels(2, {8, 256}, 1024));
}
