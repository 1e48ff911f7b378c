// Random programs over scalars: straight lines, branches, loops and expressions over every function, for any
// number type. One seed is one program; all number types run the same.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/base/philox.h"
#include "tidemark/scalar/scalar.h"

namespace tidemark::scalars::program {

struct Statement {
  std::uint32_t kind, form;
  int to, a, b, c;
  double constant;
};
struct Program {
  static constexpr int inputs = 4, registers = 9;
  std::vector<double> at;
  std::vector<Statement> statements;
};

inline Program random_program(std::uint64_t seed) {
  Philox random{seed};
  std::uint64_t counter = 0;
  const auto words = [&] { return random(counter++); };
  Program program;
  for (int i = 0; i < Program::inputs; ++i) {
    const auto w = words();
    program.at.push_back(-2 + 4 * unit_double(w[0], w[1]));
  }
  const int length = 4 + static_cast<int>(words()[0] % 22);
  for (int i = 0; i < length; ++i) {
    const auto w = words(), v = words();
    program.statements.push_back(
        {w[0], w[1], static_cast<int>(w[2] % Program::registers), static_cast<int>(w[3] % Program::registers),
         static_cast<int>(v[0] % Program::registers), static_cast<int>(v[1] % Program::registers),
         -2 + 4 * unit_double(v[2], v[3])});
  }
  return program;
}

// Into (low, high), smoothly, so that any function follows any other.
template <class T>
auto into(const T& x, double low, double high) {
  return std::sin(x) * (0.49 * (high - low)) + 0.5 * (low + high);
}

// A function of the table, alone or within an expression.
template <class T>
T of_one(std::uint32_t form, const T& x) {
  std::uint32_t row = 0;
  std::uint32_t rows = 0;
#define TM_UNARY(...) ++rows;
#define TM_TENSOR_UNARY(...) ++rows;
#define TM_BINARY(...)
#define TM_TENSOR_BINARY(...)
#define TM_OWN(name)
#define TM_PLAIN(name)
#define TM_PLAIN_PAIR(name)
#include "tidemark/scalar/functions.def"
  const std::uint32_t wanted = form % rows;
  const bool alone = (form >> 16) % 2 == 0;
#define TM_UNARY(name, F, low, high)                       \
  if (row++ == wanted) {                                   \
    if (alone) {                                           \
      const T y = into(x, low, high);                      \
      return std::name(y);                                 \
    }                                                      \
    return 0.5 * std::name(into(x, low, high)) - x * 0.25; \
  }
#define TM_TENSOR_UNARY(name, F, low, high)                       \
  if (row++ == wanted) {                                          \
    if constexpr (std::is_same_v<T, double>)                      \
      return 0.5 * F::value(into(x, low, high)) - x * 0.25;       \
    else                                                          \
      return 0.5 * tidemark::name(into(x, low, high)) - x * 0.25; \
  }
#define TM_BINARY(...)
#define TM_TENSOR_BINARY(...)
#define TM_OWN(name)
#define TM_PLAIN(name)
#define TM_PLAIN_PAIR(name)
#include "tidemark/scalar/functions.def"
  return x;
}

template <class T>
T of_two(std::uint32_t form, const T& x, const T& y, double c) {
  switch (form % 18) {
    case 0:
      return std::atan2(x, y);
    case 1:
      return std::hypot(x, y + c);
    case 2:
      return std::fmod(into(x, 1, 6), 1 + y * y);
    case 3:
      return std::remainder(into(x, 1, 6), into(y, 1, 2));
    case 4:
      return std::fdim(x, y);
    case 5:
      return std::max(x, y);
    case 6:
      return std::min(x * c, y);
    case 7:
      return std::fmax(x, c) + std::fmin(y, x * y);
    case 8:
      return std::pow(into(x, 0.3, 2), into(y, -2, 2));
    case 9:
      return std::pow(into(x, 0.3, 2), c) + std::pow(2.5, into(y, -1, 1));
    case 10:
      return std::pow(into(x, -2, 2), static_cast<int>(form >> 8) % 4) * y;
    case 11:
      return std::copysign(x, y) + std::ldexp(y, static_cast<int>(form >> 8) % 5 - 2);
    case 12:
      return std::max({x, y, T(c)});
    case 13:
      return std::clamp(x, c, c + 1) - std::clamp(y * x, -1.0, 1.0);
    case 14: {
      int n = 0;
      T whole = 0;
      const T mantissa = std::frexp(x, &n), rest = std::modf(y, &whole);
      return mantissa * n + rest * whole;
    }
    case 15:
      return std::max(c, x * x) + std::fmin(x, y);
    case 16:
      return std::floor(x) * y + std::round(y) * std::abs(x);
    default:
      return std::max(c, y) / (1.5 + std::sin(x));
  }
}

template <class T>
T of_three(std::uint32_t form, const T& x, const T& y, const T& z, double c) {
  switch (form % 12) {
    case 0:
      return std::fma(x, y, z) * 0.3;
    case 1:
      return std::hypot(x, y, z);
    case 2:
      return std::lerp(x, y, z) * 0.3;
    case 3:
      return x * y + z * 0.5 - c / (2.5 + std::cos(x));
    case 4:
      return -x + (+y) - z;
    case 5:
      return x > y ? x * z : c;
    case 6:
      return x < z ? y : z;
    case 7:
      return (x - y) * (x + z) / (1 + z * z + y * y);
    case 8:
      return c - (c * x - y / 3) + (z - 1) * 0.5;
    case 9:
      return std::exp(-x * x) * std::sin(y * c) + std::sqrt(1 + z * z);
    case 10:
      return x + y + x - z + x;
    default:
      return std::log(1 + x * x) * std::tanh(z - y) + std::fma(0.5, x, c);
  }
}

// `seen(x)` is told of each register that is written.
template <class T, class Seen>
T run(const Program& program, std::span<const T> inputs, const Seen& seen) {
  std::vector<T> r(inputs.begin(), inputs.end());
  for (int i = Program::inputs; i < Program::registers; ++i) r.push_back(T(0.25 * i - 1));
  for (const Statement& s : program.statements) {
    const T a = r[s.a], b = r[s.b], c = r[s.c];
    T y = 0;
    switch (s.kind % 8) {
      case 0:
      case 1:
      case 2:
        y = of_one(s.form, a);
        break;
      case 3:
      case 4:
        y = of_two(s.form, a, b, s.constant);
        break;
      case 5:
        y = of_three(s.form, a, b, c, s.constant);
        break;
      case 6:
        y = a;
        if ((s.form & 1) != 0) y += b * s.constant;
        if ((s.form & 2) != 0) y -= c;
        if ((s.form & 4) != 0) y *= b;
        if ((s.form & 8) != 0) y /= 2 + c * c;
        if ((s.form & 16) != 0) ++y;
        if ((s.form & 32) != 0) r[s.a] = y-- * 0.5;
        break;
      default:
        y = a;
        for (std::uint32_t i = 0; i < s.form % 5; ++i) {
          if (y > 1.5) y = b - y * 0.5;
          y = y * 0.75 + std::sin(b * y) * s.constant;
        }
    }
    if (std::abs(y) > 8) y = y / (1 + std::abs(y));
    r[s.to] = y;
    seen(y);
  }
  T sum = 0;
  for (const T& x : r) sum += x;
  return sum;
}

}  // namespace tidemark::scalars::program
