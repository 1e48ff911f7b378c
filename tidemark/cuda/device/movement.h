// Elements that move as they are (ops/movement/movement.h). G says where: cuda/calls/window_copy.h.
#pragma once
#include "tidemark/cuda/device/chunks.h"

namespace tidemark::cuda {

template <class G>
const Chunk<G::element>* window_from(const typename G::Pointers& at) {
  return static_cast<const Chunk<G::element>*>(at.in[G::operand]) + G::from_first;
}
template <class G>
Chunk<G::element>* window_to(const typename G::Pointers& at) {
  return static_cast<Chunk<G::element>*>(at.out[G::result]) + G::to_first;
}

// Neighbours stay neighbours: several at once, where addresses allow it.
template <class G>
void copy_chunks(const typename G::Pointers& at) {
  using Index = typename G::Index;
  constexpr int per_chunk = G::chunk / G::element;
  const Chunk<G::element>* const from = window_from<G>(at);
  Chunk<G::element>* const to = window_to<G>(at);
  if (from == to) return;  // in place
  const Turns<G> turns;
  if (is_chunk_aligned<G::chunk>(from) && is_chunk_aligned<G::chunk>(to)) {
    using Whole = Chunk<G::chunk>;
    for (Index i = turns.first; i < G::count; i += turns.step)
      reinterpret_cast<Whole*>(to)[G::to_at(i)] = reinterpret_cast<const Whole*>(from)[G::from_at(i)];
  } else {
    for (Index i = turns.first; i < G::count; i += turns.step) {
      for (int e = 0; e < per_chunk; ++e)
        to[G::to_at(i) * per_chunk + e] = from[G::from_at(i) * per_chunk + e];
    }
  }
}

// Matrices transposed tile by tile, so that both sides are accessed along neighbours.
template <class G>
void transpose_tiles(const typename G::Pointers& at) {
  using Index = typename G::Index;
  constexpr int side = G::element <= 2 ? 64 : 32, together = 256 / side;
  __shared__ Chunk<G::element> tile[side][side + 1];
  const int across = static_cast<int>(threadIdx.x) % side, down = static_cast<int>(threadIdx.x) / side;
  Index block = static_cast<Index>(blockIdx.x);
  const Index column = block % G::column_tiles * side;
  block /= G::column_tiles;
  const Index row = block % G::row_tiles * side, batch = block / G::row_tiles;
  const Chunk<G::element>* const from = window_from<G>(at) + G::from_at(batch);
  Chunk<G::element>* const to = window_to<G>(at) + G::to_at(batch);
#pragma unroll
  for (int d = 0; d < side; d += together) {
    const Index r = row + across, c = column + down + d;
    if (r < G::rows && c < G::columns) tile[down + d][across] = from[c * G::from_step + r];
  }
  __syncthreads();
#pragma unroll
  for (int d = 0; d < side; d += together) {
    const Index r = row + down + d, c = column + across;
    if (r < G::rows && c < G::columns) to[r * G::to_step + c] = tile[across][down + d];
  }
}

// Every element becomes the one of operand 1.
template <class G>
void fill_elements(const typename G::Pointers& at) {
  using Index = typename G::Index;
  using Element = Chunk<G::element>;
  constexpr int width = 16 / G::element;
  const Turns<G> turns;
  Element values[width];
#pragma unroll
  for (int e = 0; e < width; ++e) values[e] = *static_cast<const Element*>(at.in[1]);
  Element* const to = static_cast<Element*>(at.out[0]);
  const bool aligned = is_aligned<width>(to);
  for (Index p = turns.first; p < G::count / width; p += turns.step) store(to + p * width, values, aligned);
  for (Index i = G::count / width * width + turns.first; i < G::count; i += turns.step) to[i] = values[0];
}

template <class G>
void count_along_axis(const typename G::Pointers& at) {
  using T = typename G::T;
  using Index = typename G::Index;
  const Turns<G> turns;
  for (Index i = turns.first; i < G::count; i += turns.step)
    static_cast<T*>(at.out[0])[i] = cast_stored<T>(static_cast<long long>(i / G::inner % G::size));
}

template <class G>
void write_bits(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const Turns<G> turns;
  for (Index i = turns.first; i < G::count; i += turns.step)
    static_cast<typename G::Bits*>(at.out[0])[i] = G::bits(i);
}

// Row r of a matrix keeps columns ≤ r + diagonal (lower) or ≥ r + diagonal.
template <class G>
void keep_triangle(const typename G::Pointers& at) {
  using Index = typename G::Index;
  using Element = Chunk<G::element>;
  const Turns<G> turns;
  for (Index i = turns.first; i < G::count; i += turns.step) {
    const Index edge = i / G::columns % G::rows + G::diagonal, column = i % G::columns;
    const bool kept = G::lower ? column <= edge : column >= edge;
    static_cast<Element*>(at.out[0])[i] =
        kept ? static_cast<const Element*>(at.in[0])[G::from_at(i)] : Element{};
  }
}

}  // namespace tidemark::cuda
