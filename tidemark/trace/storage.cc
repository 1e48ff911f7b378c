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

Reading::Reading(std::shared_ptr<Storage> storage, std::byte* data, std::shared_ptr<Lender> lender)
    : storage_(std::move(storage)), data_(data), lender_(std::move(lender)) {
  if (!lender_) return;
  read_here.push_back(lender_.get());
  lender_->readers_.fetch_add(1);
}

Reading::Reading(Reading&& other) noexcept
    : storage_(std::move(other.storage_)), data_(other.data_), lender_(std::move(other.lender_)) {}

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

Overwriting::~Overwriting() {
  if (!storage_) return;
  const std::lock_guard lock(storage_->mutex_);
  storage_->overwriting_ = false;
}

std::byte* Overwriting::data() const { return storage_->data(); }

void Overwriting::give_away(SourceLine where, bool half_written) {
  const std::lock_guard lock(storage_->mutex_);
  ++storage_->version_;
  storage_->donation_ = {where, half_written};
}

std::uint64_t Storage::next_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::byte* Storage::data() const {
  const std::lock_guard lock(mutex_);
  return data_;
}

bool Storage::is_materialized() const {
  const std::lock_guard lock(mutex_);
  return !lender_;
}

void Storage::materialize() {
  const std::lock_guard lock(mutex_);
  if (!lender_) return;
  own_ = allocate_aligned(bytes_);
  if (bytes_ > 0) std::memcpy(own_.get(), data_, static_cast<std::size_t>(bytes_));
  data_ = own_.get();
  lender_ = nullptr;
}

Storage::Donation Storage::donation() const {
  const std::lock_guard lock(mutex_);
  return donation_;
}

std::optional<Reading> Storage::read(const std::shared_ptr<Storage>& storage, std::uint32_t version) {
  const std::lock_guard lock(storage->mutex_);
  if (storage->overwriting_ || storage->version_ != version) return {};
  Reading reading(storage, storage->data_, storage->lender_);
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
