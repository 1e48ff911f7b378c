// CUDA's words for a compiler of the host: generated kernels run as fibers, thread by thread from barrier to
// barrier, so that tests see what they compute where no GPU is. Barriers are those of a block or of a warp
// (tests/support/cuda_host_warps.h has what warps do together). Included by what tests compile on the way
// (tests/support/host_kernels.h), never by tests.
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#define __global__
#define __shared__ static
#define __launch_bounds__(...)

struct HostIndex {
  unsigned x;
};
static HostIndex threadIdx, blockIdx, blockDim, gridDim;

namespace host {

inline bool copies_at_once = false;  // or when a thread waits for them: both are right

inline constexpr int warp_size = 32;

// Where some threads wait for each other, again and again.
struct Meeting {
  int arrived = 0;
  unsigned turn = 0;
};

// The threads of one block, as fibers that serve one block after the other. Each runs until it has to wait or
// to its end; then the next one does. Switching saves registers and calls nobody.
class Block {
 public:
  // False where some threads meet a barrier that others do not.
  bool run(int threads, bool descending, const std::function<void()>& body) {
    body_ = &body;
    running_ = this;
    threads_ = threads;
    while (fibers_.size() < static_cast<std::size_t>(threads)) add_fiber();
    for (int t = 0; t < threads; ++t) fibers_[static_cast<std::size_t>(t)]->done = false;
    all_ = {};
    warps_.assign(static_cast<std::size_t>((threads + warp_size - 1) / warp_size), {});
    for (;;) {
      int done = 0;
      bool moved = false;
      for (int i = 0; i < threads; ++i) {
        const int t = descending ? threads - 1 - i : i;
        current_ = fibers_[static_cast<std::size_t>(t)].get();
        done += current_->done;
        if (current_->done || (current_->meeting && current_->meeting->turn == current_->turn)) continue;
        moved = true;
        threadIdx.x = static_cast<unsigned>(t);
        if (_setjmp(scheduler_) == 0) _longjmp(current_->at, 1);
        done += current_->done;
      }
      if (done == threads) return true;
      if (!moved) return false;
    }
  }
  static void wait_for_block() { running_->meet(running_->all_, running_->threads_); }
  static void wait_for_warp() {
    const int warp = static_cast<int>(threadIdx.x) / warp_size, left = running_->threads_ - warp * warp_size;
    running_->meet(running_->warps_[static_cast<std::size_t>(warp)], left < warp_size ? left : warp_size);
  }

 private:
  struct Fiber {
    jmp_buf at;
    ucontext_t context;
    std::vector<char> stack;
    bool done = false;
    const Meeting* meeting = nullptr;  // where it waits as long as the turn is this one
    unsigned turn = 0;
  };

  // The last to arrive goes on, and lets the others.
  void meet(Meeting& meeting, int count) {
    if (++meeting.arrived == count) {
      meeting.arrived = 0;
      ++meeting.turn;
      return;
    }
    current_->meeting = &meeting;
    current_->turn = meeting.turn;
    leave();
    current_->meeting = nullptr;
  }
  [[gnu::noinline]] static void leave() {
    if (_setjmp(running_->current_->at) == 0) _longjmp(running_->scheduler_, 1);
  }

  // Runs to where it waits for its first block.
  void add_fiber() {
    fibers_.push_back(std::make_unique<Fiber>());
    Fiber& fiber = *fibers_.back();
    current_ = &fiber;
    fiber.stack.resize(std::size_t{64} << 10);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &Block::serve, 0);
    if (_setjmp(scheduler_) == 0) setcontext(&fiber.context);
  }
  static void serve() {
    for (;;) {
      leave();
      (*running_->body_)();
      running_->current_->done = true;
    }
  }

  static inline Block* running_ = nullptr;
  jmp_buf scheduler_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* current_ = nullptr;
  const std::function<void()>* body_ = nullptr;
  int threads_ = 0;
  Meeting all_;
  std::vector<Meeting> warps_;
};

// A kernel without a barrier needs no fibers.
inline void run_plainly(int threads, bool descending, const std::function<void()>& body) {
  for (int i = 0; i < threads; ++i) {
    threadIdx.x = static_cast<unsigned>(descending ? threads - 1 - i : i);
    body();
  }
}

// Memory that the threads of a block share, byte by byte: who wrote it and who read it since the last
// barrier. On the host threads take turns, so that a barrier too few need not show in what they compute.
struct WatchedByte {
  int writer = -1, reader = -1;         // the last threads
  int write_turn = -1, read_turn = -1;  // how many barriers they had passed
  bool many_readers = false;            // since then
  int array = -1;                       // that it was written as a part of
};
inline std::vector<WatchedByte> watched_bytes;
inline std::vector<int> barriers_passed;  // per thread
inline bool watch_failed = false;

inline long long blocks_run = 0, watched_run = -1;

