#include "tidemark/base/aligned.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"

namespace tidemark {
namespace {

std::int64_t find_machine_memory() {
  constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();
  struct sysinfo machine = {};
  std::int64_t most = unknown;
  if (sysinfo(&machine) == 0) {
    const auto units = static_cast<std::int64_t>(machine.totalram + machine.totalswap);
    if (__builtin_mul_overflow(units, std::int64_t{machine.mem_unit}, &most)) most = unknown;
  }
  std::int64_t limit = 0;  // the file holds "max" where there is none
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit && limit > 0) most = std::min(most, limit);
  return most;
}

}  // namespace

std::int64_t machine_memory() {
  static const std::int64_t bytes = find_machine_memory();
  return bytes;
}

void out_of_memory(std::int64_t bytes) {
  throw DeviceError(
      ErrorCode::out_of_memory,
      {.what = fmt::format("out of memory: {} ({} bytes) cannot be had", to_string(Bytes(bytes)), bytes),
       .expected = fmt::format("less than the {} of this machine", to_string(Bytes(machine_memory()))),
       .help = "make the tensors smaller, or compile the computation with a budget"});
}

void require_machine_memory(std::int64_t bytes) {
  if (bytes > machine_memory()) out_of_memory(bytes);
}

AlignedBytes allocate_aligned(std::int64_t bytes) {
  require_machine_memory(bytes);
  try {
    return AlignedBytes(new (std::align_val_t(memory_alignment)) std::byte[static_cast<std::size_t>(bytes)]);
  } catch (const std::bad_alloc&) {
    out_of_memory(bytes);
  }
}

}  // namespace tidemark
