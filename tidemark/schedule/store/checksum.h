// 64 bits that tell blocks of bytes apart: XXH3 (Collet), at the speed of memory. Never 0, so that 0 can say
// "unknown".
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace tidemark::schedule {

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace tidemark::schedule
