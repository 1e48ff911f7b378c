// Reads and writes of whole blocks that go on while the caller computes: io_uring where the kernel gives it,
// else a thread. One caller; requests may finish in any order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "tidemark/schedule/run.h"

namespace tidemark::schedule {

struct IoRequest {
  int file = -1;
  bool write = false;
  bool sync = false;  // a write: done when the disk has it
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t token = 0;
};

struct IoResult {
  std::uint64_t token = 0;
  int error = 0;          // errno, 0 when it went well
  std::size_t bytes = 0;  // fewer than asked: the file ended
};

class IoQueue {
 public:
  virtual ~IoQueue() = default;  // after everything in flight has ended
  virtual std::string_view name() const = 0;
  virtual void submit(const IoRequest& request) = 0;  // at most as many in flight as the queue is deep
  // One that has ended; false when none has, or, with `wait`, when none is in flight.
  virtual bool take(IoResult& result, bool wait) = 0;
};

// Throws Error `bad_run_option` where Io::uring is asked for and cannot be had.
std::unique_ptr<IoQueue> make_io_queue(Io io, unsigned depth);
std::unique_ptr<IoQueue> make_thread_queue(unsigned depth);
std::unique_ptr<IoQueue> make_uring_queue(unsigned depth);  // nothing where the build or the kernel has none

}  // namespace tidemark::schedule
