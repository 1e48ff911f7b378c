// Moving elements between storage and tiles: gathers, fills, copies, and the widening and rounding of 16-bit
// floats.
#pragma once
#include "tidemark/kernel/tile.h"

namespace tidemark {

// Copies n elements that lie `stride` apart (0: the same one) to a dense tile.
using TileLoad = void (*)(const std::byte* source, std::int64_t stride, std::int64_t n, std::byte* tile);
// `widen`: 16-bit floats become f32.
TileLoad tile_load(DType storage, bool widen);

// Rounds a tile of f32 to 16-bit storage. nullptr for dtypes that tiles write as they are.
using TileStore = void (*)(const std::byte* tile, std::int64_t n, std::byte* target);
TileStore tile_store(DType storage);

// As tiles, in storage: the operand, and the element at TileArgs::attributes.
Tile copy_tile(DType storage);
Tile repeat_tile(DType storage);

}  // namespace tidemark
