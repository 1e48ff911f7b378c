// One pool of threads for everything that computes: kernels and the BLAS calls made from inside them.
//
// Work is cut into tasks by the problem's size alone, never by the number of threads, and each task writes
// its own part of the result, so results do not depend on how many threads there are or on who took which
// task. Any number of threads may call at once. Each takes tasks of its own call, workers take what is left
// of anybody's, and no more threads compute than the pool has: callers that are as many run their tasks
// alone. Running does not lock or allocate: tasks are claimed one by one from an atomic counter, so that
// nobody waits for a thread that has lost its core longer than for the one task it holds. Idle workers watch
// briefly and then sleep (base/pool_thrift.h).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace tidemark {

// A borrowed callable: valid only during the call it is passed to.
class TaskRef {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, TaskRef>>>
  TaskRef(const F& f)  // NOLINT: implicit by design
      : target_(&f),
        invoke_([](const void* target, std::int64_t task) { (*static_cast<const F*>(target))(task); }) {}
  TaskRef() = default;
  void operator()(std::int64_t task) const { invoke_(target_, task); }

 private:
  const void* target_ = nullptr;
  void (*invoke_)(const void*, std::int64_t) = nullptr;
};

class ThreadPool {
 public:
  // `threads` counts the calling thread; 0 takes the machine's number of cores.
  explicit ThreadPool(int threads = 0);
  // For tests, since results must not depend on it: the calling thread alone, which takes the last task
  // first. Whoever asks for the number of threads is told `threads`.
  static ThreadPool backwards(int threads) { return ThreadPool(threads, nullptr); }
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls f(task) for every task in [0, tasks) and returns when all are done. Calls from inside a task run
  // inline. Of the exceptions that tasks throw, that of the first task is thrown here once the others have
  // finished.
  void run(std::int64_t tasks, TaskRef f);

  // The most tasks that any run was given: for tests, which must not take a case for a law about threads that
  // is too small to be cut.
  std::int64_t most_tasks() const { return most_tasks_.load(std::memory_order_relaxed); }

 private:
  class Crew;
  ThreadPool(int threads, std::nullptr_t no_crew);

  int threads_;
  bool backwards_ = false;
  std::unique_ptr<Crew> crew_;  // none for a single thread
  std::atomic<std::int64_t> most_tasks_{0};
};

// Cuts [0, n) into pieces of `grain` (the last may be shorter) and calls f(begin, end) for each.
template <class F>
void parallel_for(ThreadPool& pool, std::int64_t n, std::int64_t grain, const F& f) {
  if (n <= 0) return;
  const std::int64_t pieces = (n + grain - 1) / grain;
  pool.run(pieces, [&](std::int64_t piece) {
    const std::int64_t begin = piece * grain;
    f(begin, begin + grain < n ? begin + grain : n);
  });
}

// Calls f(task, lane) for every task, in at most so many lanes: at any time, no two tasks run in the same
// one. For tasks that need memory of their own, which then follows from the problem's size, not from the
// number of threads.
template <class F>
void run_in_lanes(ThreadPool& pool, std::int64_t tasks, std::int64_t lanes, const F& f) {
  std::atomic<std::int64_t> next = 0;
  pool.run(tasks < lanes ? tasks : lanes, [&](std::int64_t lane) {
    for (std::int64_t task = 0; (task = next.fetch_add(1)) < tasks;) f(task, lane);
  });
}

}  // namespace tidemark
