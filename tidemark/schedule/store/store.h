// Slots of bytes on one level: where states wait. A slot is opened, filled and closed; then it can be read
// until it is dropped. What was written and what comes back are held together by checksums, where the level
// cannot be trusted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tidemark/schedule/action.h"

namespace tidemark::schedule {

// What a slot is filled with; `action` is the place of the store in the schedule.
struct Content {
  Step step = 0;
  bool is_record = false;
  std::uint64_t action = not_scheduled;
  static constexpr std::uint64_t not_scheduled = ~std::uint64_t{0};  // a snapshot that was healed
};

class Store {
 public:
  virtual ~Store() = default;
  virtual std::span<std::byte> open(std::int32_t slot, std::size_t bytes) = 0;  // to be filled before close
  virtual void close(std::int32_t slot, const Content& content) = 0;
  // What was closed there, until the next call; nothing when it is damaged.
  virtual std::optional<std::span<const std::byte>> read(std::int32_t slot) = 0;
  virtual void drop(std::int32_t slot) = 0;
  virtual void forget(std::int32_t slot) { drop(slot); }  // damaged: nobody will ask for it again
  virtual bool prefetch(std::int32_t) { return true; }    // it will be read soon; false: ask again later
  virtual double stall_seconds() const { return 0; }
};

// Slots in memory. Blocks of dropped slots are used again, so that nothing is allocated once as many states
// have been held as ever will be. What is allocated never passes `budget` bytes together with what the caller
// says others hold.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::int64_t budget) : budget_(budget) {}
  std::span<std::byte> open(std::int32_t slot, std::size_t bytes) override;
  void close(std::int32_t, const Content&) override {}
  std::optional<std::span<const std::byte>> read(std::int32_t slot) override;
  void drop(std::int32_t slot) override;

  void make_room(std::int64_t bytes_of_others);  // gives spare blocks back where the budget needs it
  void set_budget(std::int64_t bytes) {
    budget_ = bytes;
    make_room(others_);
  }
  std::int64_t allocated() const { return allocated_; }

 private:
  struct Free {
    void operator()(std::byte* block) const;
  };
  struct Block {
    std::unique_ptr<std::byte, Free> data;
    std::size_t bytes = 0, capacity = 0;
  };
  void release_spare();

  std::vector<Block> slots_, spare_;
  std::int64_t budget_, allocated_ = 0, others_ = 0;
};

}  // namespace tidemark::schedule
