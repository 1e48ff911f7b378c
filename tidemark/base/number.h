// A C++ number given as an argument. Whole numbers keep their 64 bits: above 2^53 a double would round them
// in silence.
#pragma once
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace tidemark {

template <std::floating_point T>
constexpr T power_of_two(int exponent) {  // from 1 to 64
  return T(2) * static_cast<T>(std::uint64_t{1} << (exponent - 1));
}

// The nearest number of an integer type; NaN gives 0.
template <std::integral To, std::floating_point From>
To saturated(From x) {
  if (x != x) return 0;
  // The bounds are powers of two or zero, exact in every floating-point type.
  constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From above = power_of_two<From>(std::numeric_limits<To>::digits);
  if (x <= low) return std::numeric_limits<To>::min();
  if (x >= above) return std::numeric_limits<To>::max();
  return static_cast<To>(x);
}

class Number {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Number(T value) {  // NOLINT: implicit by design
    if constexpr (std::is_integral_v<T>) {
      is_whole_ = std::is_same_v<T, bool> || std::in_range<std::int64_t>(as_integer(value));
      if (is_whole_) whole_ = static_cast<std::int64_t>(value);
    }
    real_ = static_cast<double>(value);
  }

  bool is_whole() const { return is_whole_; }  // given as an integer of at most 64 bits with its sign
  std::int64_t whole() const { return whole_; }
  double real() const { return real_; }  // rounded if it is whole and large

  // Is it a number of T, to the last digit? Numbers that were not given as integers may be rounded to a
  // float.
  template <class T>
  bool fits() const {
    if constexpr (std::is_floating_point_v<T>) {
      return !is_whole_ || (static_cast<T>(whole_) < T(0x1p63) &&
                            static_cast<std::int64_t>(static_cast<T>(whole_)) == whole_);
    } else if (is_whole_) {
      if constexpr (std::is_same_v<T, bool>) {
        return whole_ == 0 || whole_ == 1;
      } else {
        return whole_ >= std::int64_t{std::numeric_limits<T>::min()} &&
               (whole_ < 0 || static_cast<std::uint64_t>(whole_) <= std::numeric_limits<T>::max());
      }
    } else {
      return static_cast<double>(saturated<T>(real_)) == real_ &&
             real_ < power_of_two<double>(std::numeric_limits<T>::digits);
    }
  }
  template <class T>
  T as() const {
    if (is_whole_) return static_cast<T>(whole_);
    if constexpr (std::is_same_v<T, bool>) {
      return real_ != 0;
    } else if constexpr (std::is_integral_v<T>) {
      return saturated<T>(real_);
    } else {
      return static_cast<T>(real_);
    }
  }

 private:
  template <class T>
  static constexpr auto as_integer(T value) {  // in_range takes no characters
    if constexpr (std::is_signed_v<T>) {
      return static_cast<std::int64_t>(value);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }

  double real_ = 0;
  std::int64_t whole_ = 0;
  bool is_whole_ = false;
};

std::string to_string(const Number& number);  // all digits of a whole number

}  // namespace tidemark
