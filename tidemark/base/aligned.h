// Memory for tensors that live outside any plan: aligned to a cache line, not initialised, freed with its owner.
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

inline AlignedBytes allocate_aligned(std::int64_t bytes) {
  return AlignedBytes(new (std::align_val_t(memory_alignment)) std::byte[static_cast<std::size_t>(bytes)]);
}

}  // namespace tidemark
