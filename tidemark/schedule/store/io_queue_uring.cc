#include "tidemark/schedule/store/io_queue.h"

#ifdef TIDEMARK_HAS_URING
#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "tidemark/base/check.h"
#endif

namespace tidemark::schedule {

#ifdef TIDEMARK_HAS_URING
namespace {

// Buffered transfers are forced onto the kernel's workers: done inline, submit would copy the block itself.
class UringQueue final : public IoQueue {
 public:
  static std::unique_ptr<IoQueue> make(unsigned depth) {
    auto queue = std::unique_ptr<UringQueue>(new UringQueue(depth));
    if (io_uring_queue_init(depth, &queue->ring_, 0) != 0) return nullptr;
    queue->open_ = true;
    return queue;
  }
  ~UringQueue() override {
    if (!open_) return;
    for (IoResult ignored; take(ignored, true);) {
    }
    io_uring_queue_exit(&ring_);
  }

  std::string_view name() const override { return "io_uring"; }

  void submit(const IoRequest& request) override {
    TM_CHECK(!free_.empty(), "more transfers in flight than the queue is deep");
    const std::size_t index = free_.back();
    free_.pop_back();
    flights_[index] = {.request = request, .done = 0, .syncing = false};
    ++in_flight_;
    push(index);
  }

  bool take(IoResult& result, bool wait) override {
    while (in_flight_ > 0) {
      io_uring_cqe* entry = nullptr;
      const int error = wait ? io_uring_wait_cqe(&ring_, &entry) : io_uring_peek_cqe(&ring_, &entry);
      if (error == -EINTR) continue;
      if (error == -EAGAIN && !wait) return false;
      TM_CHECK(error == 0, "io_uring: error {}", -error);
      const auto index = static_cast<std::size_t>(entry->user_data);
      const int got = entry->res;
      io_uring_cqe_seen(&ring_, entry);
      if (finish(index, got, result)) return true;
    }
    return false;
  }

 private:
  struct Flight {
    IoRequest request;
    std::size_t done = 0;
    bool syncing = false;
  };

  explicit UringQueue(unsigned depth) : flights_(depth) {
    for (std::size_t i = 0; i < depth; ++i) free_.push_back(i);
  }

  void push(std::size_t index) {
    Flight& flight = flights_[index];
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    TM_CHECK(entry != nullptr, "the ring is full");
    const IoRequest& request = flight.request;
    // The kernel counts in ints: a larger block goes in pieces.
    const auto bytes =
        static_cast<unsigned>(std::min<std::size_t>(request.bytes - flight.done, std::size_t{1} << 30));
    if (flight.syncing)
      io_uring_prep_fsync(entry, request.file, IORING_FSYNC_DATASYNC);
    else if (request.write)
      io_uring_prep_write(entry, request.file, request.data + flight.done, bytes,
                          request.offset + flight.done);
    else
      io_uring_prep_read(entry, request.file, request.data + flight.done, bytes,
                         request.offset + flight.done);
    entry->flags |= IOSQE_ASYNC;
    entry->user_data = index;
    int submitted = 0;
    do submitted = io_uring_submit(&ring_);
    while (submitted == -EINTR || submitted == -EAGAIN);
    TM_CHECK(submitted >= 0, "io_uring: error {}", -submitted);
  }

  // True when the whole request has ended, not only a piece of it.
  bool finish(std::size_t index, int got, IoResult& result) {
    Flight& flight = flights_[index];
    const IoRequest& request = flight.request;
    const bool again = got == -EINTR || got == -EAGAIN;
    if (!again && got >= 0 && !flight.syncing) flight.done += static_cast<std::size_t>(got);
    const bool more = !flight.syncing && flight.done < request.bytes && got > 0;
    const bool sync_now =
        !flight.syncing && request.write && request.sync && flight.done == request.bytes && got >= 0;
    if (again || more || sync_now) {
      flight.syncing = flight.syncing || sync_now;
      push(index);
      return false;
    }
    result = {.token = request.token, .error = got < 0 ? -got : 0, .bytes = flight.done};
    free_.push_back(index);
    --in_flight_;
    return true;
  }

  io_uring ring_{};
  bool open_ = false;
  std::vector<Flight> flights_;
  std::vector<std::size_t> free_;
  int in_flight_ = 0;
};

}  // namespace

std::unique_ptr<IoQueue> make_uring_queue(unsigned depth) { return UringQueue::make(depth); }
#else
std::unique_ptr<IoQueue> make_uring_queue(unsigned) { return nullptr; }
#endif

}  // namespace tidemark::schedule
