// Memory for tensors that live outside any plan: aligned to a cache line, not initialised, freed with its
// owner.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tidemark {

inline constexpr std::size_t memory_alignment = 64;

struct AlignedDelete {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t(memory_alignment)); }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

// Throws DeviceError, out_of_memory, with the bytes asked for.
AlignedBytes allocate_aligned(std::int64_t bytes);

// All memory this process could ever have: the machine's with its swap, or the limit of the container it runs
// in.
std::int64_t machine_memory();

// Throws DeviceError, out_of_memory, for more bytes than that. Systems that promise more than they have would
// grant them, and end the process when it writes there.
void require_machine_memory(std::int64_t bytes);
[[noreturn]] void out_of_memory(std::int64_t bytes);

}  // namespace tidemark
