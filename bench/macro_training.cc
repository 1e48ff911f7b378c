// One training step (loss, gradients, plain gradient descent) of a model, timed, with the growth of the process's
// resident memory: bench/compare_training.py runs it next to the same model in PyTorch.
//   macro_training MODEL [--threads N] [--steps N]     MODEL: mlp, convnet, transformer
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace td = tidemark;
using td::Tensor;

namespace {

struct Options {
  std::string model = "mlp";
  int threads = 0, steps = 20;
};

// A line of /proc/self/status, in bytes.
std::int64_t status_bytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}
void reset_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

template <class Model, class Loss>
void run(const Options& options, const auto& init, const Loss& loss, const Tensor& x_like,
         const Tensor& y_like) {
  td::matmul(td::ones({64, 64}), td::ones({64, 64}));  // BLAS takes its own buffers before the baseline
  reset_peak();
  const std::int64_t baseline = status_bytes("VmRSS:");
  {
    Model model = init();
    const Tensor x = is_float(x_like.dtype()) ? td::random_normal(td::key(1), x_like.shape())
                                              : td::zeros(x_like.shape(), x_like.dtype());
    const Tensor y = is_float(y_like.dtype()) ? td::random_normal(td::key(2), y_like.shape())
                                              : td::zeros(y_like.shape(), y_like.dtype());
    const auto step = td::compile(
        [&](const Model& p, const Tensor& a, const Tensor& b) {
          const auto [value, gradients] = td::value_and_grad(loss)(p, a, b);
          return std::pair(
              td::map_tree([](const Tensor& w, const Tensor& g) { return w - g * 0.01; }, p, gradients),
              value);
        },
        {.donate = {0}});
    const auto compile_start = std::chrono::steady_clock::now();
    step.prepare(model, x, y);
    const double compile_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - compile_start).count();
    std::vector<double> times;
    double value = 0;
    for (int i = 0; i < options.steps + 2; ++i) {
      const auto start = std::chrono::steady_clock::now();
      auto [next, result] = step(model, x, y);
      model = next;
      value = result.item();
      times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(times.begin(), times.end());
    fmt::print(
        "{{\"model\": \"{}\", \"seconds\": {:.6f}, \"peak_rss\": {}, \"planned\": {}, \"flops\": {:.0f}, "
        "\"loss\": {:.5f}, \"compile_seconds\": {:.3f}}}\n",
        options.model, times[times.size() / 2], status_bytes("VmHWM:") - baseline, step.plan().plan.peak(),
        step.plan().plan.flops, value, compile_seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--threads") && i + 1 < argc) {
      options.threads = std::stoi(argv[++i]);
    } else if (!std::strcmp(argv[i], "--steps") && i + 1 < argc) {
      options.steps = std::stoi(argv[++i]);
    } else {
      options.model = argv[i];
    }
  }
  td::set_threads(options.threads);
  const auto f32 = [](td::Shape shape) { return Tensor::of_type({td::DType::f32, shape}); };
  const auto i32 = [](td::Shape shape) { return Tensor::of_type({td::DType::i32, shape}); };
  if (options.model == "mlp") {
    run<td::nn::Mlp>(
        options,
        [] {
          return td::nn::Mlp::init(td::key(0), {784, 1024, 1024, 10});
        },
        [](const td::nn::Mlp& m, Tensor x, Tensor y) { return td::nn::classification_loss(m(x), y); },
        f32({256, 784}), i32({256}));
  } else if (options.model == "convnet") {
    run<td::nn::ConvNet>(
        options, [] { return td::nn::ConvNet::init(td::key(0), 8, 64, 10); },
        [](const td::nn::ConvNet& m, Tensor x, Tensor y) { return td::nn::classification_loss(m(x), y); },
        f32({32, 3, 32, 32}), i32({32}));
  } else if (options.model == "transformer") {
    run<td::nn::TransformerBlock>(
        options, [] { return td::nn::TransformerBlock::init(td::key(0), 512); },
        [](const td::nn::TransformerBlock& m, Tensor x, Tensor y) {
          return td::mean(td::square(m(x, 8) - y));
        },
        f32({8, 128, 512}), f32({8, 128, 512}));
  } else {
    fmt::print(stderr, "unknown model '{}': mlp, convnet or transformer\n", options.model);
    return 2;
  }
}
