// Which device's memory something lies in: a kind, and a number among the devices of that kind. The numbers
// of the kinds are DLPack's, so that they need no translation on the way out.
#pragma once
#include <cstdint>

namespace tidemark {

enum class DeviceKind : std::int32_t { cpu = 1, cuda = 2, extension = 12 };

struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  std::int32_t index = 0;  // 0 for the CPU, whose memory is one
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

}  // namespace tidemark
