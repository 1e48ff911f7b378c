#include "tidemark/trace/storage.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tidemark/base/check.h"

namespace tidemark {
namespace {

thread_local std::vector<const Lender*> read_here;  // by Readings of this thread

}  // namespace

void Lender::wait_for_readers() const {
  for (int readers = readers_.load(); readers != 0; readers = readers_.load()) readers_.wait(readers);
}

bool Lender::read_by_this_thread() const { return std::ranges::count(read_here, this) > 0; }

Reading::Reading(std::shared_ptr<Storage> storage, std::byte* data, std::shared_ptr<DeviceMemory> memory,
                 std::shared_ptr<Lender> lender)
    : storage_(std::move(storage)), data_(data), memory_(std::move(memory)), lender_(std::move(lender)) {
  if (!lender_) return;
  read_here.push_back(lender_.get());
  lender_->readers_.fetch_add(1);
}

Reading::Reading(Reading&& other) noexcept
    : storage_(std::move(other.storage_)),
      data_(other.data_),
      memory_(std::move(other.memory_)),
      lender_(std::move(other.lender_)) {}

Reading::~Reading() {
  if (!storage_) return;
  {
    const std::lock_guard lock(storage_->mutex_);
    --storage_->readers_;
  }
  if (!lender_) return;
  read_here.erase(std::ranges::find(read_here, lender_.get()));
  if (lender_->readers_.fetch_sub(1) == 1) lender_->readers_.notify_all();
}

std::byte* Reading::data() const { return memory_ ? storage_->host_copy(*memory_) : data_; }

void Reading::copy_to(std::byte* to) const {
  if (memory_) return memory_->read(to);
  if (storage_->bytes() > 0) std::memcpy(to, data_, static_cast<std::size_t>(storage_->bytes()));
}

Overwriting::~Overwriting() {
  if (!storage_) return;
  const std::lock_guard lock(storage_->mutex_);
  storage_->overwriting_ = false;
}

std::byte* Overwriting::data() const { return storage_->data(); }

std::shared_ptr<DeviceMemory> Overwriting::memory() const {
  const std::lock_guard lock(storage_->mutex_);
  return storage_->memory_;
}

void Overwriting::move_to(std::shared_ptr<DeviceMemory> memory) { storage_->move(std::move(memory)); }
void Overwriting::move_to(AlignedBytes own) { storage_->move(std::move(own)); }

void Overwriting::give_away(SourceLine where, bool half_written) {
  const std::scoped_lock lock(storage_->mutex_, storage_->fetching_);
  storage_->host_copy_.reset();
  ++storage_->version_;
  storage_->donation_ = {where, half_written};
}

std::uint64_t Storage::next_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

DeviceId Storage::device() const {
  const std::lock_guard lock(mutex_);
  return memory_ ? memory_->id() : DeviceId();
}

bool Storage::foreign() const {
  const std::lock_guard lock(mutex_);
  return foreign_ != nullptr;
}

std::byte* Storage::data() const {
  std::shared_ptr<DeviceMemory> memory;
  {
    const std::lock_guard lock(mutex_);
    if (!memory_) return data_;
    memory = memory_;
  }
  return host_copy(*memory);
}

std::byte* Storage::host_copy(const DeviceMemory& memory) const {
  const std::lock_guard lock(fetching_);
  if (!host_copy_) {
    AlignedBytes fetched = allocate_aligned(bytes_);
    memory.read(fetched.get());
    host_copy_ = std::move(fetched);
  }
  return host_copy_.get();
}

// What it leaves goes when the locks are open again: another library's owner may do anything.
template <class Place>
void Storage::move(Place&& place) {
  ForeignOwner foreign{nullptr, nullptr};
  const std::scoped_lock lock(mutex_, fetching_);
  TM_CHECK(overwriting_ && !lender_, "memory moved under its readers");
  foreign.swap(foreign_);
  own_.reset();
  memory_.reset();
  host_copy_.reset();
  if constexpr (std::is_same_v<std::decay_t<Place>, AlignedBytes>) {
    own_ = std::move(place);
  } else {
    memory_ = std::move(place);
  }
  data_ = own_.get();
}

bool Storage::is_materialized() const {
  const std::lock_guard lock(mutex_);
  return !lender_;
}

void Storage::materialize() {
  const std::lock_guard lock(mutex_);
  if (!lender_) return;
  if (memory_) {
    memory_ = memory_->copy();
  } else {
    own_ = allocate_aligned(bytes_);
    if (bytes_ > 0) std::memcpy(own_.get(), data_, static_cast<std::size_t>(bytes_));
    data_ = own_.get();
  }
  lender_ = nullptr;
}

Storage::Donation Storage::donation() const {
  const std::lock_guard lock(mutex_);
  return donation_;
}

std::optional<Reading> Storage::read(const std::shared_ptr<Storage>& storage, std::uint32_t version) {
  const std::lock_guard lock(storage->mutex_);
  if (storage->overwriting_ || storage->version_ != version) return {};
  Reading reading(storage, storage->data_, storage->memory_, storage->lender_);
  ++storage->readers_;
  return reading;
}

std::optional<Overwriting> Storage::overwrite(const std::shared_ptr<Storage>& storage,
                                              std::uint32_t version) {
  TM_CHECK(!storage->read_only, "memory that must not be written was given away");
  storage->materialize();
  const std::lock_guard lock(storage->mutex_);
  if (storage->overwriting_ || storage->readers_ > 0 || storage->version_ != version) return {};
  storage->overwriting_ = true;
  return Overwriting(storage);
}

}  // namespace tidemark
