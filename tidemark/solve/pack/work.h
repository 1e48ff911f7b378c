// The effort of a packing, counted in work units (a step of an inner loop, about a nanosecond) so that equal
// input and equal effort give equal output on any machine. A limit in seconds comes on top only where a user
// asks for one.
#pragma once
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "tidemark/solve/search_control.h"

namespace tidemark::packing {

class WorkMeter {
 public:
  WorkMeter(std::int64_t work, std::optional<double> seconds, SearchControl* control = nullptr)
      : left_(work), control_(control) {
    if (seconds) deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(Bounded(*seconds));
  }

  void spend(std::int64_t units) {
    left_ -= units;
    since_look_ += units;
    if (since_look_ < look_every || !(deadline_ || control_)) return;
    const bool stop = control_ && control_->spent(since_look_ / steps_a_unit);
    since_look_ = 0;
    if (stop || (deadline_ && Clock::now() >= *deadline_)) left_ = 0;
  }
  bool exhausted() const { return left_ <= 0; }
  std::int64_t left() const { return left_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t look_every = 1'000'000;
  static std::chrono::duration<double> Bounded(double seconds) {
    constexpr double year = 3.2e7;  // the clock's own range is in integers
    return std::chrono::duration<double>(seconds < year ? seconds : year);
  }

  static constexpr std::int64_t steps_a_unit = 1000;  // of a search's work

  std::int64_t left_;
  SearchControl* control_;
  std::int64_t since_look_ = 0;
  std::optional<Clock::time_point> deadline_;
};

// Splitmix64 (Steele, Lea, Flood 2014): small, seeded, the same everywhere.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)

 private:
  std::uint64_t state_;
};

}  // namespace tidemark::packing
