#include "tidemark/trace/storage.h"

#include <cstring>

namespace tidemark {

void Storage::settle() {
  if (settled()) return;
  AlignedBytes copy = allocate_aligned(bytes_);
  std::memcpy(copy.get(), data_, static_cast<std::size_t>(bytes_));
  own_ = std::move(copy);
  data_ = own_.get();
}

}  // namespace tidemark
