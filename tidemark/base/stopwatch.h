// How long something takes.
#pragma once
#include <chrono>

namespace tidemark {

class Stopwatch {
 public:
  // Since it was made.
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

double seconds_taken(const auto& f) {
  const Stopwatch watch;
  f();
  return watch.seconds();
}

}  // namespace tidemark
