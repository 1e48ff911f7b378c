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
//   pieces   of a long list, G::piece updates are added up at a time, side by side
//   sum      each row by itself, one update after the other, as on the CPU, or one piece after the other
//
// An update finds its place in a sorted list by counting those before it, which takes the longer, the longer
// the list; the few that are longer than G::most_sorted are found by a block of threads each, which reads all
// indices in order instead.
template <class G>
struct UpdateLists {
  using Index = typename G::Index;
  using Sum = compute_t<typename G::T>;
  int *counts, *placed, *reserved, *any_pieces, *longest, *starts, *unsorted, *sorted, *long_keys;
  Sum* pieces;
  explicit UpdateLists(const typename G::Pointers& at) {
    counts = static_cast<int*>(at.scratch);
    placed = counts + G::bound;
    reserved = placed + G::bound;
    any_pieces = reserved + 1;
    longest = any_pieces + 1;  // how many are longer than most_sorted
    starts = longest + 1;
    unsorted = starts + G::bound;
    sorted = unsorted + G::taken;
    long_keys = sorted + G::taken;
    pieces = reinterpret_cast<Sum*>(static_cast<char*>(at.scratch) + G::lists_bytes);
  }
  // The place of the sums of the piece that begins at `first`, number `piece` of its list, counted in rows of
  // the result. Of pieces that begin within G::piece positions only one is the first of its list, and only
  // one is not: lists with pieces are longer than one.
  static Index slot(int first, int piece) {
    return (static_cast<Index>(first) / G::piece * 2 + (piece == 0 ? 1 : 0)) * G::outer;
  }
};

template <class G>
void take_add_clear(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const Turns<G> turns;
  int* const first = static_cast<int*>(at.scratch);
  for (Index i = turns.first; i < 2 * G::bound + 3; i += turns.step) first[i] = 0;
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
  if (count > G::piece) *lists.any_pieces = 1;
  if (count > G::most_sorted) lists.long_keys[atomicAdd(lists.longest, 1)] = static_cast<int>(row);
}
template <class G>
void take_add_place(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const Turns<G> turns;
  const UpdateLists<G> lists(at);
  for (Index j = turns.first; j < G::taken; j += turns.step) {
    const Index key = key_at<G>(at, j);
    if (key >= 0 && lists.counts[key] <= G::most_sorted)
      lists.unsorted[lists.starts[key] + atomicAdd(lists.placed + key, 1)] = static_cast<int>(j);
  }
}
// All threads of the block, for one row of the result: thread t has the t-th share of the indices.
template <class G>
void write_long_list(const typename G::Pointers& at, const UpdateLists<G>& lists, int row) {
  using Index = typename G::Index;
  __shared__ int found[G::threads];
  constexpr Index share = (G::taken + G::threads - 1) / G::threads;
  const int thread = static_cast<int>(threadIdx.x);
  const Index first = thread * share, end = first + share < G::taken ? first + share : G::taken;
  int mine = 0;
#pragma unroll 8
  for (Index j = first; j < end; ++j) mine += key_at<G>(at, j) == row;
  found[thread] = mine;
  __syncthreads();
  int to = lists.starts[row];
#pragma unroll 8
  for (int t = 0; t < thread; ++t) to += found[t];
  for (Index j = first; j < end; ++j) {
    if (key_at<G>(at, j) == row) lists.sorted[to++] = static_cast<int>(j);
  }
}
// The first G::long_blocks blocks have a long list each, where there are so many; the others sort.
template <class G>
void take_add_sort(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const UpdateLists<G> lists(at);
  const int block = static_cast<int>(blockIdx.x);
  if constexpr (G::long_blocks > 0) {
    if (block < G::long_blocks) {
      if (block < *lists.longest) write_long_list<G>(at, lists, lists.long_keys[block]);
      return;
    }
  }
  const Index step = static_cast<Index>(gridDim.x - G::long_blocks) * static_cast<Index>(blockDim.x);
  for (Index j = static_cast<Index>(block - G::long_blocks) * static_cast<Index>(blockDim.x) +
                 static_cast<Index>(threadIdx.x);
       j < G::taken; j += step) {
    const Index key = key_at<G>(at, j);
    if (key < 0 || lists.counts[key] > G::most_sorted) continue;
    const int count = lists.counts[key];
    const int* const list = lists.unsorted + lists.starts[key];
    int before = 0;
#pragma unroll 4
    for (int k = 0; k < count; ++k) before += list[k] < static_cast<int>(j);
    lists.sorted[lists.starts[key] + before] = static_cast<int>(j);
  }
}

