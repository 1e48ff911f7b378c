// What depends on the order of a row: sums up to each element, sorted rows, the largest few.
#pragma once
#include "tidemark/cuda/device/chunks.h"
#include "tidemark/cuda/device/rows.h"

namespace tidemark::cuda {

// f32 and the 16-bit formats are carried wider and rounded at every store; integers wrap.
template <class T>
using sum_carry_t =
    std::conditional_t<std::is_same_v<T, float>, double,
                       std::conditional_t<std::is_integral_v<T>, std::uint64_t, compute_t<T>>>;
template <class T, class C>
T from_carry(C total) {
  if constexpr (is_16_bit_float<T>) {
    return stored<T>(total);
  } else {
    return static_cast<T>(total);
  }
}

// A block for each row, `scan_step` elements at a time.
inline constexpr int scan_threads = 256, scan_items = 4, scan_step = scan_threads * scan_items;

template <class G>
void cumsum_rows(const typename G::Pointers& at) {
  using T = typename G::T;
  using C = sum_carry_t<T>;
  using Index = typename G::Index;
  constexpr int warps = scan_threads / 32;
  __shared__ C totals[warps];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const Index row = static_cast<Index>(blockIdx.x);
  const T* const from = static_cast<const T*>(at.in[0]) + G::from_row(row);
  T* const to = static_cast<T*>(at.out[0]) + G::to_row(row);
  C carry = 0;
  for (Index base = 0; base < G::n; base += scan_step) {
    C sums[scan_items];
#pragma unroll
    for (int e = 0; e < scan_items; ++e) {
      const Index k = base + thread * scan_items + e, i = G::reverse ? G::n - 1 - k : k;
      sums[e] = k < G::n ? static_cast<C>(widened(from[i * G::from_step])) : C(0);
      if (e > 0) sums[e] += sums[e - 1];
    }
    C up_to = sums[scan_items - 1];
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const C before = __shfl_up_sync(0xffffffffu, up_to, distance);
      if (lane >= distance) up_to += before;
    }
    if (lane == 31) totals[warp] = up_to;
    C before = __shfl_up_sync(0xffffffffu, up_to, 1);
    if (lane == 0) before = 0;
    __syncthreads();
    C ahead = carry;
    for (int w = 0; w < warps; ++w) {
      if (w < warp) ahead += totals[w];
      carry += totals[w];
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < scan_items; ++e) {
      const Index k = base + thread * scan_items + e, i = G::reverse ? G::n - 1 - k : k;
      if (k < G::n) to[i * G::to_step] = from_carry<T>(ahead + before + sums[e]);
    }
  }
}

// Where neighbours belong to different rows: a thread for each.
template <class G>
void cumsum_columns(const typename G::Pointers& at) {
  using T = typename G::T;
  using C = sum_carry_t<T>;
  using Index = typename G::Index;
  const Turns<G> turns;
  for (Index row = turns.first; row < G::rows; row += turns.step) {
    const T* const from = static_cast<const T*>(at.in[0]) + G::from_row(row);
    T* const to = static_cast<T*>(at.out[0]) + G::to_row(row);
    C total = 0;
    for (Index k = 0; k < G::n; ++k) {
      const Index i = G::reverse ? G::n - 1 - k : k;
      total += static_cast<C>(widened(from[i * G::from_step]));
      to[i * G::to_step] = from_carry<T>(total);
    }
  }
}

// An unsigned number that orders as the element does: NaN above all, -0 as 0 (ops/indexing/sort.h).
template <class T>
std::uint64_t sort_key(T x, bool descending) {
  std::uint64_t key;
  if constexpr (std::is_integral_v<T>) {
    key = static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) ^ (std::uint64_t{1} << 63);
  } else {
    const double value = widened(x);
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
    key = value != value ? ~std::uint64_t{0} : bits >> 63 ? ~bits : bits | std::uint64_t{1} << 63;
  }
  return descending ? ~key : key;
}

// A block for each row of up to sort_most elements: an element's place is the number of those before it.
inline constexpr int sort_threads = 512, sort_most = 4096;

template <class G>
void sort_rows(const typename G::Pointers& at) {
  using T = typename G::T;
  using Index = typename G::Index;
  __shared__ std::uint64_t keys[G::n];
  const Index row = static_cast<Index>(blockIdx.x);
  const T* const from = static_cast<const T*>(at.in[0]) + G::from_row(row);
  for (int i = static_cast<int>(threadIdx.x); i < G::n; i += sort_threads)
    keys[i] = sort_key(from[i * G::from_step], G::descending);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < G::n; i += sort_threads) {
    const std::uint64_t key = keys[i];
    int place = 0;
    for (int k = 0; k < G::n; ++k) place += keys[k] < key || (keys[k] == key && k < i);
    const Index to = G::to_row(row) + place * G::to_step;
    static_cast<T*>(at.out[0])[to] = from[i * G::from_step];
    static_cast<std::int64_t*>(at.out[1])[to] = i;
  }
}

// The largest few: in each turn the best of those behind the last.
template <class Index>
struct Ranked {
  std::uint64_t key;  // ascending
  Index index;
  bool before(const Ranked& other) const { return key != other.key ? key < other.key : index < other.index; }
  Ranked exchanged(int distance) const {
    return {__shfl_xor_sync(0xffffffffu, key, distance),
            static_cast<Index>(__shfl_xor_sync(0xffffffffu, index, distance))};
  }
};
template <class G>
void top_rows(const typename G::Pointers& at) {
  using T = typename G::T;
  using Index = typename G::Index;
  Row<G> row(at);
  Ranked<Index> last{0, -1};
  for (int turn = 0; turn < G::k; ++turn) {
    Ranked<Index> next{~std::uint64_t{0}, G::n};
    row.each([&]<int w>(Values<G, w> x, Index i) {
#pragma unroll
      for (int e = 0; e < w; ++e) {
        const Ranked<Index> other{sort_key(x[0][e], true), i + e};
        if (last.before(other) && other.before(next)) next = other;
      }
    });
    last = row.team.fold(next,
                         [](const Ranked<Index>& a, const Ranked<Index>& b) { return a.before(b) ? a : b; });
    if (!row.leads()) continue;
    const Index to = G::to_row(row.number) + turn * G::to_step;
    static_cast<T*>(at.out[0])[to] = row.from[0][G::element_at(0, last.index)];
    static_cast<std::int64_t*>(at.out[1])[to] = last.index;
  }
}

}  // namespace tidemark::cuda
