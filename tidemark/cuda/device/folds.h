// A reduction at the end of a group, in the CPU's order (kernel/reduce.h): no two runs differ in a bit, and
// where the elements are the CPU's, so are the sums.
//
//   task: one result, one chunk of its elements (or all chunks, where results are many)
//   team: 16 threads, the lanes of a block of up to 1024 elements; 16 teams in a block of threads
//
// Lanes of a team are neighbours where the folded elements lie side by side; teams are, where results do. G
// has the numbers of kernel/reduce_order.h, offsets of elements, and makes each element once.
#pragma once
#include "tidemark/cuda/device/elements.h"
#include "tidemark/kernel/fold.h"

namespace tidemark::cuda {

inline constexpr int fold_teams = 16;
inline constexpr int slab_results = 8;  // of a block of threads that folds slabs

template <class G>
typename G::Element finished(fold_total_t<typename G::Element> total) {
  if constexpr (G::mean) total /= static_cast<double>(G::outer * G::inner);
  return element_of_total<typename G::Element>(total);
}

// Elements [k, k + n) of outer index o, by all lanes of the team. What thread 0 of the team returns counts.
template <class G, class C>
C fold_lane(const typename G::Pointers& at, typename G::Index from, typename G::Index k, typename G::Index n,
            int lane) {
  C value = fold_identity<C>(G::fold);
  for (typename G::Index i = lane; i < n; i += fold_lanes) {
    value = fold_two(G::fold, value, static_cast<C>(widened(G::make(at, from + G::inner_offset(k + i)))));
  }
  return value;
}

// What the lanes of a team found, in `values` so many places apart, folded as the CPU does.
template <class G, class C>
C fold_team(const C* values, int step) {
  C lanes[fold_lanes];
  for (int l = 0; l < fold_lanes; ++l) lanes[l] = values[l * step];
  for (int half = fold_lanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] = fold_two(G::fold, lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

template <class G>
void fold_tasks(const typename G::Pointers& at) {
  using T = typename G::Element;
  using C = fold_compute_t<T>;
  using A = fold_total_t<T>;
  using Index = typename G::Index;
  __shared__ C values[fold_lanes * fold_teams];
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = G::columns ? thread / fold_teams : thread % static_cast<int>(fold_lanes);
  const int team = G::columns ? thread % fold_teams : thread / static_cast<int>(fold_lanes);
  constexpr int lane_step = G::columns ? fold_teams : 1;
  constexpr Index tasks = G::shares ? G::results * G::chunks : G::results;
  const Index task = static_cast<Index>(blockIdx.x) * fold_teams + team;
  const bool works = task < tasks;
  const Index result = works ? task % G::results : 0, base = G::result_offset(result);
  const Index first = G::shares ? task / G::results : 0, last = G::shares ? first + 1 : G::chunks;
  A whole = fold_identity<A>(G::fold);
  for (Index chunk = first; chunk < last; ++chunk) {
    const Index outer_begin = chunk / G::inner_chunks * G::outer_per_chunk;
    const Index inner_begin = chunk % G::inner_chunks * G::chunk_elements;
    A total = fold_identity<A>(G::fold);
    // As many turns for every team, so that all meet at the barriers.
    for (Index o = outer_begin; o < outer_begin + G::most_outer; ++o) {
      const bool inside = works && o < G::outer;
      const Index from = inside ? base + G::outer_offset(o) : 0;
      for (Index part = 0; part < G::most_inner; part += fold_block) {
        const Index k = inner_begin + part;
        Index n = inside ? G::inner - k : 0;
        if (n > fold_block) n = fold_block;
        values[thread] = fold_lane<G, C>(at, from, k, n, lane);
        __syncthreads();
        if (lane == 0 && n > 0)
          total = fold_two(G::fold, total, static_cast<A>(fold_team<G>(values + thread, lane_step)));
        __syncthreads();
      }
    }
    if constexpr (G::shares) {
      if (lane == 0 && works) static_cast<A*>(at.scratch)[task] = total;
    } else {
      whole = fold_two(G::fold, whole, total);
    }
  }
  if constexpr (!G::shares) {
    if (lane == 0 && works) static_cast<T*>(at.out[G::result_number])[result] = finished<G>(whole);
  }
}

// The same where tasks are too few to fill a GPU: a block of threads has one, whose blocks of elements its
// teams share.
template <class G>
void fold_spread_tasks(const typename G::Pointers& at) {
  using T = typename G::Element;
  using C = fold_compute_t<T>;
  using A = fold_total_t<T>;
  using Index = typename G::Index;
  constexpr Index inner_parts = (G::most_inner + fold_block - 1) / fold_block;
  constexpr int parts = static_cast<int>(G::most_outer * inner_parts);
  __shared__ C values[fold_lanes * fold_teams];
  __shared__ C folded[parts];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % static_cast<int>(fold_lanes),
            team = thread / static_cast<int>(fold_lanes);
  const Index task = static_cast<Index>(blockIdx.x), result = task % G::results, chunk = task / G::results;
  const Index outer_begin = chunk / G::inner_chunks * G::outer_per_chunk;
  const Index inner_begin = chunk % G::inner_chunks * G::chunk_elements;
  const auto first_of = [&](int part) { return inner_begin + part % inner_parts * fold_block; };
  const auto count_of = [&](int part) -> Index {
    if (part >= parts || outer_begin + part / inner_parts >= G::outer) return 0;
    const Index left = G::inner - first_of(part);
    return left < 0 ? 0 : left < fold_block ? left : static_cast<Index>(fold_block);
  };
  for (int begin = 0; begin < parts; begin += fold_teams) {
    const int part = begin + team;
    const Index n = count_of(part);
    const Index from =
        n > 0 ? G::result_offset(result) + G::outer_offset(outer_begin + part / inner_parts) : 0;
    values[thread] = fold_lane<G, C>(at, from, first_of(part), n, lane);
    __syncthreads();
    if (lane == 0 && n > 0) folded[part] = fold_team<G>(values + thread, 1);
    __syncthreads();
  }
  if (thread > 0) return;
  A total = fold_identity<A>(G::fold);
  for (int part = 0; part < parts; ++part) {
    if (count_of(part) > 0) total = fold_two(G::fold, total, static_cast<A>(folded[part]));
  }
  if constexpr (G::shares) {
    static_cast<A*>(at.scratch)[task] = total;
  } else {
    const A whole = fold_two(G::fold, fold_identity<A>(G::fold), total);
    static_cast<T*>(at.out[G::result_number])[result] = finished<G>(whole);
  }
}

// The parts of few results: a block of threads for each fetches them, one thread folds them.
template <class G>
void fold_many_parts(const typename G::Pointers& at) {
  using A = fold_total_t<typename G::Element>;
  using Index = typename G::Index;
  constexpr int fetched = 1024;
  __shared__ A values[fetched];
  const Index result = static_cast<Index>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  A whole = fold_identity<A>(G::fold);
  for (Index begin = 0; begin < G::parts; begin += fetched) {
    const int n = static_cast<int>(G::parts - begin < fetched ? G::parts - begin : fetched);
    for (int i = thread; i < n; i += threads)
      values[i] = static_cast<const A*>(at.scratch)[(begin + i) * G::results + result];
    __syncthreads();
    for (int i = 0; thread == 0 && i < n; ++i) whole = fold_two(G::fold, whole, values[i]);
    __syncthreads();
  }
  if (thread == 0) static_cast<typename G::Element*>(at.out[G::result_number])[result] = finished<G>(whole);
}

// What the tasks left in scratch, one part after the other.
template <class G>
void fold_parts(const typename G::Pointers& at) {
  using A = fold_total_t<typename G::Element>;
  using Index = typename G::Index;
  const Index result =
      static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) + static_cast<Index>(threadIdx.x);
  if (result >= G::results) return;
  A whole = fold_identity<A>(G::fold);
  for (Index part = 0; part < G::parts; ++part) {
    whole = fold_two(G::fold, whole, static_cast<const A*>(at.scratch)[part * G::results + result]);
  }
  static_cast<typename G::Element*>(at.out[G::result_number])[result] = finished<G>(whole);
}

// Rows [q, last) of a slab, every 16th of them, of the columns at `base` and beside it.
template <class G, bool aligned, class C>
void fold_slab(const typename G::Pointers& at, typename G::Index base, typename G::Index q,
               typename G::Index last, C (&sums)[G::width]) {
  using Index = typename G::Index;
  constexpr int width = G::width, rows = 4;  // read before the first of them is folded
  const auto offset = [&](Index row) {
    return base + G::outer_offset(row / G::inner) + G::inner_offset(row % G::inner);
  };
  const auto fold = [&](Index row, const typename G::template Read<width>& read) {
    typename G::Element x[width];
    G::template make<width>(at, offset(row), aligned, read, x);
#pragma unroll
    for (int e = 0; e < width; ++e) sums[e] = fold_two(G::fold, sums[e], static_cast<C>(widened(x[e])));
  };
  for (; q + (rows - 1) * fold_lanes < last; q += rows * fold_lanes) {
    typename G::template Read<width> read[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) G::template read<width>(at, offset(q + r * fold_lanes), aligned, read[r]);
#pragma unroll
    for (int r = 0; r < rows; ++r) fold(q + r * fold_lanes, read[r]);
  }
  for (; q < last; q += fold_lanes) {
    typename G::template Read<width> read;
    G::template read<width>(at, offset(q), aligned, read);
    fold(q, read);
  }
}

// Large sums of columns: a thread makes `width` neighbours of a row at a time and folds them with those of
// every 16th row of its slab; then the lanes of each column are folded, in order.
template <class G>
void fold_columns(const typename G::Pointers& at) {
  using C = fold_compute_t<typename G::Element>;
  using A = fold_total_t<typename G::Element>;
  using Index = typename G::Index;
  constexpr int packs = 16, width = G::width, columns = packs * width;  // of a block of threads
  constexpr Index reduced = G::outer * G::inner, blocks = (G::results + columns - 1) / columns;
  __shared__ C values[fold_lanes * columns];
  const int thread = static_cast<int>(threadIdx.x), pack = thread % packs, lane = thread / packs;
  const Index block = static_cast<Index>(blockIdx.x), slab = block / blocks, first = block % blocks * columns;
  const Index result = first + pack * width;
  C sums[width];
#pragma unroll
  for (int e = 0; e < width; ++e) sums[e] = fold_identity<C>(G::fold);
  if (result < G::results) {
    const Index base = G::result_offset(result), begin = slab * G::slab_rows + lane;
    Index last = (slab + 1) * G::slab_rows;
    if (last > reduced) last = reduced;
    if (G::aligned(at)) {
      fold_slab<G, true>(at, base, begin, last, sums);
    } else {
      fold_slab<G, false>(at, base, begin, last, sums);
    }
  }
#pragma unroll
  for (int e = 0; e < width; ++e) values[lane * columns + pack * width + e] = sums[e];
  __syncthreads();
  for (int c = thread; c < columns; c += packs * static_cast<int>(fold_lanes)) {
    if (first + c >= G::results) continue;
    A total = fold_identity<A>(G::fold);
    for (int l = 0; l < fold_lanes; ++l)
      total = fold_two(G::fold, total, static_cast<A>(values[l * columns + c]));
    static_cast<A*>(at.scratch)[slab * G::results + first + c] = total;
  }
}

// Then the slabs' own sums: some threads for each result, each every 32nd slab, and these in order of halves.
template <class G>
void fold_slabs(const typename G::Pointers& at) {
  using A = fold_total_t<typename G::Element>;
  using Index = typename G::Index;
  constexpr int across = slab_results, down = 256 / across;
  __shared__ A values[down][across];
  const int lane = static_cast<int>(threadIdx.x) % across, row = static_cast<int>(threadIdx.x) / across;
  const Index result = static_cast<Index>(blockIdx.x) * across + lane;
  A whole = fold_identity<A>(G::fold);
  if (result < G::results) {
#pragma unroll 4
    for (Index part = row; part < G::parts; part += down)
      whole = fold_two(G::fold, whole, static_cast<const A*>(at.scratch)[part * G::results + result]);
  }
  for (int half = down / 2; half > 0; half /= 2) {
    values[row][lane] = whole;
    __syncthreads();
    if (row < half) whole = fold_two(G::fold, whole, values[row + half][lane]);
    __syncthreads();
  }
  if (row == 0 && result < G::results)
    static_cast<typename G::Element*>(at.out[G::result_number])[result] = finished<G>(whole);
}

}  // namespace tidemark::cuda
