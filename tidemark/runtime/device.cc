#include "tidemark/runtime/device.h"

#include <algorithm>

#include "tidemark/base/aligned.h"
#include "tidemark/base/error.h"

namespace tidemark {

bool Prepared::record(RecordedTimes*) { return false; }

DeviceId Device::id() const {
  return target().name == cpu_target_name ? DeviceId() : DeviceId{DeviceKind::extension, 0};
}

const Machine& Device::machine() const { return reference_machine(); }

const Target& target_named(const Device& device, std::string_view name) {
  for (const Target* other : {device.tf32_target(), device.fp8_target(false), device.fp8_target(true)}) {
    if (other && other->name == name) return *other;
  }
  return device.target();
}

std::shared_ptr<const DiskMemory> Device::open_disk(const std::string&, DiskCompression) {
  throw InternalError(fmt::format("a disk for the device {}, which has none", target().name));
}

void Device::copy(Address to, Address from, std::int64_t bytes) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  const AlignedBytes between = allocate_aligned(std::min(bytes, most));
  for (std::int64_t at = 0; at < bytes; at += most) {
    const std::int64_t part = std::min(most, bytes - at);
    read(between.get(), from + at, part);
    write(to + at, between.get(), part);
  }
}

}  // namespace tidemark
