// A tile function computes one op on `n` dense elements of a compute type: the unit that elementwise kernels, and
// fused ones, are made of. It knows nothing of shapes, strides or 16-bit storage; whoever calls it (kernel/elementwise)
// brings operands into that form.
//
// Every element's bits depend on that element's operands alone, never on its place in the tile, on n or on alignment.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "tidemark/base/dtype.h"

namespace tidemark {

inline constexpr int max_tile_operands = 3;

struct TileArgs {
  std::array<const std::byte*, max_tile_operands> in{};
  std::byte* out = nullptr;  // may be exactly one of `in`
  std::int64_t n = 0;
  const void* attributes = nullptr;

  template <class T>
  const T* operand(int i) const {
    return reinterpret_cast<const T*>(in[static_cast<std::size_t>(i)]);
  }
  template <class T>
  T* result() const {
    return reinterpret_cast<T*>(out);
  }
};
using Tile = void (*)(const TileArgs&);

// What kernels compute in for data stored as `storage`.
constexpr DType compute_dtype(DType storage) {
  return storage == DType::bf16 || storage == DType::f16 ? DType::f32 : storage;
}

// The elements of one staging buffer: at most 2 KiB, so that three operands and a result stay in the L1 cache.
inline constexpr std::int64_t tile_elements = 256;

}  // namespace tidemark
