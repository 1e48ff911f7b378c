// How linear_cross_entropy goes through its examples and classes on the CPU, and in which scratch.
#pragma once
#include <algorithm>

#include "tidemark/base/bytes.h"
#include "tidemark/base/shape.h"
#include "tidemark/kernel/gemm.h"
#include "tidemark/ops/normalization/linear_cross_entropy.h"

namespace tidemark {

// The sizes of a call, and how its examples are cut into chunks: by the sizes alone, since sums over examples
// go chunk by chunk and their bits must not depend on the machine.
//
// Every chunk reads all of w twice, for its logits and for x's gradient. Where w is large (tiled), tasks do
// so tile by tile of the classes: each packs its tile for itself, uses it for all rows while it is in the
// cache, and waits for nobody. x's gradient is a sum over classes, so lanes of tiles have a sum each. With
// panels packed by all threads for all, as in gemm::run, products of so few rows take 1.4 to 1.6 times as
// long on 16 AVX-512 cores.
struct Chunks {
  std::int64_t examples = 0, width = 0, classes = 0;
  std::int64_t rows = 0;  // of a chunk; the last may have fewer

  static constexpr std::int64_t tile = 192, strip = 96, lanes = 16;

  // As many rows as make reading w cost little beside the arithmetic; 144 of them are whole panels on every
  // machine. Of 50,000 classes and 4,096 examples that is 3.5% of the logits. Where a few MiB hold more,
  // more.
  static Chunks of(const Shape& x, const Shape& w, bool columns, std::int64_t element) {
    constexpr std::int64_t few = 96, many = 144, unit = 48, small = std::int64_t{4} << 20;
    Chunks c;
    c.width = x.back();
    c.examples = 1;
    for (int i = 0; i + 1 < x.rank(); ++i) c.examples *= x[i];
    c.classes = w[columns ? 1 : 0];
    const std::int64_t by_share = std::clamp(c.examples / 24 / unit * unit, few, many);
    const std::int64_t by_size = small / std::max<std::int64_t>(c.classes * element, 1) / unit * unit;
    c.rows = std::min(std::max(by_share, by_size), std::max<std::int64_t>(c.examples, 1));
    return c;
  }
  std::int64_t last_rows() const { return examples == 0 ? 0 : examples - (examples - 1) / rows * rows; }

  std::int64_t tiles() const { return (classes + tile - 1) / tile; }
  bool tiled() const { return tiles() >= lanes && width > 0; }

  gemm::Sizes logits(std::int64_t m) const { return {m, classes, width, 1}; }
  gemm::Sizes x_gradient(std::int64_t m) const { return {m, width, classes, 1}; }
  gemm::Sizes w_gradient(std::int64_t k, bool columns) const {
    return columns ? gemm::Sizes{width, classes, k, 1} : gemm::Sizes{classes, width, k, 1};
  }
};

// What lies in scratch, in bytes from its beginning: the logits and what the whole chunk needs, then what one
// product after the other needs.
struct ChunkScratch {
  std::int64_t logits = 0, scaled_x = 0, scale = 0;
  std::int64_t product = 0;               // of gemm::run
  std::int64_t x_panels = 0, w_tile = 0;  // for the logits by tiles; a tile for each lane
  std::int64_t sum = 0, packed = 0;       // for x's gradient by tiles; each lane's
  std::int64_t bytes = 0;

  // Elements, on whatever machine.
  static std::int64_t x_panels_of(const Chunks& c) { return align_up(c.rows, gemm::widest.a) * c.width; }
  static std::int64_t w_tile_of(const Chunks& c) {
    return align_up(Chunks::tile, gemm::widest.b) * gemm::depth_block(c.width);
  }
  static std::int64_t logits_tile_of(const Chunks& c) {
    return align_up(c.rows, gemm::widest.a) * Chunks::tile;
  }
  static std::int64_t packed_of(const Chunks& c) {
    return logits_tile_of(c) + align_up(Chunks::strip, gemm::widest.b) * Chunks::tile;
  }

  template <class W>
  static ChunkScratch of(const Chunks& chunks, const LinearCrossEntropyAttrs& attrs, bool plain) {
    ChunkScratch s;
    std::int64_t end = 0;
    const auto claim = [&](std::int64_t elements) {
      const std::int64_t at = end;
      end += align_up(elements * static_cast<std::int64_t>(sizeof(W)), buffer_alignment);
      return at;
    };
    s.logits = claim(chunks.rows * chunks.classes);
    s.scaled_x = claim(attrs.w_gradient ? chunks.rows * chunks.width : 0);
    s.scale = claim(chunks.rows);
    s.product = end;
    std::int64_t most = 0;
    const auto claim_product = [&](const gemm::Sizes& sizes, bool from_memory) {
      most = std::max(most, gemm::scratch_bytes<W>(sizes, false, from_memory));
    };
    for (const std::int64_t rows : {chunks.rows, chunks.last_rows()}) {
      if (!chunks.tiled()) claim_product(chunks.logits(rows), plain);
      if (!chunks.tiled() && attrs.x_gradient) claim_product(chunks.x_gradient(rows), plain);
      if (attrs.w_gradient) claim_product(chunks.w_gradient(rows, attrs.columns), true);
    }
    s.bytes = s.product + most;
    if (!chunks.tiled()) return s;
    s.x_panels = claim(x_panels_of(chunks));
    s.w_tile = claim(Chunks::lanes * w_tile_of(chunks));
    s.bytes = std::max(s.bytes, end);
    if (!attrs.x_gradient) return s;
    end = s.product;
    s.sum = claim(Chunks::lanes * chunks.rows * chunks.width);
    s.packed = claim(Chunks::lanes * packed_of(chunks));
    s.bytes = std::max(s.bytes, end);
    return s;
  }
};

}  // namespace tidemark
