#include "tidemark/data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "tidemark/base/error.h"
#include "tidemark/data/batch_order.h"

namespace tidemark::data {
namespace {

[[noreturn]] void refuse_option(std::string what, std::string expected, SourceLine where,
                                std::string help = "") {
  fail(ErrorCode::bad_loader_option, {.what = "data loader: " + std::move(what),
                                      .expected = std::move(expected),
                                      .where = where,
                                      .help = std::move(help)});
}

void check_options(std::int64_t size, const LoaderOptions& o, SourceLine where) {
  constexpr int most_prefetched = 1 << 16;
  constexpr std::int64_t most_rows = std::int64_t{1} << 31;
  if (o.batch < 1 || o.batch > most_rows)
    refuse_option(fmt::format(".batch = {}", o.batch), fmt::format("1 to {}", most_rows), where);
  if (o.prefetch < 0 || o.prefetch > most_prefetched)
    refuse_option(fmt::format(".prefetch = {}", o.prefetch), fmt::format("0 to {}", most_prefetched), where);
  if (o.world < 1 || o.rank < 0 || o.rank >= o.world)
    refuse_option(fmt::format(".rank = {} of .world = {}", o.rank, o.world), "0 ≤ rank < world", where);
  if (size < 0) refuse_option(fmt::format("a source of {} examples", size), "0 or more", where);
}

std::string reason(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

[[noreturn]] void fail_at(const Position& at, std::span<const std::int64_t> indices,
                          const std::exception_ptr& error, SourceLine where) {
  const std::size_t count = indices.size(), most = std::min<std::size_t>(count, 4);
  std::string list;
  for (std::size_t i = 0; i < most; ++i) list += fmt::format("{}{}", i ? ", " : "", indices[i]);
  fail(ErrorCode::data_source_failed,
       {.what = fmt::format("the data source failed at batch {} of epoch {} (indices {}{}): {}", at.batch,
                            at.epoch, list, count > most ? ", …" : "", reason(error)),
        .where = where,
        .help = "the loader stands where it stood: the next call tries the same batch again"});
}

}  // namespace

// The thread makes batches in their order, up to `prefetch` of them, and sleeps. A seek and an error have it
// begin anew: what it makes for an older turn is thrown away.
class BatchQueue::State {
 public:
  State(std::int64_t size, Make make, const LoaderOptions& options)
      : order_(size, options), make_(std::move(make)), prefetch_(static_cast<std::size_t>(options.prefetch)) {
    position_.loader = ahead_.loader = order_.identity();
    if (prefetch_ > 0 && order_.batches() > 0) thread_ = std::thread([this] { work(); });
  }
  ~State() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wanted_.notify_all();
    thread_.join();
  }

  std::any next(SourceLine where) {
    if (order_.batches() == 0) {
      refuse_option("there is no batch in an epoch: the source has too few examples", "at least one batch",
                    where, "make `.batch` smaller, or keep the last one: .drop_last = false");
    }
    Made made = thread_.joinable() ? from_thread() : made_at(position_);
    if (made.error) fail_at(position_, made.indices, made.error, where);
    const std::lock_guard lock(mutex_);
    position_ = order_.after(position_);
    return std::move(made.batch);
  }

  std::int64_t batches() const { return order_.batches(); }
  Position position() const { return position_; }

  void seek(const Position& to, SourceLine where) {
    if (to.loader != order_.identity()) {
      refuse_option("a position of another loader", "the same data, batch, key, rank and world", where,
                    "make the loader with the options it had when the position was taken");
    }
    if (to.epoch < 0 || to.batch < 0 || to.batch >= std::max<std::int64_t>(1, order_.batches()))
      refuse_option(fmt::format("batch {} of epoch {}", to.batch, to.epoch),
                    fmt::format("a batch below {}", order_.batches()), where);
    {
      const std::lock_guard lock(mutex_);
      position_ = to;
      begin_anew();
    }
    wanted_.notify_all();
  }

 private:
  struct Made {
    std::any batch;
    std::exception_ptr error;
    std::vector<std::int64_t> indices;
  };

  Made made_at(const Position& at) {
    Made made;
    try {
      made.indices = order_.indices(at);
      made.batch = make_(made.indices);
    } catch (...) {
      made.error = std::current_exception();
    }
    return made;
  }

  void begin_anew() {  // under the mutex
    ahead_ = position_;
    ready_.clear();
    failed_ = false;
    ++turn_;
  }

  Made from_thread() {
    std::unique_lock lock(mutex_);
    made_.wait(lock, [&] { return !ready_.empty(); });
    Made made = std::move(ready_.front());
    ready_.pop_front();
    if (made.error) begin_anew();
    lock.unlock();
    wanted_.notify_all();
    return made;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wanted_.wait(lock, [&] { return stop_ || (!failed_ && ready_.size() < prefetch_); });
      if (stop_) return;
      const Position at = ahead_;
      const std::uint64_t turn = turn_;
      lock.unlock();
      Made made = made_at(at);
      lock.lock();
      if (turn != turn_) continue;
      failed_ = made.error != nullptr;
      ready_.push_back(std::move(made));
      ahead_ = order_.after(ahead_);
      made_.notify_all();
    }
  }

  BatchOrder order_;
  Make make_;
  std::size_t prefetch_;

  std::mutex mutex_;  // of all that follows
  std::condition_variable wanted_, made_;
  Position position_;  // written by the caller alone
  Position ahead_;     // what the thread makes next
  std::deque<Made> ready_;
  bool failed_ = false, stop_ = false;
  std::uint64_t turn_ = 0;
  std::thread thread_;  // none: no prefetch
};

void fail_moved_from(SourceLine where) {
  refuse_option("it was moved from and has no source any more", "the loader that it was moved to", where);
}

BatchQueue::BatchQueue(std::int64_t size, Make make, const LoaderOptions& options, SourceLine where) {
  check_options(size, options, where);
  state_ = std::make_unique<State>(size, std::move(make), options);
}
BatchQueue::~BatchQueue() = default;

std::any BatchQueue::next(SourceLine where) { return state_->next(where); }
std::int64_t BatchQueue::batches() const { return state_->batches(); }
Position BatchQueue::position() const { return state_->position(); }
void BatchQueue::seek(const Position& position, SourceLine where) { state_->seek(position, where); }

}  // namespace tidemark::data
