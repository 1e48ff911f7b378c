#include "tidemark/schedule/store/store.h"

#include <algorithm>
#include <new>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"

namespace tidemark::schedule {

namespace {
constexpr std::align_val_t alignment{static_cast<std::size_t>(buffer_alignment)};
}

void MemoryStore::Free::operator()(std::byte* block) const { ::operator delete(block, alignment); }

void MemoryStore::release_spare() {
  allocated_ -= static_cast<std::int64_t>(spare_.back().capacity);
  spare_.pop_back();
}

void MemoryStore::make_room(std::int64_t bytes_of_others) {
  others_ = bytes_of_others;
  while (!spare_.empty() && allocated_ + others_ > budget_) release_spare();
}

std::span<std::byte> MemoryStore::open(std::int32_t slot, std::size_t bytes) {
  const auto s = static_cast<std::size_t>(slot);
  if (s >= slots_.size()) slots_.resize(s + 1);
  Block& block = slots_[s];
  TM_CHECK(!block.data, "slot {} is not empty", slot);
  while (!spare_.empty() && spare_.back().capacity < bytes) release_spare();
  if (!spare_.empty()) {
    block = std::move(spare_.back());
    spare_.pop_back();
  } else {
    block.data.reset(static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), alignment)));
    block.capacity = bytes;
    allocated_ += static_cast<std::int64_t>(bytes);
  }
  block.bytes = bytes;
  return {block.data.get(), bytes};
}

std::optional<std::span<const std::byte>> MemoryStore::read(std::int32_t slot) {
  const Block& block = slots_[static_cast<std::size_t>(slot)];
  return std::span<const std::byte>(block.data.get(), block.bytes);
}

void MemoryStore::drop(std::int32_t slot) {
  spare_.push_back(std::move(slots_[static_cast<std::size_t>(slot)]));
  slots_[static_cast<std::size_t>(slot)] = {};
  make_room(others_);
}

}  // namespace tidemark::schedule
