// The one stretch of a memory that a plan runs in, reserved up front. It counts its own high-water mark: the
// furthest byte that any step was given, which a plan's claim is held against.
#pragma once
#include <algorithm>

#include "tidemark/runtime/device.h"

namespace tidemark {

class Arena {
 public:
  Arena(Device& device, std::int64_t bytes, int memory = 0)
      : device_(device),
        bytes_(bytes),
        memory_(memory),
        base_(bytes > 0 ? device.allocate(memory, bytes) : Address{}) {}
  ~Arena() {
    if (base_) device_.release(memory_, base_, bytes_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Address base() const { return base_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t high_water() const { return high_water_; }
  void reset_high_water() { high_water_ = 0; }
  void touch(std::int64_t end) { high_water_ = std::max(high_water_, end); }

 private:
  Device& device_;
  std::int64_t bytes_;
  int memory_;
  Address base_;
  std::int64_t high_water_ = 0;
};

}  // namespace tidemark
