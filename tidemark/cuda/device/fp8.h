// Scales and codes of products in 8 bits (ops/quantization/fp8.h). The largest magnitude is found as a whole
// number, so that nobody's turn shows in it.
#pragma once
#include "tidemark/cuda/device/elements.h"
#include "tidemark/ops/quantization/fp8_number.h"

namespace tidemark::cuda {

inline constexpr int fp8_threads = 256;

// What the block's threads found, folded: thread 0 has it.
inline std::uint32_t largest_in_block(std::uint32_t mine) {
  __shared__ std::uint32_t found[fp8_threads];
  const int thread = static_cast<int>(threadIdx.x);
  found[thread] = mine;
  for (int half = fp8_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half && found[thread + half] > found[thread]) found[thread] = found[thread + half];
  }
  return found[0];
}

// A block's part of the elements; several packs are on their way at once.
template <class G>
void fp8_parts(const typename G::Pointers& at) {
  using T = typename G::T;
  using Index = typename G::Index;
  constexpr Index packs = G::count / G::width;
  constexpr int ahead = 4;
  const T* const x = static_cast<const T*>(at.in[0]);
  const bool aligned = is_aligned<G::width>(x);
  const Index step = static_cast<Index>(gridDim.x) * fp8_threads;
  Index p = static_cast<Index>(blockIdx.x) * fp8_threads + static_cast<Index>(threadIdx.x);
  std::uint32_t most = 0;
  const auto look = [&](const T(&pack)[G::width]) {
#pragma unroll
    for (int e = 0; e < G::width; ++e) {
      const std::uint32_t magnitude = fp8_magnitude(static_cast<float>(pack[e]));
      if (magnitude > most) most = magnitude;
    }
  };
  for (; p + (ahead - 1) * step < packs; p += ahead * step) {
    T read[ahead][G::width];
#pragma unroll
    for (int a = 0; a < ahead; ++a) load(read[a], x + (p + a * step) * G::width, aligned);
#pragma unroll
    for (int a = 0; a < ahead; ++a) look(read[a]);
  }
  for (; p < packs; p += step) {
    T read[G::width];
    load(read, x + p * G::width, aligned);
    look(read);
  }
  most = largest_in_block(most);
  if (threadIdx.x == 0) static_cast<std::uint32_t*>(at.scratch)[blockIdx.x] = most;
}

template <class G>
void fp8_total(const typename G::Pointers& at) {
  std::uint32_t most = 0;
  for (int i = static_cast<int>(threadIdx.x); i < G::parts; i += fp8_threads) {
    const std::uint32_t part = static_cast<const std::uint32_t*>(at.scratch)[i];
    if (part > most) most = part;
  }
  most = largest_in_block(most);
  if (threadIdx.x == 0) *static_cast<float*>(at.out[0]) = fp8_scale(G::format, most);
}

// Two codes, the lower one first.
template <Fp8Format format>
std::uint16_t code_pair(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  std::uint16_t pair;
  if constexpr (format == Fp8Format::e4m3) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  }
  // The instruction makes the largest number of an infinity.
  const auto is_number = [](float x) {
    return (std::bit_cast<std::uint32_t>(x) & f32_magnitude) < f32_infinity;
  };
  if (!is_number(low)) pair = static_cast<std::uint16_t>((pair & 0xff00) | fp8_nan);
  if (!is_number(high)) pair = static_cast<std::uint16_t>((pair & 0x00ff) | (fp8_nan << 8));
  return pair;
#else
  return static_cast<std::uint16_t>(fp8_code(format, low) | (fp8_code(format, high) << 8));
#endif
}

template <class G>
float inverse_scale(const typename G::Pointers& at) {
  return 1 / *static_cast<const float*>(at.in[1]);
}

