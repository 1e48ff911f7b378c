// Attention of f32 elements and its gradient, in plain fused products: 256 threads, 16 × 16, of which thread
// (y, x) has rows y, y + 16, … and of scores the columns x, x + 16, …, of sums the columns 4 x … 4 x + 3 of
// each 64. Rows are read from the block's memory in packs of four; four elements between rows let the packs
// of eight rows lie in different banks.
#pragma once
#include "tidemark/cuda/device/attention.h"
#include "tidemark/cuda/device/attention_sizes.h"

namespace tidemark::cuda {

inline constexpr int tile_threads = TileSizes::threads;

template <class F, bool gradient>
struct RowTile {
  static constexpr TileSizes sizes{F::width, gradient};
  static constexpr int rows = sizes.rows(), per_thread = rows / 16;  // rows of a thread
  static constexpr int width = sizes.padded(), step = sizes.step(), score_step = sizes.score_step();
  static constexpr int parts = width / 64;  // packs of a thread and a row of a sum
  static constexpr int floats = sizes.floats();
  static constexpr int query_count = (F::queries + rows - 1) / rows, key_count = (F::keys + rows - 1) / rows;
};

inline int tile_x() { return static_cast<int>(threadIdx.x) % 16; }
inline int tile_y() { return static_cast<int>(threadIdx.x) / 16; }

template <class F, class Tile>
void load_tile(float* to, HeadRows<float> head, int first, int rows) {
  constexpr int packs = Tile::width / 4;
  const bool aligned =
      F::width % 4 == 0 && head.row_step % 4 == 0 && head.column_step == 1 && is_aligned<4>(head.first);
  for (int n = static_cast<int>(threadIdx.x); n < Tile::rows * packs; n += tile_threads) {
    const int row = n / packs, c = n % packs * 4;
    Pack<4, float> pack = {};
    if (first + row < rows) {
      if (aligned) {
        if (c < F::width) pack = *reinterpret_cast<const Pack<4, float>*>(head.row(first + row) + c);
      } else {
        for (int e = 0; e < 4; ++e) pack.at[e] = c + e < F::width ? head.at(first + row, c + e) : 0.0f;
      }
    }
    *reinterpret_cast<Pack<4, float>*>(to + row * Tile::step + c) = pack;
  }
}

// c = a bᵀ
template <class Tile>
void make_tile_scores(float (&c)[Tile::per_thread][Tile::per_thread], const float* a, const float* b) {
  constexpr int n = Tile::per_thread;
#pragma unroll
  for (int r = 0; r < n; ++r) {
#pragma unroll
    for (int k = 0; k < n; ++k) c[r][k] = 0;
  }
  a += tile_y() * Tile::step;
  b += tile_x() * Tile::step;
#pragma unroll 4
  for (int d = 0; d < Tile::width; d += 4) {
    Pack<4, float> left[n], right[n];
#pragma unroll
    for (int r = 0; r < n; ++r) {
      left[r] = *reinterpret_cast<const Pack<4, float>*>(a + r * 16 * Tile::step + d);
      right[r] = *reinterpret_cast<const Pack<4, float>*>(b + r * 16 * Tile::step + d);
    }
#pragma unroll
    for (int r = 0; r < n; ++r) {
#pragma unroll
      for (int k = 0; k < n; ++k) {
#pragma unroll
        for (int e = 0; e < 4; ++e) c[r][k] = std::fma(left[r].at[e], right[k].at[e], c[r][k]);
      }
    }
  }
}
// c += a b, where `a` are scores in the block's memory.
template <class Tile>
void add_tile_product(float (&c)[Tile::per_thread][Tile::parts][4], const float* a, const float* b) {
  constexpr int n = Tile::per_thread;
  a += tile_y() * Tile::score_step;
  b += tile_x() * 4;
#pragma unroll 2
  for (int k = 0; k < Tile::rows; k += 4) {
    Pack<4, float> left[n];
#pragma unroll
    for (int r = 0; r < n; ++r)
      left[r] = *reinterpret_cast<const Pack<4, float>*>(a + r * 16 * Tile::score_step + k);
#pragma unroll
    for (int q = 0; q < 4; ++q) {
#pragma unroll
      for (int p = 0; p < Tile::parts; ++p) {
        const auto right = *reinterpret_cast<const Pack<4, float>*>(b + (k + q) * Tile::step + p * 64);
#pragma unroll
        for (int r = 0; r < n; ++r) {
#pragma unroll
          for (int e = 0; e < 4; ++e) c[r][p][e] = std::fma(left[r].at[q], right.at[e], c[r][p][e]);
        }
      }
    }
  }
}
template <class Tile>
void store_tile_scores(float* to, const float (&c)[Tile::per_thread][Tile::per_thread]) {
#pragma unroll
  for (int r = 0; r < Tile::per_thread; ++r) {
#pragma unroll
    for (int k = 0; k < Tile::per_thread; ++k)
      to[(tile_y() + 16 * r) * Tile::score_step + tile_x() + 16 * k] = c[r][k];
  }
}
template <class F, class Tile>
void write_tile(float* to, const float (&c)[Tile::per_thread][Tile::parts][4],
                const float (&factors)[Tile::per_thread], int rows) {
  const bool aligned = F::width % 4 == 0 && is_aligned<4>(to);
#pragma unroll
  for (int r = 0; r < Tile::per_thread; ++r) {
    const int row = tile_y() + 16 * r;
    if (row >= rows) continue;
#pragma unroll
    for (int p = 0; p < Tile::parts; ++p) {
      const int first = p * 64 + tile_x() * 4;
      float* at = to + static_cast<long long>(row) * F::width + first;
      float x[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) x[e] = c[r][p][e] * factors[r];
      if (aligned) {
        if (first < F::width) store(at, x, true);
      } else {
        for (int e = 0; e < 4; ++e) {
          if (first + e < F::width) at[e] = x[e];
        }
      }
    }
  }
}

template <class F>
void attention_tiles(const typename F::Pointers& at) {
  using Tile = RowTile<F, false>;
  constexpr int n = Tile::per_thread;
  float* const q = reinterpret_cast<float*>(block_memory());
  float *const other = q + Tile::floats, *const terms = other + Tile::floats;
  const Head<F> head(at, static_cast<int>(blockIdx.x) / Tile::query_count);
  // What sees most keys comes first.
  const int i = (Tile::query_count - 1 - static_cast<int>(blockIdx.x) % Tile::query_count) * Tile::rows;
  const Keeper<F> keeper(at);
  const int last = i + Tile::rows < F::queries ? i + Tile::rows - 1 : F::queries - 1, end = visible<F>(last);
  float y[n][Tile::parts][4] = {}, top[n], total[n];
#pragma unroll
  for (int r = 0; r < n; ++r) top[r] = lowest<float>, total[r] = 0;
  load_tile<F, Tile>(q, q_rows<F>(at, head.number), i, F::queries);
  for (int j = 0; j < end; j += Tile::rows) {
    load_tile<F, Tile>(other, k_rows<F>(at, head.kv()), j, F::keys);
    __syncthreads();
    float s[n][n];
    make_tile_scores<Tile>(s, q, other);
#pragma unroll
    for (int r = 0; r < n; ++r) {
      const int query = i + tile_y() + 16 * r;
      const float before = top[r];
#pragma unroll
      for (int k = 0; k < n; ++k) {
        s[r][k] = head.sees(query, j + tile_x() + 16 * k) ? s[r][k] * F::scale_log2 : lowest<float>;
        top[r] = std::fmax(top[r], s[r][k]);
      }
#pragma unroll
      for (int mask = 1; mask < 16; mask *= 2) top[r] = std::fmax(top[r], across(top[r], mask));
      // Without a largest score all terms are 0, but for those that are NaN.
      const float shift = top[r] == lowest<float> ? 0.0f : top[r];
      const float fade = top[r] == before ? 1.0f : std::exp2(before - shift);
      float sum = 0;
#pragma unroll
      for (int k = 0; k < n; ++k) {
        s[r][k] = std::exp2(s[r][k] - shift);
        sum += s[r][k];
        s[r][k] *= keeper.factor(head.number, query, j + tile_x() + 16 * k);
      }
      total[r] = std::fma(total[r], fade, sum);
#pragma unroll
      for (int p = 0; p < Tile::parts; ++p) {
#pragma unroll
        for (int e = 0; e < 4; ++e) y[r][p][e] *= fade;
      }
    }
    store_tile_scores<Tile>(terms, s);
    __syncthreads();
    load_tile<F, Tile>(other, v_rows<F>(at, head.kv()), j, F::keys);
    __syncthreads();
    add_tile_product<Tile>(y, terms, other);
    __syncthreads();
  }
  float factors[n];
#pragma unroll
  for (int r = 0; r < n; ++r) {
#pragma unroll
    for (int mask = 1; mask < 16; mask *= 2) total[r] += across(total[r], mask);
    factors[r] = total[r] == 0 ? 0.0f : 1 / total[r];
    const int query = i + tile_y() + 16 * r;
    if (tile_x() == 0 && query < F::queries) {
      head.rows(static_cast<float*>(at.out[1]))[query] =
          top[r] * static_cast<float>(std::numbers::ln2) + std::log(total[r]);
    }
  }
  write_tile<F, Tile>(result_rows<F>(at.out[0], head.number, F::queries, i), y, factors, F::queries - i);
}

// What remains of the probability of a score, and the score's slope, in their places.
template <class F>
void make_slope(float& s, float& dp, const Head<F>& head, const Keeper<F>& keeper, int i, int j, float shift,
                float delta) {
  if (!head.sees(i, j)) {
    s = dp = 0;
    return;
  }
  const float p = std::exp2(s * F::scale_log2 - shift), factor = keeper.factor(head.number, i, j);
  s = p * factor;
  dp = p * (dp * factor - delta);
}

template <class F>
void attention_grad_of_key_tiles(const typename F::Pointers& at) {
  using Tile = RowTile<F, true>;
  constexpr int n = Tile::per_thread;
  float* const k = reinterpret_cast<float*>(block_memory());
  float *const v = k + Tile::floats, *const q = v + Tile::floats, *const g = q + Tile::floats,
               *const scores = g + Tile::floats;
  const int kv = static_cast<int>(blockIdx.x) / Tile::key_count,
            j = static_cast<int>(blockIdx.x) % Tile::key_count * Tile::rows;
  const Keeper<F> keeper(at);
  float dk[n][Tile::parts][4] = {}, dv[n][Tile::parts][4] = {};
  load_tile<F, Tile>(k, k_rows<F>(at, kv), j, F::keys);
  load_tile<F, Tile>(v, v_rows<F>(at, kv), j, F::keys);
  for (int h = 0; h < F::group; ++h) {
    const Head<F> head(at, kv * F::group + h);
    const float *logsumexp = logsumexp_rows<F>(at, head), *delta = delta_rows<F>(at, head);
    for (int i = first_seeing<F>(j) / Tile::rows * Tile::rows; i < F::queries; i += Tile::rows) {
      load_tile<F, Tile>(q, q_rows<F>(at, head.number), i, F::queries);
      load_tile<F, Tile>(g, g_rows<F>(at, head.number), i, F::queries);
      __syncthreads();
      float s[n][n], dp[n][n];
      make_tile_scores<Tile>(s, k, q);
      make_tile_scores<Tile>(dp, v, g);
#pragma unroll
      for (int c = 0; c < n; ++c) {
        const int query = i + tile_x() + 16 * c;
        const bool inside = query < F::queries;
        const float shift = inside ? exponent_shift(logsumexp[query]) : 0, base = inside ? delta[query] : 0;
#pragma unroll
        for (int r = 0; r < n; ++r)
          make_slope<F>(s[r][c], dp[r][c], head, keeper, query, j + tile_y() + 16 * r, shift, base);
      }
      store_tile_scores<Tile>(scores, s);
      __syncthreads();
      add_tile_product<Tile>(dv, scores, g);
      __syncthreads();
      store_tile_scores<Tile>(scores, dp);
      __syncthreads();
      add_tile_product<Tile>(dk, scores, q);
      __syncthreads();
    }
  }
  float scale[n], one[n];
#pragma unroll
  for (int r = 0; r < n; ++r) scale[r] = F::scale, one[r] = 1;
  write_tile<F, Tile>(result_rows<F>(at.out[1], kv, F::keys, j), dk, scale, F::keys - j);
  write_tile<F, Tile>(result_rows<F>(at.out[2], kv, F::keys, j), dv, one, F::keys - j);
}

template <class F>
void attention_grad_of_query_tiles(const typename F::Pointers& at) {
  using Tile = RowTile<F, true>;
  constexpr int n = Tile::per_thread;
  float* const q = reinterpret_cast<float*>(block_memory());
  float *const g = q + Tile::floats, *const k = g + Tile::floats, *const v = k + Tile::floats,
               *const scores = v + Tile::floats;
  const Head<F> head(at, static_cast<int>(blockIdx.x) / Tile::query_count);
  // What sees most keys comes first.
  const int i = (Tile::query_count - 1 - static_cast<int>(blockIdx.x) % Tile::query_count) * Tile::rows;
  const Keeper<F> keeper(at);
  const int last = i + Tile::rows < F::queries ? i + Tile::rows - 1 : F::queries - 1, end = visible<F>(last);
  float dq[n][Tile::parts][4] = {}, shift[n], delta[n], scale[n];
#pragma unroll
  for (int r = 0; r < n; ++r) {
    const int query = i + tile_y() + 16 * r;
    const bool inside = query < F::queries;
    shift[r] = inside ? exponent_shift(logsumexp_rows<F>(at, head)[query]) : 0;
    delta[r] = inside ? delta_rows<F>(at, head)[query] : 0;
    scale[r] = F::scale;
  }
  load_tile<F, Tile>(q, q_rows<F>(at, head.number), i, F::queries);
  load_tile<F, Tile>(g, g_rows<F>(at, head.number), i, F::queries);
  for (int j = 0; j < end; j += Tile::rows) {
    load_tile<F, Tile>(k, k_rows<F>(at, head.kv()), j, F::keys);
    load_tile<F, Tile>(v, v_rows<F>(at, head.kv()), j, F::keys);
    __syncthreads();
    float s[n][n], dp[n][n];
    make_tile_scores<Tile>(s, q, k);
    make_tile_scores<Tile>(dp, g, v);
#pragma unroll
    for (int r = 0; r < n; ++r) {
#pragma unroll
      for (int c = 0; c < n; ++c) {
        make_slope<F>(s[r][c], dp[r][c], head, keeper, i + tile_y() + 16 * r, j + tile_x() + 16 * c, shift[r],
                      delta[r]);
      }
    }
    store_tile_scores<Tile>(scores, dp);
    __syncthreads();
    add_tile_product<Tile>(dq, scores, k);
    __syncthreads();
  }
  write_tile<F, Tile>(result_rows<F>(at.out[0], head.number, F::queries, i), dq, scale, F::queries - i);
}

}  // namespace tidemark::cuda
