// A simulation of one's own, with no tensor in it: Burgers' equation on a ring, 20,000 steps, and the
// gradient of a misfit at the end with respect to every value at the beginning. Keeping every step would take
// 80 MB; this takes 64 KiB.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/run.h"

namespace td = tidemark;
using namespace td::literals;
using td::schedule::Step, td::schedule::Steps;
using State = std::vector<double>;

struct Burgers {
  State target;  // what the end should be
  double dt = 2e-5, dx = 1.0 / 512, viscosity = 2e-3;

  // u_t + (u²/2)_x = ν u_xx, central differences: each new value from three old ones.
  double next(double left, double here, double right) const {
    return here - dt * (right * right - left * left) / (4 * dx) +
           dt * viscosity * (left - 2 * here + right) / (dx * dx);
  }
  void step(State& u) const {
    const double first = u.front();
    double left = u.back();
    for (std::size_t i = 0; i < u.size(); ++i) {
      const double here = u[i];
      u[i] = next(left, here, i + 1 < u.size() ? u[i + 1] : first);
      left = here;
    }
  }

  // The three things a run asks for, and the adjoint it starts from.
  void advance(State& u, Steps range) const {
    for (Step i = range.begin; i < range.end; ++i) step(u);
  }
  State record(State& u, Step) const {
    State before = u;
    step(u);
    return before;
  }
  void reverse(const State& u, State& adjoint, Step) const {
    const std::size_t n = u.size();
    const double diffusion = dt * viscosity / (dx * dx), advection = dt / (2 * dx);
    const State after = adjoint;
    for (std::size_t i = 0; i < n; ++i) {
      const double left = after[(i + n - 1) % n], right = after[(i + 1) % n];
      adjoint[i] = after[i] * (1 - 2 * diffusion) + left * (diffusion - advection * u[i]) +
                   right * (diffusion + advection * u[i]);
    }
  }
  double misfit(const State& u) const {
    double sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += (u[i] - target[i]) * (u[i] - target[i]);
    return sum;
  }
  void seed(const State& u, State& adjoint) const {
    for (std::size_t i = 0; i < u.size(); ++i) adjoint[i] = 2 * (u[i] - target[i]);
  }
};

void show(const td::schedule::Progress& p) {
  const auto bars = static_cast<int>(20 * p.reversed / p.steps);
  fmt::print("\r[{:#>{}}{:.>{}}] reversed {:>5} of {}, forward {:>6} of {}, holding {:>9}", "", bars, "",
             20 - bars, p.reversed, p.steps, p.forward, p.predicted_forward, to_string(p.held));
  std::fflush(stdout);
}

int main() {
  const Step steps = 20'000;
  State u0(512);
  for (std::size_t i = 0; i < u0.size(); ++i)
    u0[i] = std::sin(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(u0.size()));
  Burgers burgers{.target = State(512, 0.1)};

  State u = u0, gradient(512);
  const auto report = td::schedule::run(
      burgers, u, gradient, steps,
      {.levels = {{.bytes = 64_KiB}}, .verify = td::schedule::Verify::replay, .progress = show});
  fmt::print("\n{}", report.summary());

  // The slope along one direction, by the gradient and by a difference.
  const double eps = 1e-6;
  State up = u0, down = u0;
  up[100] += eps, down[100] -= eps;
  burgers.advance(up, {0, steps});
  burgers.advance(down, {0, steps});
  const double difference = (burgers.misfit(up) - burgers.misfit(down)) / (2 * eps);
  fmt::print("slope at point 100: {:.6f}, by a difference {:.6f}\n", gradient[100], difference);
  return std::abs(gradient[100] - difference) < 1e-5 ? 0 : 1;
}