// Codes in the order of the elements.
template <class G>
void fp8_codes_in_order(const typename G::Pointers& at) {
  using T = typename G::T;
  using Index = typename G::Index;
  const T* const x = static_cast<const T*>(at.in[0]);
  std::uint8_t* const to = static_cast<std::uint8_t*>(at.out[0]);
  const float inverse = inverse_scale<G>(at);
  const bool aligned = is_aligned<G::width>(x), aligned_codes = is_aligned<G::width>(to);
  const Index step = static_cast<Index>(gridDim.x) * static_cast<Index>(blockDim.x);
  Index p = static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) + static_cast<Index>(threadIdx.x);
  for (; p < G::count / G::width; p += step) {
    T read[G::width];
    std::uint8_t codes[G::width];
    load(read, x + p * G::width, aligned);
    if constexpr (G::width == 1) {
      codes[0] = static_cast<std::uint8_t>(code_pair<G::format>(static_cast<float>(read[0]) * inverse, 0));
    } else {
#pragma unroll
      for (int e = 0; e < G::width; e += 2) {
        const std::uint16_t pair = code_pair<G::format>(static_cast<float>(read[e]) * inverse,
                                                        static_cast<float>(read[e + 1]) * inverse);
        codes[e] = static_cast<std::uint8_t>(pair);
        codes[e + 1] = static_cast<std::uint8_t>(pair >> 8);
      }
    }
    store(to + p * G::width, codes, aligned_codes);
  }
}

// Codes of a transposed matrix whose sizes suit no tiles, one by one.
template <class G>
void fp8_codes_one_by_one(const typename G::Pointers& at) {
  using T = typename G::T;
  using Index = typename G::Index;
  const float inverse = inverse_scale<G>(at);
  const Index step = static_cast<Index>(gridDim.x) * static_cast<Index>(blockDim.x);
  Index i = static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) + static_cast<Index>(threadIdx.x);
  for (; i < G::count; i += step) {
    const T x = static_cast<const T*>(at.in[0])[i % G::rows * G::columns + i / G::rows];
    static_cast<std::uint8_t*>(at.out[0])[i] =
        static_cast<std::uint8_t>(code_pair<G::format>(static_cast<float>(x) * inverse, 0));
  }
}

// Codes of a transposed matrix, in tiles of 128 rows and 64 columns: a thread codes 8 columns of 4 rows,
// whose codes in one column are a word of the tile. A row of words is one longer than needed, so that those
// that 32 threads write or read at once lie in different banks, or two in one.
template <class G>
void fp8_codes_transposed(const typename G::Pointers& at) {
  using T = typename G::T;
  using Index = typename G::Index;
  constexpr int tile_rows = 128, tile_columns = 64, width = 8, together = 4, words = tile_rows / together;
  constexpr int across = tile_columns / width;
  __shared__ std::uint32_t tile[tile_columns][words + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const Index block = static_cast<Index>(blockIdx.x);
  const Index row = block / G::column_tiles * tile_rows, column = block % G::column_tiles * tile_columns;
  const T* const x = static_cast<const T*>(at.in[0]);
  std::uint8_t* const to = static_cast<std::uint8_t*>(at.out[0]);
  const float inverse = inverse_scale<G>(at);
  {
    const bool aligned = is_aligned<width>(x);
    const int lane = thread % across, word = thread / across;
    const Index first = row + word * together, c = column + lane * width;
    if (first < G::rows && c < G::columns) {
      T read[together][width];
#pragma unroll
      for (int r = 0; r < together; ++r) load(read[r], x + (first + r) * G::columns + c, aligned);
#pragma unroll
      for (int e = 0; e < width; ++e) {
        const auto number = [&](int r) { return static_cast<float>(read[r][e]) * inverse; };
        const std::uint32_t low = code_pair<G::format>(number(0), number(1)),
                            high = code_pair<G::format>(number(2), number(3));
        tile[lane * width + e][word] = low | (high << 16);
      }
    }
  }
  __syncthreads();
  constexpr int pack = 16, packs = tile_rows / pack;
  const bool aligned = is_aligned<pack>(to);
#pragma unroll
  for (int turn = 0; turn < tile_columns * packs; turn += fp8_threads) {
    const int c = (turn + thread) / packs, part = (turn + thread) % packs;
    const Index first = row + part * pack;
    if (column + c >= G::columns || first >= G::rows) continue;
    std::uint8_t codes[pack];
#pragma unroll
    for (int w = 0; w < pack / together; ++w) {
      const std::uint32_t four = tile[c][part * (pack / together) + w];
#pragma unroll
      for (int b = 0; b < together; ++b) codes[w * together + b] = static_cast<std::uint8_t>(four >> (8 * b));
    }
    store(to + (column + c) * G::rows + first, codes, aligned);
  }
}

}  // namespace tidemark::cuda
