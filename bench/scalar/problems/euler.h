// The Euler equations of a perfect gas on a periodic square: finite volumes of first order with Rusanov's
// flux, explicit steps. How the final kinetic energy depends on the initial state, four conserved values of
// each cell.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace tidemark::bench {

struct Euler {
  static constexpr const char* name = "Euler 2-D";
  std::size_t side = 64;
  std::int64_t time_steps = 50;

  template <class T>
  using State = std::array<T, 4>;  // density, momentum in x and in y, energy

  std::vector<double> inputs() const {
    std::vector<double> u;
    for (std::size_t row = 0; row < side; ++row) {
      for (std::size_t column = 0; column < side; ++column) {
        const double x = 2 * std::numbers::pi * static_cast<double>(column) / static_cast<double>(side);
        const double y = 2 * std::numbers::pi * static_cast<double>(row) / static_cast<double>(side);
        const double density = 1 + 0.2 * std::sin(x) * std::cos(y), pressure = 1 + 0.1 * std::cos(x + y);
        const double vx = 0.1 + 0.3 * std::sin(y),
                     vy = 0.15 - 0.2 * std::cos(x);  // nowhere at the kink of |v|
        u.insert(u.end(), {density, density * vx, density * vy,
                           pressure / (gamma - 1) + 0.5 * density * (vx * vx + vy * vy)});
      }
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
    const double ratio = 0.2;  // time step by cell width
    for (std::size_t i = 0; i < u.size(); ++i) next[i] = u[i];
    for (std::size_t row = 0; row < side; ++row) {
      for (std::size_t column = 0; column < side; ++column) {
        const std::size_t here = 4 * (row * side + column);
        const std::size_t right = 4 * (row * side + (column + 1) % side),
                          above = 4 * ((row + 1) % side * side + column);
        cross_face(&u[here], &u[right], 0, ratio, &next[here], &next[right]);
        cross_face(&u[here], &u[above], 1, ratio, &next[here], &next[above]);
      }
    }
  }
  template <class T>
  T result(std::span<const T> u) const {
    T sum = 0.0;
    for (std::size_t i = 0; i < u.size(); i += 4)
      sum += (u[i + 1] * u[i + 1] + u[i + 2] * u[i + 2]) / (2.0 * u[i]);
    return sum / static_cast<double>(side * side);
  }

 private:
  static constexpr double gamma = 1.4;

  // What a state carries across a face in the direction `axis`, and the speed of its fastest wave.
  template <class T>
  static State<T> flux(const T* u, int axis, T& speed) {
    using std::fabs, std::sqrt;
    const T inverse = 1.0 / u[0];
    const T velocity = u[1 + axis] * inverse;
    const T pressure = (gamma - 1) * (u[3] - 0.5 * (u[1] * u[1] + u[2] * u[2]) * inverse);
    speed = fabs(velocity) + sqrt(gamma * pressure * inverse);
    State<T> f = {u[1 + axis], u[1] * velocity, u[2] * velocity, (u[3] + pressure) * velocity};
    f[1 + axis] += pressure;
    return f;
  }

  template <class T>
  static void cross_face(const T* left, const T* right, int axis, double ratio, T* next_left, T* next_right) {
    T speed_left, speed_right;
    const State<T> from_left = flux(left, axis, speed_left), from_right = flux(right, axis, speed_right);
    const T& speed = speed_left > speed_right ? speed_left : speed_right;
    for (std::size_t k = 0; k < 4; ++k) {
      const T moved = 0.5 * ratio * (from_left[k] + from_right[k] - speed * (right[k] - left[k]));
      next_left[k] -= moved;
      next_right[k] += moved;
    }
  }
};

}  // namespace tidemark::bench
