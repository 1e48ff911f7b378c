// How hard a search tries: one word for all who are asked it, from `compile` and the command to the passes.
#pragma once
#include <optional>

namespace tidemark {

// A factor is a multiple of the normal and counted in work units, so that plans are the same everywhere. A
// time is a limit on all of a planning: the best found by then is taken, whatever that is on this machine.
struct Effort {
  double factor = 1;
  std::optional<double> seconds = {};  // instead of the factor

  constexpr Effort(double f = 1) : factor(f) {}  // NOLINT: implicit by design
  // A std::chrono::duration. That header takes long to compile, so only who uses it includes it.
  template <class Duration>
  requires requires { Duration::period::den; }
  constexpr Effort(Duration limit)  // NOLINT: implicit by design
      : seconds(static_cast<double>(limit.count()) * static_cast<double>(Duration::period::num) /
                static_cast<double>(Duration::period::den)) {}

  // A share of it: of the work; a limit in time is shared by whoever watches the clock (TimeShare).
  constexpr Effort& operator*=(double share) {
    factor *= share;
    return *this;
  }
  constexpr Effort at_most(const Effort& other) const {
    Effort least = *this;
    if (other.factor < factor) least.factor = other.factor;
    return least;
  }
  static const Effort quick, normal, best;
};
inline constexpr Effort Effort::quick{0.1};
inline constexpr Effort Effort::normal{1};
inline constexpr Effort Effort::best{10};

}  // namespace tidemark