// Adds updates list[first…end) to `sums`, one after the other.
template <class G>
void add_updates(compute_t<typename G::T> (&sums)[G::width], const typename G::T* source, const int* list,
                 int first, int end, bool aligned) {
  using T = typename G::T;
#pragma unroll 8
  for (int k = first; k < end; ++k) {
    T update[G::width];
    load(update, source + static_cast<typename G::Index>(list[k]) * G::inner, aligned);
#pragma unroll
    for (int e = 0; e < G::width; ++e)
      sums[e] = add_wrapping(sums[e], static_cast<compute_t<T>>(widened(update[e])));
  }
}
// Threads for each G::piece positions of the lists and each pack of a row: they make the pieces that begin
// there. One that is the first of its list is in the list that holds the last of the positions, another is in
// the one that holds the first.
template <class G>
void take_add_pieces(const typename G::Pointers& at) {
  using T = typename G::T;
  using Index = typename G::Index;
  const UpdateLists<G> lists(at);
  if (has_failed<G>(at) || *lists.any_pieces == 0) return;
  constexpr Index packs = G::inner / G::width, windows = (G::taken + G::piece - 1) / G::piece;
  const bool aligned = is_aligned<G::width>(static_cast<const T*>(at.in[0]));
  const int listed = *lists.reserved;
  const Turns<G> turns;
  for (Index p = turns.first; p < windows * G::outer * packs; p += turns.step) {
    const int begin = static_cast<int>(p / (G::outer * packs)) * G::piece,
              last = begin + G::piece < listed ? begin + G::piece - 1 : listed - 1;
    if (begin >= listed) continue;
    const Index o = p / packs % G::outer, column = p % packs * G::width;
    const T* const source = static_cast<const T*>(at.in[0]) + o * G::taken * G::inner + column;
    for (int turn = 0; turn < 2; ++turn) {
      const bool starts = turn == 1;
      const Index key = key_at<G>(at, lists.sorted[starts ? last : begin]);
      const int count = lists.counts[key], start = lists.starts[key];
      if (count <= G::piece) continue;
      const int piece = starts ? 0 : (begin - start + G::piece - 1) / G::piece,
                first = start + piece * G::piece;
      if (first < begin || first > last || first >= start + count || (piece == 0) != starts) continue;
      const int end = first + G::piece < start + count ? first + G::piece : start + count;
      compute_t<T> sums[G::width] = {};
      add_updates<G>(sums, source, lists.sorted, first, end, aligned);
      store(lists.pieces + (UpdateLists<G>::slot(first, piece) + o) * G::inner + column, sums, true);
    }
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
    A sums[G::width] = {};
    const Index o = row / G::bound;
    const int count = lists.counts[key], start = count > 0 ? lists.starts[key] : 0;
    if (count <= G::piece) {
      const T* const source = static_cast<const T*>(at.in[0]) + o * G::taken * G::inner + column;
      add_updates<G>(sums, source, lists.sorted, start, start + count, aligned);
    } else {
#pragma unroll 8
      for (int k = 0; k * G::piece < count; ++k) {
        A piece[G::width];
        load(piece, lists.pieces + (UpdateLists<G>::slot(start + k * G::piece, k) + o) * G::inner + column,
             true);
#pragma unroll
        for (int e = 0; e < G::width; ++e) sums[e] = add_wrapping(sums[e], piece[e]);
      }
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
