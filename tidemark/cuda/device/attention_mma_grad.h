// The gradient of attention of 16-bit elements on tensor cores, in two kernels, neither of which adds to what
// another block of threads adds to: one makes the gradients of a block of keys and values out of all queries,
// one those of a block of queries out of all keys. Both make the scores again, the first of them turned
// round, so that scores go from product to product in registers. The rows of the other side come in two
// buffers, one of which is loaded while the other is used.
#pragma once
#include "tidemark/cuda/device/attention_matrices.h"

namespace tidemark::cuda {

// p = 2^(score - shift), 0 where nothing is seen; what dropout leaves of it, and the score's slope.
struct Slopes {
  float share, slope;
};
template <class F>
Slopes slopes_of(float score, float shift, float dp, float delta, bool kept) {
  const float p = fast_exp2(std::fma(score, F::scale_log2, -shift));
  if constexpr (F::key < 0) {
    return {p, p * (dp - delta)};
  } else {
    return {kept ? p * F::kept : 0, p * ((kept ? dp * F::kept : 0) - delta)};
  }
}

template <class F>
struct KeyGradientBlocks {
  static constexpr KeyGradientSizes sizes{{F::width}};
  static constexpr int tiles = sizes.tiles(), keys = sizes.keys(), queries = sizes.queries();
  static constexpr int count = (F::keys + keys - 1) / keys;  // of a head
  static constexpr int columns = sizes.columns(), column_blocks = sizes.column_blocks();
  static constexpr int v_offset = sizes.v_offset(), buffers = sizes.buffers(), g_offset = sizes.g_offset(),
                       logsumexp_offset = sizes.logsumexp_offset(), delta_offset = sizes.delta_offset(),
                       buffer_bytes = sizes.buffer_bytes();
};

template <class F>
void load_queries(SharedPlace to, const typename F::Pointers& at, const Head<F>& head, int i) {
  using Blocks = KeyGradientBlocks<F>;
  load_rows<F, Blocks::queries, F::queries>(to, q_rows<F>(at, head.number), i);
  load_rows<F, Blocks::queries, F::queries>(to + Blocks::g_offset, g_rows<F>(at, head.number), i);
  load_numbers<Blocks::queries>(to + Blocks::logsumexp_offset, logsumexp_rows<F>(at, head), i, F::queries);
  load_numbers<Blocks::queries>(to + Blocks::delta_offset, delta_rows<F>(at, head), i, F::queries);
}

// From scores of keys (rows, from j on) with queries (columns, from i on) and from v gᵀ: what remains of the
// probabilities, and slopes, in their places. `whole`: there are all queries and each sees every key.
template <class F, bool whole>
void slopes_by_key(float (&s)[KeyGradientBlocks<F>::tiles][KeyGradientBlocks<F>::queries / 8][4],
                   float (&dp)[KeyGradientBlocks<F>::tiles][KeyGradientBlocks<F>::queries / 8][4],
                   SharedPlace queries, const Head<F>& head, const Keeper<F>& keeper, int i, int j) {
  using Blocks = KeyGradientBlocks<F>;
  const int lane = lane_number();
#pragma unroll
  for (int n = 0; n < Blocks::queries / 8; ++n) {
    const int c = n * 8 + lane % 4 * 2;
    float shift[2], delta[2];
    load_pair(shift[0], shift[1], queries + Blocks::logsumexp_offset + c * 4);
    load_pair(delta[0], delta[1], queries + Blocks::delta_offset + c * 4);
    int seen[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      shift[e] = exponent_shift(shift[e]);
      seen[e] = whole ? 0 : i + c + e < F::queries ? visible<F>(i + c + e) - j : 0;
    }
#pragma unroll
    for (int m = 0; m < Blocks::tiles; ++m) {
      unsigned kept = 0;
      if constexpr (F::key >= 0) kept = kept_by_key<F>(keeper, head.number, i + n * 8, j + m * 16);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        Slopes here = slopes_of<F>(s[m][n][e], shift[e % 2], dp[m][n][e], delta[e % 2], kept >> e & 1);
        if constexpr (!whole) {
          const int row = m * 16 + lane / 4 + e / 2 * 8;
          bool hidden = row >= seen[e % 2];
          if constexpr (F::mask >= 0) hidden = hidden || head.hides(i + c + e % 2, j + row);
          if (hidden) here = {0, 0};
        }
        s[m][n][e] = here.share;
        dp[m][n][e] = here.slope;
      }
    }
  }
}

