#include "tidemark/cpu/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "tidemark/base/error.h"

namespace tidemark {

LaneThreads::LaneThreads(const LaneCommands& commands, std::function<void(std::size_t command)> call)
    : call_(std::move(call)) {
  LaneLines made = commands.lines();
  lines_ = std::vector<Line>(made.lines.size());
  for (std::size_t l = 0; l < lines_.size(); ++l) lines_[l].items = std::move(made.lines[l]);
  waits_ = std::move(made.waits);
  start_threads();
}

LaneThreads::~LaneThreads() { end_threads(); }

void LaneThreads::start_threads() {
  threads_.reserve(lines_.size() - 1);
  try {
    for (Line& line : lines_) {
      if (&line != &lines_[0]) threads_.emplace_back([this, &line] { work(line); });
    }
  } catch (const std::system_error& error) {
    end_threads();
    throw DeviceError(
        ErrorCode::out_of_memory,
        {.what = fmt::format("the machine has no thread for a lane of the plan: {}", error.code().message()),
         .expected = fmt::format("{} threads beside those that compute", lines_.size() - 1),
         .help = "raise the limit on threads, or end some"});
  }
}

void LaneThreads::end_threads() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (Line& line : lines_) line.wake.notify_one();
  }
  for (std::thread& thread : threads_) thread.join();
}

void LaneThreads::work(Line& line) {
  std::unique_lock lock(mutex_);
  for (;;) {
    line.wake.wait(lock, [&] { return line.at_work || ending_; });
    if (ending_) return;
    lock.unlock();
    run_line(line);
    lock.lock();
    line.at_work = false;
    if (--at_work_ == 0) lines_[0].wake.notify_one();
  }
}

void LaneThreads::run(std::size_t first, std::size_t last) {
  {
    const std::lock_guard lock(mutex_);
    failed_ = false;
    for (Line& line : lines_) {
      const auto position = [&](std::size_t command) {
        return static_cast<std::size_t>(std::ranges::lower_bound(line.items, command, {}, &Item::command) -
                                        line.items.begin());
      };
      line.ended = static_cast<std::uint32_t>(first);
      line.next = position(first);
      line.end = position(last);
      if (&line == &lines_[0] || line.next == line.end) continue;
      line.at_work = true;
      ++at_work_;
      line.wake.notify_one();
    }
  }
  run_line(lines_[0]);
  std::unique_lock lock(mutex_);
  lines_[0].wake.wait(lock, [&] { return at_work_ == 0; });
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

void LaneThreads::run_line(Line& line) {
  const auto number = static_cast<std::uint32_t>(&line - lines_.data());
  std::exception_ptr failure;
  try {
    for (; line.next < line.end && !failed_.load(std::memory_order_relaxed); ++line.next) {
      const Item& item = line.items[line.next];
      if (item.first_wait < item.last_wait && !wait_for(line, item)) return;
      call_(item.command);
      if (item.is_awaited) say_ended(number, item.command);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  // Behind the handler: whoever throws it again is then the only one who holds it.
  if (failure) stop(std::move(failure), line.items[line.next].command);
}

bool LaneThreads::wait_for(Line& line, const Item& item) {
  std::unique_lock lock(mutex_);
  for (std::uint32_t w = item.first_wait; w < item.last_wait; ++w) {
    const Wait& wait = waits_[w];
    line.sleeps_for = &wait;
    line.wake.wait(lock, [&] { return lines_[wait.line].ended > wait.command || failed_; });
  }
  line.sleeps_for = nullptr;
  return !failed_;
}

void LaneThreads::say_ended(std::uint32_t line, std::uint32_t command) {
  const std::lock_guard lock(mutex_);
  lines_[line].ended = command + 1;
  for (Line& other : lines_) {
    const Wait* const wait = other.sleeps_for;
    if (wait && wait->line == line && wait->command <= command) other.wake.notify_one();
  }
}

void LaneThreads::stop(std::exception_ptr failure, std::uint32_t command) {
  const std::lock_guard lock(mutex_);
  if (!failure_ || command < failed_command_) {
    failure_ = std::move(failure);
    failed_command_ = command;
  }
  failed_ = true;
  for (Line& line : lines_) line.wake.notify_one();
}

std::int64_t LaneThreads::held_bytes() const {
  constexpr std::size_t per_thread = 64
                                     << 10;  // what of its stack is ever touched, and what the system keeps
  std::size_t bytes = sizeof(*this) + waits_.capacity() * sizeof(Wait) + threads_.size() * per_thread;
  for (const Line& line : lines_) bytes += sizeof(line) + line.items.capacity() * sizeof(Item);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace tidemark
