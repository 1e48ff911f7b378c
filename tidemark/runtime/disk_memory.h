// A disk as a further memory of a device that computes elsewhere than in the host's memory: arenas there are
// files without a name, which plans copy values to and from, and nothing else.
#pragma once
#include <cstdint>
#include <memory>

namespace tidemark {

enum class DiskCompression;  // cpu/disk_compression.h
struct DiskTraffic;          // cpu/file_memory.h

struct DiskMemory {
  int number = 0;  // of the memory, for Device::allocate and release
  std::shared_ptr<const DiskTraffic> traffic = {};
};

// Memory of the host that copies between a device and a disk go through: a half for each direction, taken
// with the arena there. Where a plan may use the host's memory too, its budget there is less by as much.
inline constexpr std::int64_t disk_staging_bytes = std::int64_t{16} << 20;

}  // namespace tidemark