template <class F>
void attention_grad_of_key_mma(const typename F::Pointers& at) {
  using Blocks = KeyGradientBlocks<F>;
  constexpr int tiles = Blocks::tiles, width = Blocks::columns;
  const int block = static_cast<int>(blockIdx.x) / Blocks::column_blocks,
            first_column = static_cast<int>(blockIdx.x) % Blocks::column_blocks * width;
  const int kv = block / Blocks::count, j = block % Blocks::count * Blocks::keys;
  const Keeper<F> keeper(at);
  const SharedPlace k = place_of(block_memory()), v = k + Blocks::v_offset;
  const int row = warp_number() * 16 * tiles;
  const SharedPlace k_mine = k + row * row_bytes<F>, v_mine = v + row * row_bytes<F>;

  // Steps: the blocks of queries that see a key, head after head.
  const int from = first_seeing<F>(j) / Blocks::queries * Blocks::queries;
  const int blocks = from < F::queries ? (F::queries - from + Blocks::queries - 1) / Blocks::queries : 0;
  const int steps = blocks * F::group;
  float dk[tiles][width / 8][4] = {}, dv[tiles][width / 8][4] = {};
  load_rows<F, Blocks::keys, F::keys>(k, k_rows<F>(at, kv), j);
  load_rows<F, Blocks::keys, F::keys>(v, v_rows<F>(at, kv), j);
  if (steps > 0) load_queries<F>(k + Blocks::buffers, at, Head<F>(at, kv * F::group), from);
  int h = 0, i = from;
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const Head<F> head(at, kv * F::group + h);
    const SharedPlace q = k + Blocks::buffers + step % 2 * Blocks::buffer_bytes, g = q + Blocks::g_offset;
    int next = i + Blocks::queries;
    if (next >= F::queries) {
      next = from;
      ++h;
    }
    wait_for_copies();
    __syncthreads();
    if (step + 1 < steps) {
      load_queries<F>(k + Blocks::buffers + (step + 1) % 2 * Blocks::buffer_bytes, at,
                      Head<F>(at, kv * F::group + h), next);
    }
    const int here = i;
    i = next;
    if (F::causal && seen_by_rows<F, Blocks::queries>(here) <= j + row) continue;
    float s[tiles][Blocks::queries / 8][4], dp[tiles][Blocks::queries / 8][4];
    make_scores<F, tiles, Blocks::queries>(s, k_mine, q);
    make_scores<F, tiles, Blocks::queries>(dp, v_mine, g);
    const bool whole = F::mask < 0 && here + Blocks::queries <= F::queries &&
                       (!F::causal || visible<F>(here) >= j + row + 16 * tiles);
    if (whole) {
      slopes_by_key<F, true>(s, dp, q, head, keeper, here, j + row);
    } else {
      slopes_by_key<F, false>(s, dp, q, head, keeper, here, j + row);
    }
    unsigned shares[tiles][Blocks::queries / 16][4], slopes[tiles][Blocks::queries / 16][4];
    round_scores<F, tiles, Blocks::queries>(shares, s);
    round_scores<F, tiles, Blocks::queries>(slopes, dp);
    add_product<F, tiles, Blocks::queries, width>(dv, shares, g + first_column * 2);
    add_product<F, tiles, Blocks::queries, width>(dk, slopes, q + first_column * 2);
  }
  wait_for_copies();
  __syncthreads();
  if (j + row >= F::keys) return;
  float scale[tiles][2], one[tiles][2];
#pragma unroll
  for (int m = 0; m < tiles; ++m) {
    scale[m][0] = scale[m][1] = F::scale;
    one[m][0] = one[m][1] = 1;
  }
  write_rows<F, tiles, width>(result_rows<F>(at.out[1], kv, F::keys, j + row), dk, scale, k_mine,
                              first_column, F::keys - j - row);
  write_rows<F, tiles, width>(result_rows<F>(at.out[2], kv, F::keys, j + row), dv, one, v_mine, first_column,
                              F::keys - j - row);
}

template <class F>
struct QueryGradientBlocks {
  static constexpr QueryGradientSizes sizes{{F::width}};
  static constexpr int tiles = sizes.tiles(), queries = sizes.queries(), keys = sizes.keys();
  static constexpr int count = (F::queries + queries - 1) / queries;  // of a head
  static constexpr int g_offset = sizes.g_offset(), buffers = sizes.buffers(), v_offset = sizes.v_offset(),
                       buffer_bytes = sizes.buffer_bytes(), logsumexp_offset = sizes.logsumexp_offset(),
                       delta_offset = sizes.delta_offset();
};

template <class F>
void load_keys(SharedPlace to, const typename F::Pointers& at, int kv, int j) {
  using Blocks = QueryGradientBlocks<F>;
  load_rows<F, Blocks::keys, F::keys>(to, k_rows<F>(at, kv), j);
  load_rows<F, Blocks::keys, F::keys>(to + Blocks::v_offset, v_rows<F>(at, kv), j);
}

