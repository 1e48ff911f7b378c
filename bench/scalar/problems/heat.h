// Heat conduction in a square plate, explicit steps of the five-point stencil, fixed temperatures at the
// edge: how the final heat content, squared and summed, depends on the initial temperatures.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace tidemark::bench {

struct Heat {
  static constexpr const char* name = "heat 2-D";
  std::size_t side = 200;
  std::int64_t time_steps = 100;

  std::vector<double> inputs() const {
    std::vector<double> u(side * side);
    for (std::size_t i = 0; i < u.size(); ++i) {
      const double x = static_cast<double>(i % side) / static_cast<double>(side - 1);
      const double y = static_cast<double>(i / side) / static_cast<double>(side - 1);
      u[i] = std::sin(std::numbers::pi * x) * std::sin(2 * std::numbers::pi * y) + x;
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
    const double rate = 0.2;  // conductivity times step by the square of the spacing; below 1/4 it is stable
    for (std::size_t row = 0; row < side; ++row) {
      for (std::size_t column = 0; column < side; ++column) {
        const std::size_t i = row * side + column;
        if (row == 0 || column == 0 || row + 1 == side || column + 1 == side) {
          next[i] = u[i];
        } else {
          next[i] = u[i] + rate * (u[i - 1] + u[i + 1] + u[i - side] + u[i + side] - 4.0 * u[i]);
        }
      }
    }
  }
  template <class T>
  T result(std::span<const T> u) const {
    T sum = 0.0;
    for (const T& each : u) sum += each * each;
    return sum / static_cast<double>(u.size());
  }
};

}  // namespace tidemark::bench
