// The memory behind a tensor that holds data. Usually its own; a result of a compiled function may still lie
// in that function's arena, and moves out (materialize) when the arena is needed again or someone takes a
// pointer; and it may be another library's, which is told once when nobody uses it any more.
//
// Any number of threads may read, materialize and donate at once. Whoever reads bytes without taking a
// pointer for good holds a Reading meanwhile, whoever overwrites them an Overwriting: an arena is not used
// again, and memory not overwritten, under someone who reads it.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "tidemark/base/aligned.h"
#include "tidemark/base/device_id.h"
#include "tidemark/base/source.h"

namespace tidemark {

// Memory that tensors lie in for a while. It stays as long as a Storage or a Reading points into it.
class Lender {
 public:
  void wait_for_readers() const;  // none may begin meanwhile: every tensor has been materialized
  bool being_read() const { return readers_.load() > 0; }
  bool read_by_this_thread() const;

 private:
  friend class Reading;
  std::atomic<int> readers_{0};
};

// What tells another library that its memory is not needed any more: the deleter runs once, with the pointer.
using ForeignOwner = std::unique_ptr<void, void (*)(void*)>;

// Memory of another library, dense and aligned to its elements.
struct ForeignMemory {
  std::byte* data = nullptr;
  DeviceId device = {};
  bool read_only = false;  // nobody may write there, so it cannot be donated
  ForeignOwner owner = {nullptr, nullptr};
};

class Storage;

// Holds the bytes of a tensor where they are. On one thread, from beginning to end; on any if it is
// materialized.
class Reading {
 public:
  Reading(Reading&& other) noexcept;
  Reading& operator=(Reading&&) = delete;
  ~Reading();
  std::byte* data() const { return data_; }

 private:
  friend class Storage;
  Reading(std::shared_ptr<Storage> storage, std::byte* data, std::shared_ptr<Lender> lender);

  std::shared_ptr<Storage> storage_;  // null: moved from
  std::byte* data_;
  std::shared_ptr<Lender> lender_;
};

// Holds memory that a call may overwrite, and that nobody else reads meanwhile. Nothing was written, unless
// it is said.
class Overwriting {
 public:
  Overwriting(Overwriting&& other) noexcept : storage_(std::move(other.storage_)) {}
  Overwriting& operator=(Overwriting&&) = delete;
  ~Overwriting();
  std::byte* data() const;
  // It was written, by the call at `where`: handles made before are stale.
  void give_away(SourceLine where, bool half_written);

 private:
  friend class Storage;
  explicit Overwriting(std::shared_ptr<Storage> storage) : storage_(std::move(storage)) {}

  std::shared_ptr<Storage> storage_;  // null: moved from
};

class Storage {
 public:
  Storage(AlignedBytes own, std::int64_t bytes)
      : id(next_id()), own_(std::move(own)), data_(own_.get()), bytes_(bytes) {}
  // In memory of the lender's, which lets it be until materialize() has been called.
  Storage(std::byte* borrowed, std::int64_t bytes, std::shared_ptr<Lender> lender)
      : id(next_id()), data_(borrowed), bytes_(bytes), lender_(std::move(lender)) {}
  // In memory of another library's, until nobody uses this storage any more.
  Storage(ForeignMemory foreign, std::int64_t bytes)
      : id(next_id()),
        device(foreign.device),
        read_only(foreign.read_only),
        foreign_(std::move(foreign.owner)),
        data_(foreign.data),
        bytes_(bytes) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  const std::uint64_t id;  // no other storage has it, in the whole run of the process
  const DeviceId device = {};
  const bool read_only = false;

  std::int64_t bytes() const { return bytes_; }
  bool foreign() const { return foreign_ != nullptr; }
  std::byte* data() const;       // where it is now
  bool is_materialized() const;  // it stays where it is
  void materialize();            // out of a lender's memory, into its own

  // Bumped when a compiled function has overwritten the memory; handles made before see that they are stale.
  std::uint32_t version() const { return version_.load(); }
  struct Donation {
    SourceLine where = {};
    bool half_written = false;  // the function it was given to failed in the middle of overwriting it
  };
  Donation donation() const;  // the latest

  // None when it was overwritten since `version`, or is being overwritten now.
  static std::optional<Reading> read(const std::shared_ptr<Storage>& storage, std::uint32_t version);
  // Settled, and not read-only. None also while someone reads it.
  static std::optional<Overwriting> overwrite(const std::shared_ptr<Storage>& storage, std::uint32_t version);

 private:
  friend class Reading;
  friend class Overwriting;
  static std::uint64_t next_id();

  const ForeignOwner foreign_ = {nullptr, nullptr};  // null: not another library's

  mutable std::mutex mutex_;  // of all that follows
  AlignedBytes own_;
  std::byte* data_;
  const std::int64_t bytes_;
  std::shared_ptr<Lender> lender_;  // null: materialized
  int readers_ = 0;
  bool overwriting_ = false;
  std::atomic<std::uint32_t> version_{0};  // written under the mutex
  Donation donation_;
};

}  // namespace tidemark
