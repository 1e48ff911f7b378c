#include "tidemark/trace/storage.h"

#include <atomic>
#include <cstring>

namespace tidemark {

std::uint64_t Storage::next_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void Storage::settle() {
  if (settled()) return;
  AlignedBytes copy = allocate_aligned(bytes_);
  std::memcpy(copy.get(), data_, static_cast<std::size_t>(bytes_));
  own_ = std::move(copy);
  data_ = own_.get();
}

}  // namespace tidemark
