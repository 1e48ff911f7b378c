// Products of f32 matrices whose result is too small for the tiles of large products: they would leave most
// of a GPU idle. Tiles are of 32 × 32, and the depth of each is shared by the warps of a block, which need
// nothing of each other until the end: a warp copies chunks of 16 of the depth ahead of itself into memory
// of its own, and no barrier holds it up. Then the warps' sums are added in order. Where tiles are still too
// few, several blocks share the depth, and a second launch adds up what they leave in scratch. Every element
// is the same sum in the same order in every run.
//
// Why so: of a tile, each pass of 16 of the depth reads 4 KiB of operands for 16 Ki fused products: a
// multiprocessor makes 128 of these in a cycle, so that it asks the L2 cache for 32 bytes in one, which is
// about what each of 132 gets. Lanes hold 8 × 4 sums: 12 reads of 16 bytes for 128 products keep the block's
// memory about as busy as the arithmetic. Smaller tiles would wait for either.
#pragma once
#include "tidemark/cuda/device/elements.h"
#ifdef __CUDACC_RTC__
#include "tidemark/cuda/device/warp.h"
#endif

namespace tidemark::cuda {

inline constexpr int thin_tile = 32, thin_chunk = 16, thin_warps = 8, thin_stages = 3;
inline constexpr int thin_rows = 8, thin_columns = 4;            // of the sums of a lane
inline constexpr int thin_part = thin_tile * thin_chunk;         // elements of a chunk of one operand
inline constexpr int thin_memory = thin_stages * 2 * thin_part;  // elements of a warp
inline constexpr int thin_sum_step = thin_tile + 8;  // between rows of sums: lanes write to different banks
static_assert(thin_tile * thin_sum_step <= thin_memory);

// An operand is `deep` where its elements lie side by side along the depth. Then a chunk lies as 32 rows of
// 16, in packs of four whose places in a row are exchanged so that those of eight rows lie in different
// banks; else as 16 rows of 32.
inline int deep_place(int row, int pack) { return row * thin_chunk + (pack ^ (row / 2 % 4)) * 4; }

// The chunk from depth k0 on of 32 rows (columns, of the right operand) from `first` on. What lies outside
// is zero. `packs`: all in packs of four, which lie at multiples of 16 bytes and are inside or outside.
template <bool deep, long long step, int extent, int depth>
void copy_chunk(float* to, const float* from, int first, int k0, bool packs) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (packs) {
#pragma unroll
    for (int turn = 0; turn < thin_part / 128; ++turn) {
      const int n = turn * 32 + lane;
      const int row = deep ? n / (thin_chunk / 4) : n % (thin_tile / 4) * 4,
                k = deep ? n % (thin_chunk / 4) * 4 : n / (thin_tile / 4);
      const bool inside = first + row < extent && k0 + k < depth;
      const long long at = deep ? (first + row) * step + (k0 + k) : (k0 + k) * step + (first + row);
      copy_quad(place_of(to + (deep ? deep_place(row, k / 4) : k * thin_tile + row)),
                from + (inside ? at : 0), inside);
    }
    return;
  }
#pragma unroll 1
  for (int n = lane; n < thin_part; n += 32) {
    const int row = deep ? n / thin_chunk : n % thin_tile, k = deep ? n % thin_chunk : n / thin_tile;
    const bool inside = first + row < extent && k0 + k < depth;
    const long long at = deep ? (first + row) * step + (k0 + k) : (k0 + k) * step + (first + row);
    copy_word(place_of(to + (deep ? deep_place(row, k / 4) + k % 4 : k * thin_tile + row)),
              from + (inside ? at : 0), inside);
  }
}

// Which of the tile's rows (columns) is number i of those that lanes of this part hold.
template <bool deep, int count>
int thin_row(int part, int i) {
  return deep ? part + thin_tile / count * i : part * count + i;
}
// Where they lie in a chunk. Of a deep one: those of the first, for each pack of a row. Row i lies 32 / count
// rows further for each i, which changes other bits of a pack's place than the part does: so it is the place
// of another pack, and a number that the compiler knows.
template <bool deep, int count>
struct LanePlaces {
  static constexpr int apart = thin_tile / count;
  int first[deep ? 4 : 1];

