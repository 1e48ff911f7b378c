#include <fstream>
#include <string>

#include "tidemark/scalar/tape.h"

#ifdef __linux__
#include <unistd.h>
#endif

namespace tidemark::scalars {
namespace {

Bytes measured() {
  constexpr Bytes without_knowing(1 << 20);
  // What ARM machines do not tell sysconf stands in sysfs: "1024K".
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    std::ifstream level_file(folder + "/level"), size_file(folder + "/size");
    int level = 0;
    std::int64_t size = 0;
    std::string unit;
    if (!(level_file >> level) || level != 2 || !(size_file >> size)) continue;
    size_file >> unit;
    if (unit == "K") size <<= 10;
    if (unit == "M") size <<= 20;
    if (size >= smallest_memory) return Bytes(size);
  }
#ifdef _SC_LEVEL2_CACHE_SIZE
  if (const long size = sysconf(_SC_LEVEL2_CACHE_SIZE); size >= smallest_memory) return Bytes(size);
#endif
  return without_knowing;
}

}  // namespace

Bytes cache_size() {
  static const Bytes size = measured();
  return size;
}

}  // namespace tidemark::scalars
