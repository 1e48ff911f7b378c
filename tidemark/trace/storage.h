// The memory behind a tensor that holds data. Usually its own; a result of a compiled function may still lie
// in that function's arena, and moves out (materialize) when the arena is needed again or someone takes a
// pointer; and it may be another library's, which is told once when nobody uses it any more. It may lie on a
// device (device_memory.h): who reads it on the host then gets a copy, fetched when it is first asked for
// and kept until the memory is overwritten or gone.
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
#include "tidemark/base/source.h"
#include "tidemark/trace/device_memory.h"

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
  // On the host. Of memory of a device it is a copy, valid for as long as the memory is not overwritten.
  // Throws DeviceError where it cannot be fetched.
  std::byte* data() const;
  void copy_to(std::byte* to) const;                            // keeps no copy of its own
  const DeviceMemory* memory() const { return memory_.get(); }  // null: it lies on the host
  bool lies_on(const Device& device) const { return memory_ && &memory_->device() == &device; }

 private:
  friend class Storage;
  Reading(std::shared_ptr<Storage> storage, std::byte* data, std::shared_ptr<DeviceMemory> memory,
          std::shared_ptr<Lender> lender);

  std::shared_ptr<Storage> storage_;  // null: moved from
  std::byte* data_;                   // null: on a device
  std::shared_ptr<DeviceMemory> memory_;
  std::shared_ptr<Lender> lender_;
};

// Holds memory that a call may overwrite, and that nobody else reads meanwhile. Nothing was written, unless
// it is said.
class Overwriting {
 public:
  Overwriting(Overwriting&& other) noexcept : storage_(std::move(other.storage_)) {}
  Overwriting& operator=(Overwriting&&) = delete;
  ~Overwriting();
  std::byte* data() const;                       // on the host, as of a Reading
  std::shared_ptr<DeviceMemory> memory() const;  // null: it lies on the host
  // It lies elsewhere from now on; its memory before is not used any more. Before it is given away.
  void move_to(std::shared_ptr<DeviceMemory> memory);
  void move_to(AlignedBytes own);
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
        read_only(foreign.read_only),
        foreign_(std::move(foreign.owner)),
        data_(foreign.data),
        bytes_(bytes) {}
  // On a device, in memory of its own or, while there is a lender, of the lender's.
  explicit Storage(std::shared_ptr<DeviceMemory> memory, std::shared_ptr<Lender> lender = nullptr)
      : id(next_id()),
        data_(nullptr),
        memory_(std::move(memory)),
        bytes_(memory_->bytes()),
        lender_(std::move(lender)) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  const std::uint64_t id;  // no other storage has it, in the whole run of the process
  const bool read_only = false;

  DeviceId device() const;  // whose memory it lies in now
  std::int64_t bytes() const { return bytes_; }
  bool foreign() const;
  std::byte* data() const;       // where it is now; of memory of a device, the host's copy
  bool is_materialized() const;  // it stays where it is
  void materialize();            // out of a lender's memory, into its own of the same device

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
  std::byte* host_copy(const DeviceMemory& memory) const;
  template <class Place>
  void move(Place&& place);

  mutable std::mutex mutex_;                   // of all that follows, but for the host's copy
  ForeignOwner foreign_ = {nullptr, nullptr};  // null: not another library's
  AlignedBytes own_;
  std::byte* data_;                       // null: on a device
  std::shared_ptr<DeviceMemory> memory_;  // null: on the host
  const std::int64_t bytes_;
  std::shared_ptr<Lender> lender_;  // null: materialized
  int readers_ = 0;
  bool overwriting_ = false;
  std::atomic<std::uint32_t> version_{0};  // written under the mutex
  Donation donation_;

  mutable std::mutex fetching_;     // of the host's copy, which takes its time; taken last
  mutable AlignedBytes host_copy_;  // of memory of a device; null: not asked for
};

}  // namespace tidemark