  explicit LanePlaces(int part) {
    if constexpr (deep) {
#pragma unroll
      for (int pack = 0; pack < 4; ++pack) first[pack] = deep_place(part, pack);
    } else {
      first[0] = part * count;
    }
  }
  // Four of the depth: pack number `pack` of the chunk.
  void load(float (&x)[4][count], const float* chunk, int pack) const {
    if constexpr (deep) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const auto four = *reinterpret_cast<const Pack<4, float>*>(chunk + first[pack ^ (apart / 2 * i % 4)] +
                                                                   apart * i * thin_chunk);
#pragma unroll
        for (int k = 0; k < 4; ++k) x[k][i] = four.at[k];
      }
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
#pragma unroll
        for (int i = 0; i < count; i += 4) {
          const auto four =
              *reinterpret_cast<const Pack<4, float>*>(chunk + first[0] + (pack * 4 + k) * thin_tile + i);
#pragma unroll
          for (int e = 0; e < 4; ++e) x[k][i + e] = four.at[e];
        }
      }
    }
  }
};

// What is added to the element (i, j) of the result, and where that goes.
template <class P>
void finish_thin(const typename P::Pointers& at, int i, int j, float (&sums)[4], bool aligned) {
  const int to = i * P::n + j;
  if constexpr (P::added) {
    float before[4] = {};
    const float* const from = static_cast<const float*>(at.in[2]) + (P::added_row ? j : to);
    if (aligned) {
      load(before, from, true);
    } else {
      for (int e = 0; e < 4; ++e) before[e] = j + e < P::n ? from[e] : 0.0f;
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[e] = before[e] + sums[e];
  }
  float* const out = static_cast<float*>(at.out[0]) + to;
  if (aligned) return store(out, sums, true);
  for (int e = 0; e < 4; ++e) {
    if (j + e < P::n) out[e] = sums[e];
  }
}
template <class P>
bool is_thin_result_aligned(const typename P::Pointers& at) {
  bool aligned = P::n % 4 == 0 && is_aligned<4>(static_cast<const float*>(at.out[0]));
  if constexpr (P::added) aligned = aligned && is_aligned<4>(static_cast<const float*>(at.in[2]));
  return aligned;
}

// P has the sizes m, n and k; of either operand whether it is deep and the step between its rows; how many
// blocks share a depth (`shares`) and how many chunks of it each has.
template <class P>
void multiply_thin(const typename P::Pointers& at) {
  constexpr int tiles_n = (P::n + thin_tile - 1) / thin_tile,
                tiles = (P::m + thin_tile - 1) / thin_tile * tiles_n;
  constexpr int chunks = (P::k + thin_chunk - 1) / thin_chunk;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  // Loads of 16 bytes by a warp take half the time where lanes whose numbers differ in one of the two lowest
  // bits read the same: so one of them counts rows, the other columns.
  const int left = lane / 2 % 2 + lane / 16 * 2, right = lane % 2 + lane / 4 % 4 * 2;
  const int block = static_cast<int>(blockIdx.x), share = block / tiles, tile = block % tiles;
  const int i0 = tile / tiles_n * thin_tile, j0 = tile % tiles_n * thin_tile;
  const float* const lhs = static_cast<const float*>(at.in[0]);
  const float* const rhs = static_cast<const float*>(at.in[1]);
  const bool lhs_packs = (P::lhs_deep ? P::k : P::m) % 4 == 0 && P::lhs_step % 4 == 0 && is_aligned<4>(lhs);
  const bool rhs_packs = (P::rhs_deep ? P::k : P::n) % 4 == 0 && P::rhs_step % 4 == 0 && is_aligned<4>(rhs);
  float* const memory = reinterpret_cast<float*>(block_memory());
  float* const mine = memory + warp * thin_memory;

  // Chunks first, first + 8, … are this warp's.
  const int first = share * P::share_chunks + warp;
  const int end = (share + 1) * P::share_chunks < chunks ? (share + 1) * P::share_chunks : chunks;
  const auto begin_copies = [&](int chunk, int stage) {
    if (chunk < end) {
      float* const to = mine + stage * 2 * thin_part;
      copy_chunk<P::lhs_deep, P::lhs_step, P::m, P::k>(to, lhs, i0, chunk * thin_chunk, lhs_packs);
      copy_chunk<P::rhs_deep, P::rhs_step, P::n, P::k>(to + thin_part, rhs, j0, chunk * thin_chunk,
                                                       rhs_packs);
    }
    end_copy_group();
  };
  const LanePlaces<P::lhs_deep, thin_rows> lhs_places(left);
  const LanePlaces<P::rhs_deep, thin_columns> rhs_places(right);
  float sums[thin_rows][thin_columns] = {};
#pragma unroll
  for (int s = 0; s < thin_stages - 1; ++s) begin_copies(first + s * thin_warps, s);
  int stage = 0;
#pragma unroll 1
  for (int chunk = first; chunk < end; chunk += thin_warps) {
    wait_for_copy_groups<thin_stages - 2>();
    sync_warp();  // all lanes' copies are there, and nobody reads the chunk before any more
    begin_copies(chunk + (thin_stages - 1) * thin_warps, (stage + thin_stages - 1) % thin_stages);
    const float* const here = mine + stage * 2 * thin_part;
#pragma unroll
    for (int pack = 0; pack < thin_chunk / 4; ++pack) {
      float a[4][thin_rows], b[4][thin_columns];
      lhs_places.load(a, here, pack);
      rhs_places.load(b, here + thin_part, pack);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
#pragma unroll
        for (int r = 0; r < thin_rows; ++r) {
#pragma unroll
          for (int c = 0; c < thin_columns; ++c) sums[r][c] = std::fma(a[k][r], b[k][c], sums[r][c]);
        }
      }
    }
    stage = (stage + 1) % thin_stages;
  }
  sync_warp();  // the sums go where chunks were
#pragma unroll
  for (int r = 0; r < thin_rows; ++r) {
#pragma unroll
    for (int c = 0; c < thin_columns; ++c)
      mine[thin_row<P::lhs_deep, thin_rows>(left, r) * thin_sum_step +
           thin_row<P::rhs_deep, thin_columns>(right, c)] = sums[r][c];
  }
  __syncthreads();

  // Four sums for each of the 256 threads.
  const int row = static_cast<int>(threadIdx.x) / (thin_tile / 4),
            column = static_cast<int>(threadIdx.x) % (thin_tile / 4) * 4;
  const int i = i0 + row, j = j0 + column;
  if (i >= P::m || j >= P::n) return;
  float total[4] = {};
#pragma unroll
  for (int w = 0; w < thin_warps; ++w) {
    const auto four =
        *reinterpret_cast<const Pack<4, float>*>(memory + w * thin_memory + row * thin_sum_step + column);
#pragma unroll
    for (int e = 0; e < 4; ++e) total[e] += four.at[e];
  }
  if constexpr (P::shares == 1) {
    finish_thin<P>(at, i, j, total, is_thin_result_aligned<P>(at));
  } else {
    float* const to = static_cast<float*>(at.scratch) + (share * P::m + i) * P::n + j;
    if (P::n % 4 == 0) return store(to, total, true);
    for (int e = 0; e < 4; ++e) {
      if (j + e < P::n) to[e] = total[e];
    }
  }
}

// What the blocks that share a depth left in scratch, in order.
template <class P>
void add_thin_shares(const typename P::Pointers& at) {
  constexpr int packs = (P::n + 3) / 4, count = P::m * packs;
  const int p = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (p >= count) return;
  const int i = p / packs, j = p % packs * 4;
  const float* const from = static_cast<const float*>(at.scratch) + i * P::n + j;
  float total[4] = {};
#pragma unroll
  for (int s = 0; s < P::shares; ++s) {
    float part[4] = {};
    if (P::n % 4 == 0) {
      load(part, from + s * P::m * P::n, true);
    } else {
      for (int e = 0; e < 4; ++e) {
        if (j + e < P::n) part[e] = from[s * P::m * P::n + e];
      }
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) total[e] += part[e];
  }
  finish_thin<P>(at, i, j, total, is_thin_result_aligned<P>(at));
}

}  // namespace tidemark::cuda
