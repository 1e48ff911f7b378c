// The part of the standard library that formulas use, for a compiler that has none: NVRTC is given this text
// under the names of the standard headers (cuda/device_texts.h), so that a kernel needs no folder of headers
// where it is compiled. No other compiler sees it.
#pragma once

namespace std {

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using size_t = decltype(sizeof(0));
enum class byte : unsigned char {};

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T>
inline constexpr bool is_integral_v =
    is_same_v<T, bool> || is_same_v<T, int8_t> || is_same_v<T, int16_t> || is_same_v<T, int32_t> ||
    is_same_v<T, int64_t> || is_same_v<T, uint8_t> || is_same_v<T, uint16_t> || is_same_v<T, uint32_t> ||
    is_same_v<T, uint64_t>;
template <class T>
inline constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T>
inline constexpr bool is_signed_v = T(-1) < T(0);
template <class T>
concept floating_point = is_floating_point_v<T>;
template <class T>
concept integral = is_integral_v<T>;

template <bool condition, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool condition, class A, class B>
using conditional_t = typename conditional<condition, A, B>::type;
template <class T>
using make_unsigned_t =
    conditional_t<sizeof(T) == 8, uint64_t,
                  conditional_t<sizeof(T) == 4, uint32_t, conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;

template <class To, class From>
constexpr To bit_cast(const From& x) {
  return __builtin_bit_cast(To, x);
}

template <class T, size_t count>
struct array {
  T elements[count];
  constexpr T& operator[](size_t i) { return elements[i]; }
  constexpr const T& operator[](size_t i) const { return elements[i]; }
};

template <class T>
struct numeric_limits {  // of integers
  static constexpr bool has_infinity = false;
  static constexpr int digits = static_cast<int>(8 * sizeof(T)) - (is_signed_v<T> ? 1 : 0);
  static constexpr T max() {
    return static_cast<T>(is_signed_v<T> ? ~make_unsigned_t<T>(0) >> 1 : ~make_unsigned_t<T>(0));
  }
  static constexpr T min() { return is_signed_v<T> ? static_cast<T>(-max() - 1) : T(0); }
};
template <>
struct numeric_limits<float> {
  static constexpr bool has_infinity = true;
  static constexpr int digits = 24;
  static constexpr float infinity() { return bit_cast<float>(0x7f800000u); }
  static constexpr float quiet_NaN() { return bit_cast<float>(0x7fc00000u); }
  static constexpr float max() { return bit_cast<float>(0x7f7fffffu); }
};
template <>
struct numeric_limits<double> {
  static constexpr bool has_infinity = true;
  static constexpr int digits = 53;
  static constexpr double infinity() { return bit_cast<double>(0x7ff0000000000000ull); }
  static constexpr double quiet_NaN() { return bit_cast<double>(0x7ff8000000000000ull); }
  static constexpr double max() { return bit_cast<double>(0x7fefffffffffffffull); }
};

namespace numbers {
inline constexpr double pi = 3.14159265358979323846, inv_sqrtpi = 0.564189583547756286948,
                        sqrt2 = 1.41421356237309504880, ln2 = 0.693147180559945309417,
                        log2e = 1.44269504088896340736, log10e = 0.434294481903251827651;
}  // namespace numbers

using ::abs, ::acos, ::acosh, ::asin, ::asinh, ::atan, ::atan2, ::atanh, ::ceil, ::copysign, ::cos, ::cosh,
    ::erf, ::erfc, ::exp, ::exp2, ::expm1, ::fabs, ::floor, ::fma, ::fmax, ::fmod, ::frexp, ::ldexp, ::log,
    ::log10, ::log1p, ::log2, ::nearbyint, ::pow, ::sin, ::sinh, ::sqrt, ::tan, ::tanh;

// Named by declarations of headers that formulas include, and used by nothing that a kernel calls.
template <class T>
class optional;
class string;
class string_view {
 public:
  constexpr string_view(const char*) {}
};
template <class R, class T>
constexpr bool in_range(T value) {
  return static_cast<T>(static_cast<R>(value)) == value;
}

}  // namespace std

// The host's form of lgamma that keeps the sign to itself.
inline double lgamma_r(double x, int*) { return lgamma(x); }
