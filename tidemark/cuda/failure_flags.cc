#include "tidemark/cuda/failure_flags.h"

#include <algorithm>
#include <cstring>

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

FailureFlags::FailureFlags(const Context& context, std::size_t count)
    : context_(context), count_(count), host_(context, static_cast<std::int64_t>(4 * count)) {
  if (count == 0) return;
  device_ = context.allocate(host_.bytes());
  std::memset(host_.data(), 0, 4 * count);
}

FailureFlags::~FailureFlags() {
  if (device_) context_.release(device_);
}

void FailureFlags::clear(const Stream& stream) const { stream.clear(device_, host_.bytes()); }

void FailureFlags::fetch(const Stream& stream) const {
  stream.copy_to_host(host_.data(), device_, host_.bytes());
}

bool FailureFlags::any_failed(std::size_t first, std::size_t count) const {
  return std::any_of(host_.data() + 4 * first, host_.data() + 4 * (first + count),
                     [](std::byte b) { return b != std::byte{0}; });
}

}  // namespace tidemark::cuda

#endif
