#include "tidemark/schedule/store/io_queue.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "tidemark/base/error.h"
#include "tidemark/base/folder.h"

namespace tidemark::schedule {

namespace {

IoResult carry_out(const IoRequest& request) {
  IoResult result{.token = request.token};
  const std::span<std::byte> data(request.data, request.bytes);
  result.error = request.write ? write_fully(request.file, data, request.offset, &result.bytes)
                               : read_fully(request.file, data, request.offset, result.bytes);
  if (result.error == 0 && request.write && request.sync && ::fdatasync(request.file) != 0)
    result.error = errno;
  return result;
}

// One worker that takes requests in order.
class ThreadQueue final : public IoQueue {
 public:
  ThreadQueue() : worker_([this] { work(); }) {}
  ~ThreadQueue() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    asked_.notify_one();
    worker_.join();
  }

  std::string_view name() const override { return "thread"; }

  void submit(const IoRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    ++in_flight_;
    asked_.notify_one();
  }

  bool take(IoResult& result, bool wait) override {
    if (in_flight_ == 0) return false;
    std::unique_lock lock(mutex_);
    if (wait) ended_.wait(lock, [this] { return !results_.empty(); });
    if (results_.empty()) return false;
    result = results_.front();
    results_.pop_front();
    --in_flight_;
    return true;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      asked_.wait(lock, [this] { return stop_ || !requests_.empty(); });
      if (requests_.empty()) return;  // stopped, and nothing is left to do
      const IoRequest request = requests_.front();
      requests_.pop_front();
      lock.unlock();
      const IoResult result = carry_out(request);
      lock.lock();
      results_.push_back(result);
      ended_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable asked_, ended_;
  std::deque<IoRequest> requests_;
  std::deque<IoResult> results_;
  bool stop_ = false;
  int in_flight_ = 0;  // the caller's own count
  std::thread worker_;
};

// Carried out where they are asked for.
class BlockingQueue final : public IoQueue {
 public:
  std::string_view name() const override { return "blocking"; }
  void submit(const IoRequest& request) override { results_.push_back(carry_out(request)); }
  bool take(IoResult& result, bool) override {
    if (results_.empty()) return false;
    result = results_.front();
    results_.pop_front();
    return true;
  }

 private:
  std::deque<IoResult> results_;
};

}  // namespace

std::unique_ptr<IoQueue> make_thread_queue(unsigned) { return std::make_unique<ThreadQueue>(); }

std::unique_ptr<IoQueue> make_io_queue(Io io, unsigned depth) {
  if (io == Io::blocking) return std::make_unique<BlockingQueue>();
  if (io != Io::thread) {
    if (auto queue = make_uring_queue(depth)) return queue;
    if (io == Io::uring)
      fail(ErrorCode::bad_run_option,
           {.what = "io_uring was asked for, but this build or this kernel does not have it",
            .help = "Io::automatic falls back to a thread"});
  }
  return make_thread_queue(depth);
}

}  // namespace tidemark::schedule