// By every thread of a block before it touches an array.
inline void watch_shared(std::size_t bytes) {
  if (watched_run != blocks_run) watched_bytes.assign(bytes, {});
  watched_run = blocks_run;
}
inline void tell_watched(const char* what, int array, std::int64_t at) {
  if (!watch_failed)
    std::fprintf(stderr, "thread %u of block %u %s, array %d, byte %lld\n", threadIdx.x, blockIdx.x, what,
                 array, static_cast<long long>(at));
  watch_failed = true;
}
inline void watch_read(int array, std::int64_t at, std::size_t bytes) {
  const int thread = static_cast<int>(threadIdx.x), turn = barriers_passed[threadIdx.x];
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::int64_t place = at + static_cast<std::int64_t>(i);
    if (place < 0 || place >= static_cast<std::int64_t>(watched_bytes.size()))
      return tell_watched("reads outside of shared memory", array, place);
    WatchedByte& byte = watched_bytes[static_cast<std::size_t>(place)];
    if (byte.array != array) return tell_watched("reads what was not written", array, place);
    if (byte.write_turn == turn && byte.writer != thread)
      return tell_watched("reads what another writes meanwhile", array, place);
    byte.many_readers = byte.read_turn == turn && (byte.many_readers || byte.reader != thread);
    byte.reader = thread, byte.read_turn = turn;
  }
}
inline void watch_write(int array, std::int64_t at, std::size_t bytes) {
  const int thread = static_cast<int>(threadIdx.x), turn = barriers_passed[threadIdx.x];
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::int64_t place = at + static_cast<std::int64_t>(i);
    if (place < 0 || place >= static_cast<std::int64_t>(watched_bytes.size()))
      return tell_watched("writes outside of shared memory", array, place);
    WatchedByte& byte = watched_bytes[static_cast<std::size_t>(place)];
    if (byte.write_turn == turn && byte.writer != thread)
      return tell_watched("writes what another writes meanwhile", array, place);
    if (byte.read_turn == turn && (byte.many_readers || byte.reader != thread))
      return tell_watched("writes what another reads meanwhile", array, place);
    byte.writer = thread, byte.write_turn = turn, byte.array = array;
  }
}

// An array in the memory that a block shares, in place of a pointer to it.
template <class T>
class WatchedArray {
 public:
  WatchedArray(void* shared, std::int64_t offset, int array)
      : first_(reinterpret_cast<T*>(static_cast<unsigned char*>(shared) + offset)),
        offset_(offset),
        array_(array) {}

  class Element {
   public:
    Element(T* at, std::int64_t place, int array) : at_(at), place_(place), array_(array) {}
    operator T() const {  // NOLINT: implicit, as an element is
      watch_read(array_, place_, sizeof(T));
      return watch_failed ? T{} : *at_;
    }
    void operator=(const T& x) const {
      watch_write(array_, place_, sizeof(T));
      if (!watch_failed) *at_ = x;
    }

   private:
    T* at_;
    std::int64_t place_;
    int array_;
  };
  Element operator[](std::int64_t i) const {
    return {first_ + i, offset_ + i * static_cast<std::int64_t>(sizeof(T)), array_};
  }

 private:
  T* first_;
  std::int64_t offset_;
  int array_;
};

// All blocks of a launch, one after the other. False: threads wait for each other in vain, or meet in memory
// that is watched.
inline bool run_grid(long long blocks, int threads, bool barriers, bool descending,
                     const std::function<void()>& body) {
  static Block block;
  copies_at_once = descending;
  gridDim.x = static_cast<unsigned>(blocks);
  blockDim.x = static_cast<unsigned>(threads);
  for (long long b = 0; b < blocks; ++b) {
    blockIdx.x = static_cast<unsigned>(descending ? blocks - 1 - b : b);
    if (!barriers) {
      run_plainly(threads, descending, body);
    } else {
      ++blocks_run;
      barriers_passed.assign(static_cast<std::size_t>(threads), 0);
      if (!block.run(threads, descending, body) || watch_failed) return false;
    }
  }
  return true;
}

}  // namespace host

inline void __syncthreads() {
  ++host::barriers_passed[threadIdx.x];
  host::Block::wait_for_block();
}

// Lanes of a warp look at each other's values.
namespace host {
template <class T>
T value_of_thread(T value, unsigned thread) {
  static T values[1024];
  values[threadIdx.x] = value;
  Block::wait_for_warp();
  const T other = values[thread];
  Block::wait_for_warp();
  return other;
}
}  // namespace host
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return host::value_of_thread(value, threadIdx.x / 32 * 32 + static_cast<unsigned>(lane));
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int distance) {
  return host::value_of_thread(value, threadIdx.x ^ static_cast<unsigned>(distance));
}
template <class T>
T __shfl_up_sync(unsigned, T value, int distance) {
  const auto lane = static_cast<int>(threadIdx.x % 32);
  return host::value_of_thread(value, threadIdx.x - static_cast<unsigned>(lane < distance ? 0 : distance));
}
inline int atomicAdd(int* at, int value) {
  const int before = *at;
  *at = before + value;
  return before;
}
