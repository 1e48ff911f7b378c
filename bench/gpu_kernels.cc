// Kernels of a GPU that are bound by memory, each as a share of the rate at which the device copies: the
// bytes of all arrays that a kernel must read or write once, by its time on the GPU (profile.h), by what a
// copy of 4 GiB reads and writes in its time. Of a program of several kernels each is shown, too.
//
//   gpu_kernels [--mib 512] [--width 1024] [--rounds 20]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tidemark/base/stopwatch.h"
#include "tidemark/cuda/device.h"
#include "tidemark/runtime/device.h"
#include "tidemark/tidemark.h"

namespace tidemark::bench {
namespace {

struct Options {
  std::int64_t mib = 512, width = 1024;
  int rounds = 20;
};

// Bytes read and written in a second.
double copy_rate(Device& device, int rounds) {
  const std::int64_t bytes = std::int64_t{4} << 30;
  const Address from = device.allocate(0, bytes), to = device.allocate(0, bytes);
  double best = 1e30;
  for (int r = 0; r < rounds; ++r) {
    const Stopwatch watch;
    device.copy(to, from, bytes);
    best = std::min(best, watch.seconds());
  }
  device.release(0, to, bytes);
  device.release(0, from, bytes);
  return 2 * static_cast<double>(bytes) / best;
}

struct Bench {
  const Options& options;
  std::shared_ptr<Device> device;
  double rate;

  // `arrays`: how many of the size of an argument are read or written, by each kernel.
  template <class F, class... Args>
  void show(std::string_view name, const std::vector<int>& arrays, const F& f, const Args&... args) const {
    const auto g = compile(f, {.device = device});
    for (int r = 0; r < 3; ++r) (void)g(args...);
    g.record_profile();
    for (int r = 0; r < options.rounds; ++r) (void)g(args...);
    const Profile profile = g.profile();
    const std::vector<ProfileKernel>& kernels = profile.body.kernels;
    const auto line = [&](std::string_view what, int moved, double seconds) {
      const double bytes = moved * static_cast<double>(options.mib << 20);
      fmt::print("{:<32} {} arrays {:>8.1f} us {:>6.2f} TB/s {:>5.0f}%\n", what, moved, 1e6 * seconds,
                 bytes / seconds / 1e12, 100 * bytes / seconds / rate);
    };
    double seconds = 0;
    int all = 0;
    for (std::size_t k = 0; k < arrays.size() && k < kernels.size(); ++k) {
      if (kernels.size() > 1)
        line(fmt::format("  {}", ops_of(profile.body, kernels[k])), arrays[k], kernels[k].measured);
      seconds += kernels[k].measured;
      all += arrays[k];
    }
    if (kernels.size() != arrays.size()) fmt::print("{} kernels, not {}:\n", kernels.size(), arrays.size());
    line(name, all, seconds);
    std::fflush(stdout);
  }

  void rows(DType dtype) const {
    const std::int64_t count = (options.mib << 20) / size_of(dtype);
    const Tensor x =
        to_device(cast(random_normal(key(1), {count / options.width, options.width}), dtype), device);
    const Tensor y =
        to_device(cast(random_normal(key(3), {count / options.width, options.width}), dtype), device);
    const Tensor scale = to_device(cast(random_normal(key(2), {options.width}), dtype), device);
    fmt::print("{}\n", name_of(dtype));
    show(
        "a chain of 8", {2},
        [](const Tensor& a) {
          Tensor y = a;
          for (int i = 0; i < 4; ++i) y = y * 0.75 + 0.25;
          return y;
        },
        x);
    show(
        "gelu", {2}, [](const Tensor& a) { return gelu(a); }, x);
    show(
        "sum of two and relu", {3}, [](const Tensor& a, const Tensor& b) { return relu(a + b); }, x, y);
    show(
        "softmax", {2}, [](const Tensor& a) { return softmax(a, 1); }, x);
    show(
        "layer_norm", {2}, [](const Tensor& a, const Tensor& s) { return layer_norm(a, s, s); }, x, scale);
    show(
        "rms_norm", {2}, [](const Tensor& a, const Tensor& s) { return rms_norm(a, s); }, x, scale);
    // Of the sum of y · seed: one kernel for the statistics, which also writes y, and one that reads x and
    // the seed and writes dx.
    show("layer_norm and its gradient", {2, 3},
         grad([](const Tensor& a, const Tensor& seed, const Tensor& s) {
           return sum(cast(layer_norm(a, s, s) * seed, DType::f32));
         }),
         x, y, scale);
  }
};

}  // namespace
}  // namespace tidemark::bench

int main(int argc, char** argv) {
  tidemark::bench::Options options;
  CLI::App app("kernels of a GPU that are bound by memory");
  app.add_option("--mib", options.mib, "of an array");
  app.add_option("--width", options.width, "of a row");
  app.add_option("--rounds", options.rounds);
  CLI11_PARSE(app, argc, argv);
  try {
    const auto device = tidemark::cuda::device();
    const double rate = tidemark::bench::copy_rate(*device, options.rounds);
    fmt::print("a copy of 4 GiB: {:.2f} TB/s read and written\n", rate / 1e12);
    const tidemark::bench::Bench bench{options, device, rate};
    bench.rows(tidemark::DType::f32);
    bench.rows(tidemark::DType::bf16);
    bench.rows(tidemark::DType::f16);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
