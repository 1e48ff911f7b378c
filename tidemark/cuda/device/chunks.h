// Elements as bytes that are moved at once, and threads that take turns.
#pragma once
#include "tidemark/cuda/device/elements.h"

namespace tidemark::cuda {

template <class G>
struct Turns {
  using Index = typename G::Index;
  Index first, step;
  Turns()
      : first(static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) +
              static_cast<Index>(threadIdx.x)),
        step(static_cast<Index>(gridDim.x) * static_cast<Index>(blockDim.x)) {}
};

template <int bytes>
struct Chunk;
template <>
struct Chunk<16> {
  alignas(16) std::uint64_t at[2];
};
template <>
struct Chunk<8> {
  std::uint64_t at;
};
template <>
struct Chunk<4> {
  std::uint32_t at;
};
template <>
struct Chunk<2> {
  std::uint16_t at;
};
template <>
struct Chunk<1> {
  std::uint8_t at;
};
template <int bytes>
bool is_chunk_aligned(const void* p) {
  return reinterpret_cast<std::size_t>(p) % bytes == 0;
}

}  // namespace tidemark::cuda
