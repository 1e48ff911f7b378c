// A number that counts: each +, -, *, / and each elementary function is one operation. Assignments,
// comparisons and what is computed of constants alone are none.
#pragma once
#include <cmath>
#include <cstdint>

namespace tidemark::bench {

class Counted {
 public:
  Counted() = default;
  Counted(double value) : value_(value) {}  // NOLINT: implicit, as from a number

  static inline std::int64_t operations = 0;

  friend Counted operator+(Counted a, Counted b) { return result(a.value_ + b.value_); }
  friend Counted operator-(Counted a, Counted b) { return result(a.value_ - b.value_); }
  friend Counted operator*(Counted a, Counted b) { return result(a.value_ * b.value_); }
  friend Counted operator/(Counted a, Counted b) { return result(a.value_ / b.value_); }
  friend Counted operator-(Counted a) { return result(-a.value_); }
  Counted& operator+=(Counted other) { return *this = *this + other; }
  Counted& operator-=(Counted other) { return *this = *this - other; }
  friend bool operator<(Counted a, Counted b) { return a.value_ < b.value_; }
  friend bool operator>(Counted a, Counted b) { return a.value_ > b.value_; }

  friend Counted exp(Counted a) { return result(std::exp(a.value_)); }
  friend Counted log(Counted a) { return result(std::log(a.value_)); }
  friend Counted sqrt(Counted a) { return result(std::sqrt(a.value_)); }
  friend Counted tanh(Counted a) { return result(std::tanh(a.value_)); }
  friend Counted fabs(Counted a) { return result(std::fabs(a.value_)); }

  double value() const { return value_; }

 private:
  static Counted result(double value) {
    ++operations;
    return value;
  }

  double value_ = 0;
};

}  // namespace tidemark::bench
