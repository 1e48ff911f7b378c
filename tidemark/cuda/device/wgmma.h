// What the 128 threads of a warpgroup do together on a GPU of 9.0: products of matrices that run on behind
// the threads' back, with the right factor in the block's memory. Only for sm_90a, and only NVRTC sees it.
//
// Products: 64 rows × 64 columns in f32. Warp w holds rows 16 w to 16 w + 15 as in `multiply_add` (warp.h):
// lane l of each 8 columns the elements 2 (l % 4) and the next of rows l / 4 and 8 more. The left factor is
// in registers in the same way, rounded. The right factor is a tile of the block's memory: rows of 128 bytes
// at a multiple of 1024, the 16-byte parts of row r in the order of part ^ r % 8 (the 128-byte swizzle).
#pragma once
#include "tidemark/cuda/device/warp.h"

namespace tidemark::cuda {

inline constexpr int tile_rows = 64, tile_row_bytes = 128, tile_bytes = tile_rows * tile_row_bytes;

// Where part `part` (of 16 bytes) of a row is in its tile.
inline int tile_offset(int row, int part) { return row * tile_row_bytes + ((part ^ row % 8) << 4); }

// How the instruction is told of a tile: its address in 16 bytes, 1024 bytes from 8 rows to the next 8, the
// swizzle. Other columns or rows are a constant away.
using TileName = unsigned long long;
inline TileName name_of_tile(SharedPlace tile) {
  constexpr TileName layout = TileName{1} << 62 | TileName{1024 >> 4} << 32 | TileName{1} << 16;
  return layout | (tile & 0x3ffff) >> 4;
}

// The registers of each thread of this warpgroup from here on: more than the launch gives where another
// warpgroup has said that it needs fewer.
template <int count>
void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

// Between what a thread does with the registers of products and what products do with them.
inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// All products since the last call are one group.
inline void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until at most `pending` groups, the newest, are not done.
template <int pending>
void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
// The compiler takes the numbers to be made here: after a wait, none is used before it.
template <int count>
void arrived(float (&c)[count][4]) {
#pragma unroll
  for (int n = 0; n < count; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) asm volatile("" : "+f"(c[n][e])::"memory");
  }
}
// After a wait: the registers of a left factor are not used for anything else before it.
template <int count>
void released(const unsigned (&a)[count][4]) {
#pragma unroll
  for (int n = 0; n < count; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) asm volatile("" ::"r"(a[n][e]) : "memory");
  }
}

// c = a b, or c += a b, with 16 columns of a. `transposed`: the rows of the tile are rows of b, else its
// columns. What a sum is started with must not have been touched since begin_products().
template <class T, bool adds, bool transposed>
void multiply_tile(float (&c)[8][4], const unsigned (&a)[4], TileName b) {
#define TM_FOUR(mode, n) mode(c[n][0]), mode(c[n][1]), mode(c[n][2]), mode(c[n][3])
#define TM_MULTIPLY(type, mode)                                                                             \
  asm volatile(                                                                                             \
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %37, 0;\n"                                                    \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type                                           \
      " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "   \
      "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, adds, 1, 1, %38;" \
      "\n}"                                                                                                 \
      : TM_FOUR(mode, 0), TM_FOUR(mode, 1), TM_FOUR(mode, 2), TM_FOUR(mode, 3), TM_FOUR(mode, 4),           \
        TM_FOUR(mode, 5), TM_FOUR(mode, 6), TM_FOUR(mode, 7)                                                \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(adds ? 1 : 0), "n"(transposed ? 1 : 0)      \
      : "memory")
  if constexpr (adds && std::is_same_v<T, BFloat16>) {
    TM_MULTIPLY("bf16", "+f");
  } else if constexpr (adds) {
    TM_MULTIPLY("f16", "+f");
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    TM_MULTIPLY("bf16", "=f");
  } else {
    TM_MULTIPLY("f16", "=f");
  }
#undef TM_MULTIPLY
#undef TM_FOUR
}

// c = a bᵀ, b the rows of a tile.
template <class T>
void start_scores(float (&c)[8][4], const unsigned (&a)[4][4], TileName b) {
  multiply_tile<T, false, false>(c, a[0], b);
#pragma unroll
  for (int k = 1; k < 4; ++k) multiply_tile<T, true, false>(c, a[k], b + k * (32 >> 4));
}
// c += a b.
template <class T>
void start_sum(float (&c)[8][4], const unsigned (&a)[4][4], TileName b) {
#pragma unroll
  for (int k = 0; k < 4; ++k) multiply_tile<T, true, true>(c, a[k], b + k * (16 * tile_row_bytes >> 4));
}

}  // namespace tidemark::cuda
