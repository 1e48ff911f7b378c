// Batches of a source, shuffled by a key, made ahead on a thread of their own.
// Example, as in docs/data.md:
//   td::data::Loader loader(td::data::arrays(std::pair(x, y)), {.batch = 64, .key = 7});
//   for (const auto& [images, labels] : loader) seen += images.size(0);
//
// A range-for gives the rest of the current epoch, the next one the epoch after it; next() goes on without
// end. What comes is a function of the source, the options and the position alone.
#pragma once
#include <any>
#include <memory>
#include <optional>

#include "tidemark/data/position.h"
#include "tidemark/data/source.h"

namespace tidemark::data {

struct LoaderOptions {
  std::int64_t batch = 32;  // rows of each
  bool shuffle = true;      // another order in each epoch; if not, that of the source
  std::uint64_t key = 0;    // of the order
  bool drop_last = true;    // the batch that would be smaller than the others
  int prefetch = 2;         // batches made ahead; 0: made when asked for, without a thread
  // Of `world` loaders with the same options, each takes its share of every `world` batches: `batch` rows at
  // a time, and all have as many. Smaller last batches are shared evenly, and left out where they have fewer
  // rows than `world`.
  int rank = 0, world = 1;
};

// The order of batches, and the thread; knows no C++ types of the user's.
class BatchQueue {
 public:
  using Make = std::function<std::any(std::span<const std::int64_t> indices)>;
  BatchQueue(std::int64_t size, Make make, const LoaderOptions& options, SourceLine where);
  ~BatchQueue();  // waits for the batch in the making, if there is one
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  std::any next(SourceLine where);
  std::int64_t batches() const;
  Position position() const;
  void seek(const Position& position, SourceLine where);

 private:
  class State;
  std::unique_ptr<State> state_;
};

[[noreturn]] void fail_moved_from(SourceLine where);

template <class Tree>
class Loader {
 public:
  // Throws Error `bad_loader_option`.
  explicit Loader(Source<Tree> source, const LoaderOptions& options = {},
                  SourceLine where = std::source_location::current())
      : queue_(std::make_unique<BatchQueue>(
            source.size,
            [gather = std::move(source.gather)](std::span<const std::int64_t> indices) -> std::any {
              return gather(indices);
            },
            options, where)) {}

  // The next batch, of the next epoch after the last of one. Throws Error `data_source_failed` where the
  // source threw; the call after that tries the same batch again.
  Tree next(SourceLine where = std::source_location::current()) {
    return std::any_cast<Tree>(queue(where).next(where));
  }
  std::int64_t batches(SourceLine where = std::source_location::current()) const {  // of an epoch
    return queue(where).batches();
  }
  // The same, by the name that ranges have for it.
  std::int64_t size(SourceLine where = std::source_location::current()) const { return batches(where); }
  // Batches that the next range-for gives: all of an epoch, or the rest of one that was begun.
  std::int64_t left(SourceLine where = std::source_location::current()) const {
    return batches(where) - position(where).batch;
  }
  // Of the batch that next() gives.
  Position position(SourceLine where = std::source_location::current()) const {
    return queue(where).position();
  }
  void seek(const Position& position, SourceLine where = std::source_location::current()) {
    queue(where).seek(position, where);
  }

  class End {};
  class Iterator {
   public:
    Iterator(Loader& loader, SourceLine where)
        : loader_(loader), where_(where), epoch_(loader.position(where).epoch) {
      ++*this;
    }
    const Tree& operator*() const { return *batch_; }
    const Tree* operator->() const { return &*batch_; }
    Iterator& operator++() {
      if (loader_.position(where_).epoch == epoch_) {
        batch_ = loader_.next(where_);
      } else {
        batch_.reset();
      }
      return *this;
    }
    friend bool operator==(const Iterator& it, End) { return !it.batch_; }

   private:
    Loader& loader_;
    SourceLine where_;
    std::int64_t epoch_;
    std::optional<Tree> batch_;
  };
  Iterator begin(SourceLine where = std::source_location::current()) { return Iterator(*this, where); }
  End end() const { return {}; }

 private:
  BatchQueue& queue(SourceLine where) const {
    if (!queue_) fail_moved_from(where);
    return *queue_;
  }

  std::unique_ptr<BatchQueue> queue_;  // none: moved from
};

}  // namespace tidemark::data
