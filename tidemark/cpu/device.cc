#include "tidemark/cpu/device.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/kernels.h"

namespace tidemark {

Launch CpuDevice::prepare(const Call& call) const {
  const CpuKernel* kernel = find_cpu_kernel(*call.op);
  if (!kernel) {
    fail(ErrorCode::no_kernel,
         {.what = fmt::format("{} cannot run on the CPU: it has no kernel", call.op->name),
          .where = call.where,
          .help = "such an op can only be planned"});
  }
  return {kernel->run, kernel->prepare(call)};
}

std::byte* CpuDevice::allocate(std::int64_t bytes) {
  void* memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw DeviceError(
        fmt::format("the machine has no {} for an arena: {}", to_string(Bytes(bytes)), std::strerror(errno)));
  }
  madvise(memory, static_cast<std::size_t>(bytes),
          MADV_HUGEPAGE);  // fewer page faults; a refusal does no harm
  return static_cast<std::byte*>(memory);
}

void CpuDevice::release(std::byte* memory, std::int64_t bytes) noexcept {
  munmap(memory, static_cast<std::size_t>(bytes));
}

}  // namespace tidemark
