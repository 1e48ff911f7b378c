// The processor's own counter: a fifth of what the system's clock takes to read. It counts at a steady rate,
// the same on all cores, and becomes nanoseconds of the system's clock by two readings of both, one before
// and one behind what is timed.
#pragma once
#include <algorithm>
#include <cstdint>

#include "tidemark/runtime/recorded_times.h"

namespace tidemark {

inline std::int64_t ticks_now() {
#if defined(__aarch64__)
  std::int64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#elif defined(__x86_64__)
  return static_cast<std::int64_t>(__builtin_ia32_rdtsc());
#else
  return clock_now();
#endif
}

class TickClock {
 public:
  void start() { ticks_ = ticks_now(), nanoseconds_ = clock_now(); }
  void stop() {
    const std::int64_t ticks = std::max<std::int64_t>(ticks_now() - ticks_, 1);
    rate_ = static_cast<double>(clock_now() - nanoseconds_) / static_cast<double>(ticks);
  }
  // Between start and stop, once it is stopped.
  std::int64_t length(std::int64_t ticks) const {
    return static_cast<std::int64_t>(rate_ * static_cast<double>(ticks));
  }
  std::int64_t time(std::int64_t ticks) const { return nanoseconds_ + length(ticks - ticks_); }

 private:
  std::int64_t ticks_ = 0, nanoseconds_ = 0;  // of the start
  double rate_ = 0;                           // nanoseconds per tick
};

}  // namespace tidemark
