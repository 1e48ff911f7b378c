#include "tidemark/base/parallel.h"

#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tidemark/base/pool_thrift.h"

namespace tidemark {
namespace {

using Nanoseconds = PoolThrift::Nanoseconds;

thread_local bool inside_task = false;

// Between two looks at the clock: far less than the shortest patience.
constexpr int spins_per_glance = 32;
// Nobody who watches the clock sees it leap so far, unless something else ran on the core meanwhile.
constexpr Nanoseconds leap = 30 * PoolThrift::microsecond;

Nanoseconds now() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// As the threads do: every task runs, then the failure of the first is thrown.
void run_inline(std::int64_t tasks, TaskRef f, bool backwards = false) {
  std::exception_ptr failure;
  for (std::int64_t i = 0; i < tasks; ++i) {
    try {
      f(backwards ? tasks - 1 - i : i);
    } catch (...) {
      if (!failure || backwards) failure = std::current_exception();
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

// Looks for a change as long as patience lasts.
template <class Changed>
bool watch(PoolThrift& thrift, const Changed& changed) {
  const Nanoseconds begin = now(), end = begin + thrift.patience();
  for (Nanoseconds glance = begin; glance < end;) {
    for (int spin = 0; spin < spins_per_glance; ++spin) {
      if (changed()) return true;
      pause();
    }
    const Nanoseconds before = std::exchange(glance, now());
    if (glance - before > leap) {
      thrift.core_was_lost();
      break;
    }
  }
  return changed();
}

// One call of run(), for others to take tasks from. A slot serves one call after another; the number of the
// call stands beside the next task in one word, so that a thread that was held up cannot claim a task of a
// later call by mistake.
class alignas(64) Batch {
 public:
  static constexpr std::int64_t most_tasks = std::numeric_limits<std::int32_t>::max();

  // For the caller: the slot is its own from take() to leave().
  bool take() { return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true); }
  void leave() { taken_ = false; }
  void open(std::int64_t tasks, const TaskRef& f) {
    const std::uint64_t call = ((next_.load() >> 32) + 1) << 32;
    next_ = call | closed;  // before the fields change
    failure_ = nullptr;
    f_ = &f;
    tasks_ = static_cast<std::uint32_t>(tasks);
    done_ = 0;
    next_ = call;
  }
  bool all_done() const { return done_.load() == static_cast<int>(tasks_.load()); }
  void sleep_until_done() const {
    for (int done = done_.load(); done != static_cast<int>(tasks_.load()); done = done_.load())
      done_.wait(done);
  }
  std::exception_ptr failure() { return std::exchange(failure_, nullptr); }

  // For everybody: runs the next task, if there is one left.
  bool run_one() {
    std::uint64_t next = next_.load();
    for (;;) {
      const auto task = static_cast<std::uint32_t>(next);
      const std::uint32_t tasks = tasks_.load();
      const TaskRef* f = f_.load();
      if (task >= tasks) return false;
      if (!next_.compare_exchange_weak(next, next + 1)) continue;
      // The call cannot end before this task: its fields are what was read.
      try {
        (*f)(task);
      } catch (...) {
        const std::lock_guard lock(failing_);
        if (!failure_ || task < failed_task_) failure_ = std::current_exception(), failed_task_ = task;
      }
      if (done_.fetch_add(1) + 1 == static_cast<int>(tasks)) done_.notify_one();
      return true;
    }
  }
  std::int64_t left() const {
    const std::int64_t next = static_cast<std::uint32_t>(next_.load()), tasks = tasks_.load();
    return tasks > next ? tasks - next : 0;
  }

 private:
  static constexpr std::uint64_t closed = std::numeric_limits<std::uint32_t>::max();

  std::atomic<std::uint64_t> next_{closed};  // number of the call << 32 | task to be claimed next
  std::atomic<std::uint32_t> tasks_{0};
  std::atomic<const TaskRef*> f_{nullptr};
  std::atomic<int> done_{0};
  std::atomic<bool> taken_{false};
  std::mutex failing_;
  std::exception_ptr failure_;
  std::uint32_t failed_task_ = 0;
};

// Adds one for its lifetime.
class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count), now_(count.fetch_add(1) + 1) {}
  ~Counted() { count_.fetch_sub(1); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  int now() const { return now_; }  // as it was counted

 private:
  std::atomic<int>& count_;
  int now_;
};

class InsideTask {
 public:
  InsideTask() { inside_task = true; }
  ~InsideTask() { inside_task = false; }
  InsideTask(const InsideTask&) = delete;
  InsideTask& operator=(const InsideTask&) = delete;
};

}  // namespace

class ThreadPool::Crew {
 public:
  explicit Crew(int threads) : threads_(threads), batches_(static_cast<std::size_t>(threads)) {
    try {
      for (int i = 1; i < threads; ++i)
        workers_.emplace_back([this, i] { work(static_cast<std::size_t>(i)); });
    } catch (...) {  // the system makes no more: those that there are end before the reason goes on
      dismiss();
      throw;
    }
  }
  ~Crew() { dismiss(); }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void run(std::int64_t tasks, const TaskRef& f) {
    const Counted caller(callers_);
    const Nanoseconds begin = now();
    Batch* batch = caller.now() < threads_ && tasks <= Batch::most_tasks && !thrift_.alone(begin)
                       ? free_batch()
                       : nullptr;
    if (!batch) return run_inline(tasks, f);
    batch->open(tasks, f);
    generation_.fetch_add(1);
    wake(tasks - 1);
    const std::exception_ptr failure = share(*batch, tasks, begin);
    batch->leave();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  void dismiss() {
    stop_ = true;
    generation_.fetch_add(1);
    generation_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  Batch* free_batch() {
    for (Batch& batch : batches_) {
      if (batch.take()) return &batch;
    }
    return nullptr;
  }

  // The caller's part: runs what nobody else has begun, waits for the rest, and sees what that was worth.
  std::exception_ptr share(Batch& batch, std::int64_t tasks, Nanoseconds begin) {
    const Nanoseconds called = now();
    Nanoseconds end = called, shortest = std::numeric_limits<Nanoseconds>::max(), longest = 0;
    std::int64_t own = 0;
    {
      const InsideTask inside;
      for (; batch.run_one(); ++own) {
        const Nanoseconds took = now() - end;
        end += took;
        shortest = std::min(shortest, took), longest = std::max(longest, took);
      }
    }
    Nanoseconds waited = 0;
    if (!batch.all_done()) {
      if (!watch(thrift_, [&] { return batch.all_done(); })) batch.sleep_until_done();
      waited = now() - end;
    }
    // Others may be in the middle of a task as long as any when the caller finds none left: no fault of
    // theirs.
    thrift_.account(end + waited, own > 0 ? (tasks - own) * shortest : 0,
                    called - begin + (own > 0 && waited > longest ? waited - longest : 0));
    return batch.failure();
  }

  // Wakes sleepers for so many tasks: two, each of which does the same when it has found work.
  void wake(std::int64_t tasks) {
    for (int i = 0; i < 2 && tasks > watching_.load() + i && sleeping_.load() > 0; ++i)
      generation_.notify_one();
  }

  // Workers that compute are counted in and out one by one, so that together with the callers they are as
  // many as the pool has threads, and not fewer because several looked at once.
  bool step_in() {
    int helpers = helpers_.load();
    while (callers_.load() + helpers < threads_) {
      if (helpers_.compare_exchange_weak(helpers, helpers + 1)) return true;
    }
    return false;
  }
  bool step_out_for_a_caller() {
    int helpers = helpers_.load();
    while (callers_.load() + helpers > threads_) {
      if (helpers_.compare_exchange_weak(helpers, helpers - 1)) return true;
    }
    return false;
  }

  // Takes part in anybody's work. A worker that was woken sees to it that others are, too.
  bool help(std::size_t worker, bool woken) {
    const InsideTask inside;
    bool helped = false;
    for (std::size_t i = 0; i < batches_.size(); ++i) {
      Batch& batch = batches_[(worker + i) % batches_.size()];
      if (batch.left() == 0) continue;
      if (!step_in()) break;
      if (std::exchange(woken, false)) wake(batch.left() - 1);
      while (batch.run_one()) {
        helped = true;
        if (step_out_for_a_caller()) return true;
      }
      helpers_.fetch_sub(1);
    }
    return helped;
  }

  void work(std::size_t worker) {
    bool woken = false;
    for (;;) {
      // In this order: an end that is not seen yet changes the generation that is waited for.
      const int seen = generation_.load();
      if (stop_.load()) return;
      if (help(worker, std::exchange(woken, false))) continue;
      const auto called = [&] { return generation_.load() != seen; };
      bool found = false;
      {
        const Counted watching(watching_);
        found = watch(thrift_, called);
      }
      if (found) continue;
      const Counted sleeping(sleeping_);
      generation_.wait(seen);
      woken = true;
    }
  }

  const int threads_;
  std::vector<Batch> batches_;  // enough for all callers that share
  std::vector<std::thread> workers_;
  PoolThrift thrift_;
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<int> generation_{0};  // bumped for every batch; workers wait for a change
  std::atomic<int> watching_{0}, sleeping_{0};  // workers without work
  alignas(64) std::atomic<int> callers_{0};
  std::atomic<int> helpers_{0};  // workers that compute
};

ThreadPool::ThreadPool(int threads)
    : threads_(threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))),
      crew_(threads_ > 1 ? std::make_unique<Crew>(threads_) : nullptr) {}

ThreadPool::ThreadPool(int threads, std::nullptr_t) : threads_(threads), backwards_(true) {}

ThreadPool::~ThreadPool() = default;

void ThreadPool::run(std::int64_t tasks, TaskRef f) {
  if (tasks <= 0) return;
  for (std::int64_t most = most_tasks(); tasks > most;) {
    if (most_tasks_.compare_exchange_weak(most, tasks, std::memory_order_relaxed)) break;
  }
  if (tasks == 1 || !crew_ || inside_task) {
    run_inline(tasks, f, backwards_);
  } else {
    crew_->run(tasks, f);
  }
}

}  // namespace tidemark
