// Viscous Burgers in one dimension: u_t + u u_x = ν u_xx on a ring, first-order upwind differences, explicit
// steps. The derivative of the final energy with respect to the initial velocities.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace tidemark::bench {

struct Burgers {
  static constexpr const char* name = "Burgers 1-D";
  std::size_t points = 2000;
  std::int64_t time_steps = 1000;

  std::vector<double> inputs() const {
    std::vector<double> u(points);
    for (std::size_t i = 0; i < points; ++i) {
      u[i] = 0.3 + std::sin(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(points));
    }
    return u;
  }
  std::int64_t steps() const { return time_steps; }
  template <class T>
  std::vector<T> initial(std::span<const T> inputs) const {
    return {inputs.begin(), inputs.end()};
  }
  template <class T>
  void advance(std::span<const T> u, std::span<T> next) const {
    const double dx = 1.0 / static_cast<double>(points), dt = 0.25 * dx;
    const double convection = dt / dx, diffusion = 0.1 * dx * dt / (dx * dx);
    const std::size_t last = points - 1;
    for (std::size_t i = 0; i < points; ++i) {
      const T &here = u[i], &left = u[i == 0 ? last : i - 1], &right = u[i == last ? 0 : i + 1];
      if (here > 0.0) {
        next[i] = here - convection * here * (here - left) + diffusion * (left - 2.0 * here + right);
      } else {
        next[i] = here - convection * here * (right - here) + diffusion * (left - 2.0 * here + right);
      }
    }
  }
  template <class T>
  T result(std::span<const T> u) const {
    T energy = 0.0;
    for (const T& each : u) energy += each * each;
    return energy / static_cast<double>(points);
  }
};

}  // namespace tidemark::bench
