// What recording a profile costs: training steps with and without it, in turns, so that drift of the machine
// meets both.
//
//   profile_overhead [--model NAME] [--rounds N] [--threads N] [--device cuda] [--profile FILE]
//                    [--trace FILE]
//
// A round is 5 steps without and 5 with recording, the first of each not counted. The ratio is that of the
// medians, beside that of the least times. Files are of the last model that ran.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "tidemark/base/stopwatch.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;

struct Options {
  std::string model, profile, trace;
  int rounds = 20;
  std::shared_ptr<Device> device;
};

double median(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

template <class Step, class State>
void measure(const std::string& name, const Options& options, const Step& step, State state, const Tensor& x,
             const Tensor& y) {
  constexpr int steps = 5;
  std::vector<double> without, with;
  for (int round = 0; round <= options.rounds; ++round) {
    for (const bool recorded : {false, true}) {
      step.record_profile(recorded);
      for (int i = 0; i < steps; ++i) {
        const Stopwatch watch;
        auto [next, loss] = step(state, x, y);
        state = next;
        (void)loss.item();
        if (round > 0 && i > 0) (recorded ? with : without).push_back(watch.seconds());
      }
    }
  }
  const Profile profile = step.profile();
  fmt::print("{:<8} {:>8} {:>12.1f} {:>12.1f} {:>9.4f} {:>9.4f}\n", name, profile.body.kernels.size(),
             1e6 * median(without), 1e6 * median(with), median(with) / median(without),
             *std::ranges::min_element(with) / *std::ranges::min_element(without));
  std::fflush(stdout);
  if (!options.profile.empty()) profile.write(options.profile);
  if (!options.trace.empty()) profile.write_trace(options.trace);
  if (!options.model.empty()) fmt::print("\n{}", profile.summary());
}

void mlp(const std::string& name, const Options& options, const std::vector<std::int64_t>& widths,
         std::int64_t batch) {
  const optim::AdamW adamw{.lr = 1e-3};
  const auto loss = [](const nn::Mlp& net, const Tensor& x, const Tensor& y) {
    return mean(square(net(x) - y));
  };
  const auto step = compile(optim::step(adamw, loss), {.donate = {0}, .device = options.device});
  measure(name, options, step, adamw.init(nn::Mlp::init(key(0), widths)),
          random_normal(key(1), {batch, widths.front()}), random_normal(key(2), {batch, widths.back()}));
}

void gpt(const std::string& name, const Options& options, const nn::GptConfig& config, std::int64_t batch) {
  const optim::AdamW adamw{.lr = 1e-3};
  const auto loss = [](const nn::Gpt& net, const Tensor& x, const Tensor& y) { return net.loss(x, y); };
  const auto step = compile(optim::step(adamw, loss), {.donate = {0}, .device = options.device});
  const auto tokens = [&](int seed) {
    const auto words = static_cast<double>(config.vocabulary);
    return cast(floor(random_uniform(key(seed), {batch, config.context}, 0, words)), DType::i32);
  };
  measure(name, options, step, adamw.init(nn::Gpt::init(key(0), config)), tokens(1), tokens(2));
}

// A recurrence of small steps in a loop of the graph: its body is timed in every iteration.
void loop(const std::string& name, const Options& options) {
  const optim::AdamW adamw{.lr = 1e-3};
  const auto loss = [](const nn::Mlp& net, const Tensor& x, const Tensor& y) {
    const Tensor last = repeat(
        100, [&](const Tensor& state) { return tanh(net(state)); }, x);
    return mean(square(last - y));
  };
  const auto step = compile(optim::step(adamw, loss), {.donate = {0}, .device = options.device});
  measure(name, options, step, adamw.init(nn::Mlp::init(key(0), {32, 32, 32})),
          random_normal(key(1), {16, 32}), random_normal(key(2), {16, 32}));
}

struct Model {
  std::string name;
  std::function<void(const Options&)> run;
  bool by_name = false;  // only where it is asked for
};

std::vector<Model> models() {
  return {{"tiny",
           [](const Options& o) {
             mlp("tiny", o, {8, 8, 8, 8, 8, 8, 8, 8}, 4);
           }},
          {"mlp",
           [](const Options& o) {
             mlp("mlp", o, {784, 256, 256, 10}, 64);
           }},
          {"loop", [](const Options& o) { loop("loop", o); }},
          {"gpt",
           [](const Options& o) {
             gpt("gpt", o, {.layers = 4, .width = 128, .heads = 4, .vocabulary = 1000, .context = 64}, 8);
           }},
          {"gpt2", [](const Options& o) { gpt("gpt2", o, {}, 8); }, true}};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i], value = argv[i + 1];
    if (word == "--model") options.model = value;
    if (word == "--rounds") options.rounds = std::max(1, std::atoi(value.c_str()));
    if (word == "--threads") set_threads(std::atoi(value.c_str()));
    if (word == "--device" && value == "cuda") options.device = cuda::device();
    if (word == "--profile") options.profile = value;
    if (word == "--trace") options.trace = value;
  }
  fmt::print("{:<8} {:>8} {:>12} {:>12} {:>9} {:>9}\n", "model", "kernels", "without µs", "with µs", "ratio",
             "of least");
  for (const Model& model : models()) {
    if (options.model.empty() ? !model.by_name : model.name == options.model) model.run(options);
  }
}
