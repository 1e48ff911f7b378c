// When handing tasks to other threads pays, and how long it pays to watch for them before sleeping.
//
// On a quiet machine both pay. Where other programs want the same cores, a worker may lose its core in the
// middle of a task, and whoever waits for it waits many times as long as the task takes; a thread that only
// watches takes the core from somebody who would compute. So gains and losses are counted: a caller that has
// lost more than a little computes alone for eight times as long as that, then tries again. Losses stay a
// ninth of the time, whatever others do. Watching gets short when it was seen to be in the way, and longer
// again while sharing goes well.
//
// Callers on several threads share one account; an update may be lost where two meet, which only blurs the
// figures.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tidemark {

class PoolThrift {
 public:
  using Nanoseconds = std::int64_t;
  static constexpr Nanoseconds microsecond = 1000;

  bool alone(Nanoseconds now) const { return now < alone_until_.load(std::memory_order_relaxed); }
  Nanoseconds patience() const { return patience_.load(std::memory_order_relaxed); }

  // After shared work: what others took off the caller, and what it spent on calling and waiting beyond that.
  void account(Nanoseconds now, Nanoseconds gained, Nanoseconds lost) {
    if (lost > bearable) {
      core_was_lost();
    } else if (gained > 0) {
      const Nanoseconds patience = this->patience();
      patience_.store(std::min(most_patience, patience + patience / 8), std::memory_order_relaxed);
    }
    Nanoseconds credit = std::min(credit_.load(std::memory_order_relaxed) + gained - lost, most_credit);
    if (credit < 0) {
      alone_until_.store(now + times_alone * (first_credit - credit), std::memory_order_relaxed);
      credit = first_credit;
    }
    credit_.store(credit, std::memory_order_relaxed);
  }
  // A thread that watched found that it had not run in between: others want the cores.
  void core_was_lost() { patience_.store(least_patience, std::memory_order_relaxed); }

 private:
  static constexpr Nanoseconds bearable = 30 * microsecond;
  static constexpr Nanoseconds least_patience = 2 * microsecond, most_patience = 100 * microsecond;
  // Enough to wake a worker and see it pay. What was gained counts against the few milliseconds that a lost
  // core takes now and then, and is not saved up for longer, so that a change shows soon.
  static constexpr Nanoseconds first_credit = 100 * microsecond, most_credit = 10'000 * microsecond;
  static constexpr Nanoseconds times_alone = 8;

  std::atomic<Nanoseconds> alone_until_{0};
  std::atomic<Nanoseconds> credit_{first_credit};
  std::atomic<Nanoseconds> patience_{50 * microsecond};
};

}  // namespace tidemark