// The same with queries as rows, from i on, and keys as columns, from j on; slopes in place of `dp`.
// `numbers`: the logsumexp of the warp's queries.
template <class F, bool whole>
void slopes_by_query(const float (&s)[QueryGradientBlocks<F>::tiles][QueryGradientBlocks<F>::keys / 8][4],
                     float (&dp)[QueryGradientBlocks<F>::tiles][QueryGradientBlocks<F>::keys / 8][4],
                     SharedPlace numbers, const Head<F>& head, const Keeper<F>& keeper, int i, int j) {
  using Blocks = QueryGradientBlocks<F>;
  const int lane = lane_number();
#pragma unroll
  for (int m = 0; m < Blocks::tiles; ++m) {
    int seen[2];
    float shift[2], delta[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = m * 16 + lane / 4 + half * 8;
      shift[half] = exponent_shift(load_number(numbers + row * 4));
      delta[half] = load_number(numbers + Blocks::delta_offset - Blocks::logsumexp_offset + row * 4);
      seen[half] = whole ? 0 : i + row < F::queries ? visible<F>(i + row) - j : 0;
    }
#pragma unroll
    for (int n = 0; n < Blocks::keys / 8; ++n) {
      unsigned kept = 0;
      if constexpr (F::key >= 0) kept = kept_by_query<F>(keeper, head.number, i + m * 16, j + n * 8);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float slope = slopes_of<F>(s[m][n][e], shift[e / 2], dp[m][n][e], delta[e / 2], kept >> e & 1).slope;
        if constexpr (!whole) {
          const int c = n * 8 + lane % 4 * 2 + e % 2;
          bool hidden = c >= seen[e / 2];
          if constexpr (F::mask >= 0) hidden = hidden || head.hides(i + m * 16 + lane / 4 + e / 2 * 8, j + c);
          if (hidden) slope = 0;
        }
        dp[m][n][e] = slope;
      }
    }
  }
}

template <class F>
void attention_grad_of_query_mma(const typename F::Pointers& at) {
  using Blocks = QueryGradientBlocks<F>;
  constexpr int tiles = Blocks::tiles;
  const int number = static_cast<int>(blockIdx.x) / Blocks::count;
  // What sees most keys comes first.
  const int i = (Blocks::count - 1 - static_cast<int>(blockIdx.x) % Blocks::count) * Blocks::queries;
  const Head<F> head(at, number);
  const Keeper<F> keeper(at);
  const SharedPlace q = place_of(block_memory()), g = q + Blocks::g_offset;
  const int row = warp_number() * 16 * tiles;
  const SharedPlace q_mine = q + row * row_bytes<F>, g_mine = g + row * row_bytes<F>;
  const int end = opaque(seen_by_rows<F, Blocks::queries>(i));
  const int seen = seen_by_rows<F, 16 * tiles>(i + row);
  const int whole = opaque(F::mask >= 0 || i + Blocks::queries > F::queries
                               ? 0
                               : visible<F>(i + row) / Blocks::keys * Blocks::keys);
  load_rows<F, Blocks::queries, F::queries>(q, q_rows<F>(at, number), i);
  load_rows<F, Blocks::queries, F::queries>(g, g_rows<F>(at, number), i);
  if (end > 0) load_keys<F>(q + Blocks::buffers, at, head.kv(), 0);
  load_numbers<Blocks::queries>(q + Blocks::logsumexp_offset, logsumexp_rows<F>(at, head), i, F::queries);
  load_numbers<Blocks::queries>(q + Blocks::delta_offset, delta_rows<F>(at, head), i, F::queries);
  const SharedPlace numbers = q + Blocks::logsumexp_offset + row * 4;
  float dq[tiles][padded_width<F> / 8][4] = {};
  int buffer = 0;
#pragma unroll 1
  for (int j = 0; j < end; j += Blocks::keys) {
    const SharedPlace k = q + Blocks::buffers + buffer * Blocks::buffer_bytes;
    buffer = 1 - buffer;
    wait_for_copies();
    __syncthreads();
    if (j + Blocks::keys < end) {
      load_keys<F>(q + Blocks::buffers + buffer * Blocks::buffer_bytes, at, head.kv(), j + Blocks::keys);
    }
    if (F::causal && j >= seen) continue;
    float s[tiles][Blocks::keys / 8][4], dp[tiles][Blocks::keys / 8][4];
    make_scores<F, tiles, Blocks::keys>(s, q_mine, k);
    make_scores<F, tiles, Blocks::keys>(dp, g_mine, k + Blocks::v_offset);
    if (j < whole) {
      slopes_by_query<F, true>(s, dp, numbers, head, keeper, i + row, j);
    } else {
      slopes_by_query<F, false>(s, dp, numbers, head, keeper, i + row, j);
    }
    unsigned slopes[tiles][Blocks::keys / 16][4];
    round_scores<F, tiles, Blocks::keys>(slopes, dp);
    add_product<F, tiles, Blocks::keys, padded_width<F>>(dq, slopes, k);
  }
  wait_for_copies();
  __syncthreads();
  if (i + row >= F::queries) return;
  float scale[tiles][2];
#pragma unroll
  for (int m = 0; m < tiles; ++m) scale[m][0] = scale[m][1] = F::scale;
  write_rows<F, tiles, padded_width<F>>(result_rows<F>(at.out[0], number, F::queries, i + row), dq, scale,
                                        q_mine, 0, F::queries - i - row);
}

}  // namespace tidemark::cuda
