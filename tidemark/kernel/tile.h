// A tile function computes one op on `n` dense elements of a compute type: the unit that elementwise kernels,
// and fused ones, are made of. It knows nothing of shapes, strides or 16-bit storage; whoever calls it
// (kernel/fused) brings operands into that form.
//
// Every element's bits depend on that element's operands alone, never on its place in the tile, on n or on
// alignment, but for the sign and payload of a NaN.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

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

enum class Staging : std::uint8_t {
  compute,  // 16-bit floats are widened to f32 for the tile and rounded once when stored
  storage,  // the tile sees elements as they are stored (it only moves them)
};

// What a tile on f32 does where that is a few instructions: machine code may do it in registers, with the
// same bits.
enum class TileOp : std::uint8_t {
  other,
  neg,
  abs,
  square,
  relu,
  sqrt,
  reciprocal,
  rsqrt,
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_not,
  logical_and,
  logical_or,
  logical_xor,
  select
};

// One call of a pointwise op as a tile.
struct TileCode {
  Tile tile = nullptr;
  TileOp op = TileOp::other;
  Staging staging = Staging::compute;
  std::shared_ptr<const void> attributes = nullptr;  // what TileArgs::attributes points at
};

// What kernels compute in for data stored as `storage`.
constexpr DType compute_dtype(DType storage) {
  return storage == DType::bf16 || storage == DType::f16 ? DType::f32 : storage;
}

}  // namespace tidemark
