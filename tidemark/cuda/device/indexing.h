// Reading and writing by integer positions (ops/indexing/index.h). An index that is out of range is told
// through `failed`, and neither read nor written through. What may overwrite an operand looks at all indices
// in a launch of its own first and leaves the operand as it was.
#pragma once
#include "tidemark/cuda/device/chunks.h"

namespace tidemark::cuda {

// Index number j; -1 where it is not below the bound.
template <class G>
typename G::Index key_at(const typename G::Pointers& at, typename G::Index j) {
  const typename G::Key key = static_cast<const typename G::Key*>(at.in[G::indices])[j];
  if (key >= 0 && key < G::bound) return static_cast<typename G::Index>(key);
  if (at.failed) *at.failed = 1;
  return -1;
}
template <class G>
bool has_failed(const typename G::Pointers& at) {
  return at.failed && *at.failed != 0;
}

template <int bytes, class G>
void take_chunks(const typename G::Pointers& at) {
  using Index = typename G::Index;
  constexpr Index chunks = G::row_bytes / bytes, count = G::outer * G::taken * chunks;
  const Turns<G> turns;
  const auto* const from = static_cast<const Chunk<bytes>*>(at.in[0]);
  auto* const to = static_cast<Chunk<bytes>*>(at.out[0]);
  for (Index i = turns.first; i < count; i += turns.step) {
    const Index row = i / chunks, key = key_at<G>(at, row % G::taken);
    if (key >= 0) to[i] = from[(row / G::taken * G::bound + key) * chunks + i % chunks];
  }
}
template <class G>
void take_rows(const typename G::Pointers& at) {
  if (is_chunk_aligned<G::chunk>(at.in[0]) && is_chunk_aligned<G::chunk>(at.out[0])) {
    take_chunks<G::chunk, G>(at);
  } else {
    take_chunks<G::element, G>(at);
  }
}

template <class G>
void gather_elements(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const Turns<G> turns;
  for (Index p = turns.first; p < G::count; p += turns.step) {
    const Index key = key_at<G>(at, p);
    if (key < 0) continue;
    static_cast<Chunk<G::element>*>(at.out[0])[p] = static_cast<const Chunk<G::element>*>(
        at.in[0])[(p / (G::taken * G::inner) * G::bound + key) * G::inner + p % G::inner];
  }
}

template <class G>
void one_hot_elements(const typename G::Pointers& at) {
  using Index = typename G::Index;
  using T = typename G::T;
  const Turns<G> turns;
  for (Index p = turns.first; p < G::count; p += turns.step) {
    const Index key = key_at<G>(at, p / G::bound);
    if (key >= 0)
      static_cast<T*>(at.out[0])[p] = static_cast<T>(static_cast<compute_t<T>>(p % G::bound == key ? 1 : 0));
  }
}

// Sums of 16-bit elements are carried in f32; integers wrap.
template <class T>
T add_wrapping(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

template <class T>
T stored_sum(compute_t<T> sum) {
  if constexpr (is_16_bit_float<T>) {
    return stored<T>(sum);
  } else {
    return sum;
  }
}

// take_add. The updates of each row of the result are found by counting, in scratch:
//
//   count    how many each row has
//   start    where its list begins: rows reserve room in any order, which no sum sees
//   place    lists are filled in any order,
//   sort     and written again in the order of the indices
//   sum      each row by itself, one update after the other, as on the CPU
template <class G>
struct UpdateLists {
  using Index = typename G::Index;
  int *counts, *placed, *reserved, *starts, *unsorted, *sorted;
  explicit UpdateLists(const typename G::Pointers& at) {
    counts = static_cast<int*>(at.scratch);
    placed = counts + G::bound;
    reserved = placed + G::bound;
    starts = reserved + 1;
    unsorted = starts + G::bound;
    sorted = unsorted + G::taken;
  }
};

template <class G>
void take_add_clear(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const Turns<G> turns;
  int* const first = static_cast<int*>(at.scratch);
  for (Index i = turns.first; i < 2 * G::bound + 1; i += turns.step) first[i] = 0;
}
template <class G>
void take_add_count(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const Turns<G> turns;
  const UpdateLists<G> lists(at);
  for (Index j = turns.first; j < G::taken; j += turns.step) {
    const Index key = key_at<G>(at, j);
    if (key >= 0) atomicAdd(lists.counts + key, 1);
  }
}
// One thread for each row; a warp reserves room for its rows together.
template <class G>
void take_add_start(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const Index row = Turns<G>().first;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const UpdateLists<G> lists(at);
  const int count = row < G::bound ? lists.counts[row] : 0;
  int up_to = count;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int before = __shfl_up_sync(0xffffffffu, up_to, distance);
    if (lane >= distance) up_to += before;
  }
  int first = 0;
  if (lane == 31 && up_to > 0) first = atomicAdd(lists.reserved, up_to);
  first = __shfl_sync(0xffffffffu, first, 31);
  if (row < G::bound) lists.starts[row] = first + up_to - count;
}
template <class G>
void take_add_place(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const Turns<G> turns;
  const UpdateLists<G> lists(at);
  for (Index j = turns.first; j < G::taken; j += turns.step) {
    const Index key = key_at<G>(at, j);
    if (key >= 0) lists.unsorted[lists.starts[key] + atomicAdd(lists.placed + key, 1)] = static_cast<int>(j);
  }
}
template <class G>
void take_add_sort(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const Turns<G> turns;
  const UpdateLists<G> lists(at);
  for (Index j = turns.first; j < G::taken; j += turns.step) {
    const Index key = key_at<G>(at, j);
    if (key < 0) continue;
    const int count = lists.counts[key];
    const int* const list = lists.unsorted + lists.starts[key];
    int before = 0;
#pragma unroll 4
    for (int k = 0; k < count; ++k) before += list[k] < static_cast<int>(j);
    lists.sorted[lists.starts[key] + before] = static_cast<int>(j);
  }
}
template <class G>
void take_add_sum(const typename G::Pointers& at) {
  using T = typename G::T;
  using A = compute_t<T>;
  using Index = typename G::Index;
  if (has_failed<G>(at)) return;
  constexpr Index packs = G::inner / G::width;
  const Turns<G> turns;
  const UpdateLists<G> lists(at);
  bool aligned = is_aligned<G::width>(static_cast<const T*>(at.in[0])) &&
                 is_aligned<G::width>(static_cast<const T*>(at.out[0]));
  if constexpr (G::onto) aligned = aligned && is_aligned<G::width>(static_cast<const T*>(at.in[2]));
  for (Index p = turns.first; p < G::outer * G::bound * packs; p += turns.step) {
    const Index row = p / packs, column = p % packs * G::width, key = row % G::bound;
    A sums[G::width];
#pragma unroll
    for (int e = 0; e < G::width; ++e) sums[e] = A(0);
    const T* const source = static_cast<const T*>(at.in[0]) + row / G::bound * G::taken * G::inner + column;
    const int count = lists.counts[key];
    const int* const list = lists.sorted + (count > 0 ? lists.starts[key] : 0);
#pragma unroll 4
    for (int k = 0; k < count; ++k) {
      T update[G::width];
      load(update, source + static_cast<Index>(list[k]) * G::inner, aligned);
#pragma unroll
      for (int e = 0; e < G::width; ++e) sums[e] = add_wrapping(sums[e], static_cast<A>(widened(update[e])));
    }
    T result[G::width];
#pragma unroll
    for (int e = 0; e < G::width; ++e) result[e] = stored_sum<T>(sums[e]);
    if constexpr (G::onto) {
      T before[G::width];
      load(before, static_cast<const T*>(at.in[2]) + row * G::inner + column, aligned);
#pragma unroll
      for (int e = 0; e < G::width; ++e)
        result[e] = stored_sum<T>(
            add_wrapping(static_cast<A>(widened(before[e])), static_cast<A>(widened(result[e]))));
    }
    store(static_cast<T*>(at.out[0]) + row * G::inner + column, result, aligned);
  }
}

// scatter_add: a column of the result (its place beside the axis) belongs to one thread, which adds its
// updates in their order. 16-bit sums wait in scratch.
template <class G>
compute_t<typename G::T>* scatter_sums(const typename G::Pointers& at) {
  using A = compute_t<typename G::T>;
  return static_cast<A*>(std::is_same_v<A, typename G::T> ? at.out[0] : at.scratch);
}
template <class G>
void scatter_add_begin(const typename G::Pointers& at) {
  using T = typename G::T;
  using Index = typename G::Index;
  const Turns<G> turns;
  for (Index p = turns.first; p < G::outer * G::taken * G::inner; p += turns.step) key_at<G>(at, p);
  auto* const sums = scatter_sums<G>(at);
  if (static_cast<const void*>(sums) == at.in[0]) return;
  for (Index p = turns.first; p < G::count; p += turns.step)
    sums[p] = static_cast<compute_t<T>>(widened(static_cast<const T*>(at.in[0])[p]));
}
template <class G>
void scatter_add_columns(const typename G::Pointers& at) {
  using T = typename G::T;
  using A = compute_t<T>;
  using Index = typename G::Index;
  if (has_failed<G>(at)) return;
  const Turns<G> turns;
  for (Index c = turns.first; c < G::outer * G::inner; c += turns.step) {
    const Index o = c / G::inner, i = c % G::inner;
    A* const sums = scatter_sums<G>(at) + o * G::bound * G::inner + i;
    for (Index k = 0; k < G::taken; ++k) {
      const Index p = (o * G::taken + k) * G::inner + i, key = key_at<G>(at, p);
      if (key < 0) continue;
      A& sum = sums[key * G::inner];
      sum = add_wrapping(sum, static_cast<A>(widened(static_cast<const T*>(at.in[2])[p])));
    }
  }
}
template <class G>
void scatter_add_round(const typename G::Pointers& at) {
  using T = typename G::T;
  using Index = typename G::Index;
  if (has_failed<G>(at)) return;
  const Turns<G> turns;
  for (Index p = turns.first; p < G::count; p += turns.step)
    static_cast<T*>(at.out[0])[p] = stored_sum<T>(scatter_sums<G>(at)[p]);
}

}  // namespace tidemark::cuda
