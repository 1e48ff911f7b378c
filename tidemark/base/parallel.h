// One pool of threads for everything that computes: kernels and the BLAS calls made from inside them.
//
// Work is cut into tasks by the problem's size alone, never by the number of threads, and each task writes its own
// part of the result, so results do not depend on how many threads there are or on who took which task.
// Running does not lock or allocate: tasks are claimed from an atomic counter, idle workers spin briefly and then
// sleep on a futex.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

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
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls f(task) for every task in [0, tasks) and returns when all are done. Calls from inside a task run inline.
  // The first exception thrown by a task is thrown here once the others have finished. Not for concurrent callers.
  void run(std::int64_t tasks, TaskRef f);

 private:
  void work();
  void drain();

  std::vector<std::thread> workers_;
  std::atomic<std::uint32_t> generation_{0};  // bumped for every batch of tasks; workers wait for a change
  std::atomic<std::int64_t> next_{0};
  std::atomic<int> busy_{0};  // workers that have not finished this generation
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
  std::int64_t tasks_ = 0;
  TaskRef task_;
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

}  // namespace tidemark
