#include "tidemark/base/parallel.h"

#include <pthread.h>

#include <chrono>
#include <utility>

namespace tidemark {
namespace {

thread_local bool inside_task = false;

// How long idle workers look before they sleep: a few small kernels that stay on the calling thread must fit in, since
// waking a sleeper takes longer than most of them. The clock is asked only now and then.
constexpr auto watch_before_sleep = std::chrono::microseconds(100);
constexpr int spins_per_glance = 256;
// How long the caller looks for the end of what others still do, before it lets them have its core.
constexpr int spins_before_yield = 4000;

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

void wait_for_change(const std::atomic<std::uint32_t>& generation, std::uint32_t seen) {
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int spin = 0; spin < spins_per_glance; ++spin) {
      if (generation.load() != seen) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() - begin < watch_before_sleep);
  while (generation.load() == seen) generation.wait(seen);
}

// Kernels keep the blocks they work on upon the stack, up to 3 MiB (attention's gradient in f64). New threads get what
// `ulimit -s` says, usually 8 MiB, but only 2 MiB where that is unlimited. std::thread takes no size, so the default is raised while
// workers start; a thread that somebody else starts meanwhile gets a roomy stack, too.
class RoomyStacks {
 public:
  RoomyStacks() {
#if defined(__GLIBC__)
    pthread_getattr_default_np(&before_);
    std::size_t bytes = 0;
    pthread_attr_getstacksize(&before_, &bytes);
    if (bytes >= least) return;
    pthread_attr_t roomy;
    pthread_getattr_default_np(&roomy);
    pthread_attr_setstacksize(&roomy, least);
    pthread_setattr_default_np(&roomy);
    pthread_attr_destroy(&roomy);
#endif
  }
  ~RoomyStacks() {
#if defined(__GLIBC__)
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
#endif
  }
  RoomyStacks(const RoomyStacks&) = delete;
  RoomyStacks& operator=(const RoomyStacks&) = delete;

 private:
  static constexpr std::size_t least = std::size_t{8} << 20;
#if defined(__GLIBC__)
  pthread_attr_t before_;
#endif
};

}  // namespace

ThreadPool::ThreadPool(int threads) {
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency());
  const RoomyStacks stacks;
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
    wait_for_change(generation_, seen);
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
    if (spin < spins_before_yield) {
      pause();
    } else {
      std::this_thread::yield();  // fewer cores than threads: the one waited for may need this core
    }
  }
  if (failed_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace tidemark
