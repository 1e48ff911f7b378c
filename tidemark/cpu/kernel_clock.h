// Times kernels. With one thread, everything a kernel does happens in the calling thread, and that thread's
// own processor time leaves out what other processes take; with more, only the time of day sees them all.
#pragma once
#include <time.h>

#include <algorithm>

namespace tidemark {

class KernelClock {
 public:
  explicit KernelClock(int threads) : id_(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC) {
    cost_ = 1;
    for (int i = 0; i < 64; ++i) {
      const double begin = now();
      cost_ = std::min(cost_, now() - begin);
    }
  }

  double now() const {  // seconds
    timespec t{};
    clock_gettime(id_, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  double cost() const { return cost_; }  // of asking, to be taken off
  static constexpr double resolution() { return 1e-9; }

 private:
  clockid_t id_;
  double cost_;
};

}  // namespace tidemark
