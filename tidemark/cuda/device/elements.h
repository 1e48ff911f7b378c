// What generated kernels are made of: the formulas that the CPU runs, and between them elements as they are
// stored. Compiles with NVRTC (cuda/device_texts.h names every file that it gets) and, for the tests, with a
// compiler of the host.
#pragma once
#include "tidemark/base/dtype.h"
#include "tidemark/cuda/device/early_start.h"
#include "tidemark/cuda/device/half_arithmetic.h"
#include "tidemark/cuda/device/short_formulas.h"
#include "tidemark/ops/scalar/cast_element.h"
#include "tidemark/ops/scalar/clamp_element.h"
#include "tidemark/ops/scalar/elementwise_integer.h"
#include "tidemark/ops/scalar/erf_inverse.cc"
#include "tidemark/ops/scalar/gamma_functions.cc"
#include "tidemark/ops/scalar/scalar_math.h"
#ifdef __CUDACC_RTC__
#include "tidemark/cuda/device/float16.h"
#else
namespace tidemark {
inline BFloat16 round_to_bfloat16(float x) { return BFloat16(x); }
}  // namespace tidemark
#endif

namespace tidemark::cuda {

// Addresses by the numbers of a group's operands and results.
template <int operands, int results>
struct GroupPointers {
  const void* in[operands];
  void* out[results];
  void* scratch;
  // Where a kernel says that an index was out of range, by a 1; null where nobody listens. What it then
  // leaves in its results is nothing, but it neither reads nor writes outside of them.
  unsigned* failed;
};

// An element as casts and bounds see it: 16-bit floats as f32.
template <class T>
auto widened(T x) {
  if constexpr (is_16_bit_float<T>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}
// As formulas see it: integers wrap around. Truths are compared as numbers; logical formulas take them as
// they are.
template <class T>
auto computed(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return Wrapping<std::uint8_t>{static_cast<std::uint8_t>(x)};
  } else if constexpr (std::is_integral_v<T>) {
    return Wrapping<T>{x};
  } else {
    return widened(x);
  }
}
// And back to how it is stored.
template <class T, class From>
T stored(From x) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return round_to_bfloat16(x);
  } else if constexpr (std::is_arithmetic_v<From>) {
    return static_cast<T>(x);
  } else {
    return x.v;
  }
}

template <class To, class From>
To cast_stored(From x) {
  if constexpr (is_16_bit_float<To>) {
    return stored<To>(cast_towards_16_bits(widened(x)));
  } else {
    return cast_element<To>(widened(x));
  }
}

// Batch norms of columns in parts (ops/normalization/norm_columns.h), with the numbers of the element's
// column.
template <class T, class W>
T normalized_element(T x, W mean, W scale, T bias) {
  return stored<T>((static_cast<W>(widened(x)) - mean) * scale + static_cast<W>(widened(bias)));
}
template <class T, class W>
T norm_slope_element(T x, T g, W mean, W scale, W a, W b) {
  return stored<T>((static_cast<W>(widened(g)) - a - (static_cast<W>(widened(x)) - mean) * b) * scale);
}
// What arrives at the result of relu counts where that is above zero.
template <class T, class W>
T slope_before_relu(T g, T x, W mean, W scale, T bias) {
  return widened(normalized_element(x, mean, scale, bias)) > 0 ? g : stored<T>(W(0));
}
template <class T, class W>
T norm_slope_element(T x, T g, W mean, W scale, W a, W b, T bias) {
  return norm_slope_element(x, slope_before_relu(g, x, mean, scale, bias), mean, scale, a, b);
}

// Elements that lie side by side, as one access where all addresses allow it.
template <int width, class T>
struct alignas(width * sizeof(T)) Pack {
  T at[width];
};
template <int width, class T>
bool is_aligned(const T* p) {
  return reinterpret_cast<std::size_t>(p) % (width * sizeof(T)) == 0;
}
template <int width, class T>
void load(T (&to)[width], const T* from, bool aligned) {
  if (aligned) {
    const Pack<width, T> pack = *reinterpret_cast<const Pack<width, T>*>(from);
    for (int e = 0; e < width; ++e) to[e] = pack.at[e];
  } else {
    for (int e = 0; e < width; ++e) to[e] = from[e];
  }
}
template <int width, class T>
void store(T* to, const T (&from)[width], bool aligned) {
  if (aligned) {
    Pack<width, T> pack;
    for (int e = 0; e < width; ++e) pack.at[e] = from[e];
    *reinterpret_cast<Pack<width, T>*>(to) = pack;
  } else {
    for (int e = 0; e < width; ++e) to[e] = from[e];
  }
}

inline constexpr int walk_threads = 256;  // of a block

// A pointwise group: G has the constants `count` and `width`, and makes `n` elements from one on. Threads
// take turns; what remains after the last whole pack goes element by element.
template <class G>
void walk_elements(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const Index first =
      static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) + static_cast<Index>(threadIdx.x);
  const Index step = static_cast<Index>(gridDim.x) * static_cast<Index>(blockDim.x);
  constexpr Index packs = G::count / G::width;
  const bool aligned = G::aligned(at);
  for (Index p = first; p < packs; p += step) G::template make<G::width>(at, p * G::width, aligned);
  for (Index i = packs * G::width + first; i < G::count; i += step) G::template make<1>(at, i, false);
}

// A pointwise group some of whose operands are the same for all rows. In a block `across` threads stand side
// by side, each at a pack of columns, for which it keeps these operands, and the others below them; it takes
// `slab_rows` rows.
template <class G, bool aligned>
void walk_columns_by(const typename G::Pointers& at) {
  using Index = typename G::Index;
  constexpr int down = walk_threads / G::across;
  const int lane = static_cast<int>(threadIdx.x) % G::across, row = static_cast<int>(threadIdx.x) / G::across;
  const Index block = static_cast<Index>(blockIdx.x), begin = block / G::tiles * G::slab_rows;
  const Index end = begin + G::slab_rows < G::rows ? begin + G::slab_rows : G::rows;
  const Index column = (block % G::tiles * G::across + lane) * G::width;
  if (column >= G::columns) return;
  typename G::template Kept<G::width> kept;
  G::template keep<G::width>(at, column, kept);
  Index r = begin + row;
  for (; r + (G::ahead - 1) * down < end; r += G::ahead * down) {
    typename G::template Read<G::width> read[G::ahead];
#pragma unroll
    for (int a = 0; a < G::ahead; ++a)
      G::template read<G::width>(at, (r + a * down) * G::columns + column, aligned, read[a]);
#pragma unroll
    for (int a = 0; a < G::ahead; ++a)
      G::template make<G::width>(at, (r + a * down) * G::columns + column, aligned, read[a], kept);
  }
  for (; r < end; r += down) {
    typename G::template Read<G::width> read;
    G::template read<G::width>(at, r * G::columns + column, aligned, read);
    G::template make<G::width>(at, r * G::columns + column, aligned, read, kept);
  }
}
template <class G>
void walk_columns(const typename G::Pointers& at) {
  if (G::aligned(at)) {
    walk_columns_by<G, true>(at);
  } else {
    walk_columns_by<G, false>(at);
  }
}

}  // namespace tidemark::cuda
