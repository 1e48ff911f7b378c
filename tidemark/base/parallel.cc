#include "tidemark/base/parallel.h"

#include <utility>

namespace tidemark {
namespace {

thread_local bool inside_task = false;

// About 20 µs of looking before sleeping: longer than the gap between two kernels of a plan, shorter than a wake-up hurts.
constexpr int spins_before_sleep = 4000;

// As the threads do: every task runs, then the first failure is thrown.
void run_inline(std::int64_t tasks, TaskRef f) {
  std::exception_ptr failure;
  for (std::int64_t task = 0; task < tasks; ++task) {
    try {
      f(task);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  generation_.fetch_add(1);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::drain() {
  inside_task = true;
  for (;;) {
    const std::int64_t task = next_.fetch_add(1);
    if (task >= tasks_) break;
    try {
      task_(task);
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
  }
  inside_task = false;
}

void ThreadPool::work() {
  std::uint32_t seen = 0;
  for (;;) {
    for (int spin = 0; generation_.load() == seen; ++spin) {
      if (spin < spins_before_sleep) {
        pause();
      } else {
        generation_.wait(seen);
      }
    }
    seen = generation_.load();
    if (stop_) return;
    drain();
    busy_.fetch_sub(1);
  }
}

void ThreadPool::run(std::int64_t tasks, TaskRef f) {
  if (tasks <= 0) return;
  if (tasks == 1 || workers_.empty() || inside_task) {
    run_inline(tasks, f);
    return;
  }
  task_ = f;
  tasks_ = tasks;
  failed_ = false;
  next_ = 0;
  busy_ = static_cast<int>(workers_.size());
  generation_.fetch_add(1);  // publishes the fields above
  generation_.notify_all();
  drain();
  for (int spin = 0; busy_.load() != 0; ++spin) {
    if (spin < spins_before_sleep) {
      pause();
    } else {
      std::this_thread::yield();  // fewer cores than threads: the one waited for may need this core
    }
  }
  if (failed_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace tidemark
