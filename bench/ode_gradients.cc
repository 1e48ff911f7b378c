// The three ways to the gradient of odeint on one problem: a net of 64 as vector field, a batch of 32, f64.
// Prints the memory of the plan, the distance from the gradient of the exact solution and from that of the
// steps, the drift, the processor time relative to the discrete gradient. usage: ode_gradients [STEPS…]
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "tidemark/tidemark.h"

namespace td = tidemark;

namespace {

constexpr std::int64_t width = 64, batch = 32;

td::Tensor waves(const td::Shape& shape, double frequency) {
  return td::sin(td::reshape(td::arange(td::element_count(shape), td::DType::f64), shape) * frequency);
}

struct Figures {
  std::vector<double> gradient;
  td::Bytes memory;
  double seconds = 0;
};

Figures measure(const td::OdeOptions& options, std::optional<td::Bytes> budget = {}) {
  const auto loss = [options](td::Tensor w, td::Tensor y0) {
    const auto f = [&](td::Tensor t, td::Tensor y) {
      return td::tanh(td::matmul(y, w) + td::sin(t)) - y * 0.1;
    };
    return td::mean(td::square(td::odeint(f, y0, 0, 2, options)));
  };
  const auto w = waves({width, width}, 1.7) * 0.3, y0 = waves({batch, width}, 0.9);
  const auto slope = td::compile(td::grad(loss), {.memory = budget});
  Figures figures;
  figures.gradient = slope(w, y0).to_vector();
  figures.memory = slope.plan().peak();
  figures.seconds = 1e30;
  for (int run = 0; run < 10; ++run) {  // the quickest: other work on the machine only adds
    const std::clock_t begin = std::clock();
    slope(w, y0).to_vector();
    figures.seconds = std::min(figures.seconds, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return figures;
}

// Relative, in the Euclidean norm.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference / size);
}

}  // namespace

int main(int argc, char** argv) {
  using enum td::OdeMethod;
  using enum td::OdeGradient;
  const Figures exact = measure({.method = rk4, .steps = 1000});
  fmt::print("{:>6}  {:<34} {:>11} {:>12} {:>12} {:>10} {:>6}\n", "steps", "", "memory", "from exact",
             "from steps", "drift", "time");
  for (int i = 1; i < std::max(argc, 2); ++i) {
    const std::int64_t steps = argc > 1 ? std::atoll(argv[i]) : 200;
    for (const td::OdeMethod method : {rk4, leapfrog}) {
      const char* name = method == rk4 ? "rk4" : "leapfrog";
      const Figures all = measure({.method = method, .steps = steps});
      const auto print = [&](const char* way, const Figures& figures, const std::string& drift) {
        fmt::print("{:>6}  {:<34} {:>11} {:>12.1e} {:>12.1e} {:>10} {:>6.2f}\n", steps,
                   fmt::format("{}, {}", name, way), to_string(figures.memory),
                   distance(figures.gradient, exact.gradient), distance(figures.gradient, all.gradient),
                   drift, figures.seconds / all.seconds);
      };
      print("discrete", all, "");
      print("discrete, within 1 MiB", measure({.method = method, .steps = steps}, td::Bytes(1 << 20)), "");
      for (const td::OdeGradient gradient : {adjoint, reversible}) {
        if (gradient == reversible && method != leapfrog) continue;
        const auto drift = std::make_shared<td::OdeDrift>();
        const Figures figures =
            measure({.method = method, .gradient = gradient, .steps = steps, .drift = drift});
        print(gradient == adjoint ? "adjoint" : "reversible", figures, fmt::format("{:.1e}", drift->latest));
      }
    }
  }
}
