// The lanes of a plan side by side, as lines (runtime/lane_lines.h): line 0, which computes, is the caller's,
// each further one has a thread of its own. Computing already takes all threads of the pool.
//
// Threads are made once, sleep while there is nothing to do, and end with the object. Nothing is allocated
// while commands run.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tidemark/runtime/lane_lines.h"

namespace tidemark {

class LaneThreads {
 public:
  // `call` runs the command of a number; it is called on all lines' threads at once. Throws DeviceError where
  // the system has no thread to give.
  LaneThreads(const LaneCommands& commands, std::function<void(std::size_t command)> call);
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

  // The commands [first, last), to their end; those before have ended. When one throws, on whichever line, no
  // further ones begin, and what was thrown is thrown here once those that run have ended; of several, that
  // of the first command. The same or other commands may be run again then.
  void run(std::size_t first, std::size_t last);

  std::size_t threads() const { return threads_.size(); }
  std::int64_t held_bytes() const;

 private:
  using Wait = LaneLines::Wait;
  using Item = LaneLines::Item;  // who awaits one is told when it has ended
  // `next` and `end` belong to the line's thread while it is at work; what follows them is under the mutex.
  struct Line {
    std::vector<Item> items;
    std::size_t next = 0, end = 0;     // items of the current run that are left
    std::uint32_t ended = 0;           // all commands of the line before this one have
    bool at_work = false;              // its thread is; not of line 0
    const Wait* sleeps_for = nullptr;  // what has not happened yet
    std::condition_variable wake;
  };

  void start_threads();
  void end_threads();
  void work(Line& line);  // what a thread does
  void run_line(Line& line);
  bool wait_for(Line& line, const Item& item);  // false: there is nothing to wait for, since one failed
  void say_ended(std::uint32_t line, std::uint32_t command);
  void stop(std::exception_ptr failure, std::uint32_t command);

  const std::function<void(std::size_t command)> call_;
  std::vector<Line> lines_;
  std::vector<Wait> waits_;
  std::mutex mutex_;
  std::size_t at_work_ = 0;          // how many lines with threads are
  std::atomic<bool> failed_{false};  // written under the mutex
  std::exception_ptr failure_;
  std::uint32_t failed_command_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tidemark
