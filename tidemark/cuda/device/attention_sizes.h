// How attention is cut into blocks of threads, by the width of heads alone: kernels are written with these
// numbers, and launches ask for as much shared memory as they say.
#pragma once

namespace tidemark::cuda {

// On tensor cores: 4 warps of 32 threads, each with 16 × tiles rows of one side. The products' accumulators
// stay below 200 registers of a thread's 255, and two blocks of threads fit onto a processor up to width 128.
struct MatrixSizes {
  static constexpr int warps = 4, threads = 32 * warps;
  static constexpr int widest = 256;
  int width;

  // Heads in the block's memory: columns up to a multiple of 16, zeros behind the width; of 32 where half of
  // them are taken at a time. 16 bytes between rows let eight rows lie in different banks.
  constexpr int padded() const { return width <= 128 ? (width + 15) / 16 * 16 : (width + 31) / 32 * 32; }
  constexpr int row_bytes() const { return (padded() + 8) * 2; }
};

struct ForwardSizes : MatrixSizes {
  constexpr int tiles() const { return padded() <= 128 ? 2 : 1; }
  constexpr int queries() const { return 16 * tiles() * warps; }
  constexpr int keys() const { return 64; }
  // Memory: queries, keys, values.
  constexpr int k_offset() const { return queries() * row_bytes(); }
  constexpr int v_offset() const { return k_offset() + keys() * row_bytes(); }
  constexpr int shared_bytes() const { return v_offset() + keys() * row_bytes(); }
};

struct KeyGradientSizes : MatrixSizes {
  constexpr int tiles() const { return padded() <= 64 ? 2 : 1; }
  constexpr int keys() const { return 16 * tiles() * warps; }
  constexpr int queries() const { return padded() <= 64 || padded() > 128 ? 32 : 64; }
  // Of wide heads a block of threads makes half of the columns.
  constexpr int column_blocks() const { return padded() <= 128 ? 1 : 2; }
  constexpr int columns() const { return padded() / column_blocks(); }
  // Memory: keys, values, and two buffers of queries, gradients of results, logsumexp and delta.
  constexpr int v_offset() const { return keys() * row_bytes(); }
  constexpr int buffers() const { return 2 * v_offset(); }
  constexpr int g_offset() const { return queries() * row_bytes(); }
  constexpr int logsumexp_offset() const { return 2 * g_offset(); }
  constexpr int delta_offset() const { return logsumexp_offset() + queries() * 4; }
  constexpr int buffer_bytes() const { return delta_offset() + queries() * 4; }
  constexpr int shared_bytes() const { return buffers() + 2 * buffer_bytes(); }
};

struct QueryGradientSizes : MatrixSizes {
  constexpr int tiles() const { return padded() <= 128 ? 2 : 1; }
  constexpr int queries() const { return 16 * tiles() * warps; }
  constexpr int keys() const { return padded() <= 64 ? 64 : 32; }
  // Memory: queries, gradients of results, two buffers of keys and values, logsumexp and delta.
  constexpr int g_offset() const { return queries() * row_bytes(); }
  constexpr int buffers() const { return 2 * g_offset(); }
  constexpr int v_offset() const { return keys() * row_bytes(); }
  constexpr int buffer_bytes() const { return 2 * v_offset(); }
  constexpr int logsumexp_offset() const { return buffers() + 2 * buffer_bytes(); }
  constexpr int delta_offset() const { return logsumexp_offset() + queries() * 4; }
  constexpr int shared_bytes() const { return delta_offset() + queries() * 4; }
};

// By warpgroups on 9.0 (device/attention_warpgroups.h), heads of width 64: two warpgroups with 64 rows of one
// side each, and a third, of which one warp copies tiles of 64 rows of the other.
struct WarpgroupSizes {
  static constexpr int width = 64, warps = 8, threads = 32 * (warps + 4);
  static constexpr int rows = 16 * warps, tile = 64, stages = 8;
  // Memory, from a multiple of 1024 on: for each stage two tiles; two of the own side; for each stage two
  // numbers per row; barriers.
  static constexpr int tile_bytes = tile * width * 2;
  static constexpr int ring_offset = 0, own_offset = stages * 2 * tile_bytes,
                       numbers_offset = own_offset + 2 * rows * width * 2,
                       barriers_offset = numbers_offset + stages * 2 * tile * 4,
                       shared_bytes = barriers_offset + stages * 2 * 8 + 1024;
};

// In f32: 16 × 16 threads. Memory: rows of queries and of keys or values; in the gradient, of the two of one
// side and the two of the other; and scores. Four elements between rows let packs of four from eight rows lie
// in different banks.
struct TileSizes {
  static constexpr int threads = 256, widest = 256;
  int width;
  bool gradient;

  constexpr int rows() const { return gradient && width > 128 ? 32 : 64; }
  constexpr int padded() const { return (width + 63) / 64 * 64; }
  constexpr int step() const { return padded() + 4; }
  constexpr int score_step() const { return rows() + 4; }
  constexpr int floats() const { return rows() * step(); }
  constexpr int shared_bytes() const { return ((gradient ? 4 : 2) * floats() + rows() * score_step()) * 4; }
};

// For whatever else: a block of threads for each row.
struct RowSizes {
  static constexpr int threads = 128, columns_per_thread = 8;
};

}  // namespace tidemark::cuda
