// Attention of 16-bit elements on tensor cores, after FlashAttention-2 (Dao 2023): a block of threads makes
// the results of 64 or 128 queries, block of keys by block of keys, and keeps sums, maxima and scores in
// registers. Keys are loaded while values are used and the other way round.
#pragma once
#include "tidemark/cuda/device/attention_matrices.h"

namespace tidemark::cuda {

template <class F>
struct ForwardBlocks {
  static constexpr ForwardSizes sizes{{F::width}};
  static constexpr int tiles = sizes.tiles(), queries = sizes.queries(), keys = sizes.keys();
  static constexpr int count = (F::queries + queries - 1) / queries;  // of a head
  static constexpr int k_offset = sizes.k_offset(), v_offset = sizes.v_offset();
  // Does a warp pass over keys that none of its queries sees? As far as registers suffice for the branches.
  static constexpr bool skips_scores = F::causal && padded_width<F> <= 64;
  static constexpr bool skips = skips_scores || (F::causal && F::mask < 0 && F::key < 0);
};

// The warp's queries: what their sums are relative to, and the sums so far. Maxima are those of scores before
// the scale, unless that turns their order round.
template <class F>
struct QueryRows {
  using Blocks = ForwardBlocks<F>;
  using Scores = float[Blocks::keys / 8][4];  // of 16 queries, this lane's
  static constexpr bool scales_late = F::scale_log2 > 0;
  static constexpr float late_scale = scales_late ? F::scale_log2 : 1;
  float y[Blocks::tiles][padded_width<F> / 8][4] = {};
  float top[Blocks::tiles][2], total[Blocks::tiles][2];
  int first;  // query

  explicit QueryRows(int first_query) : first(first_query) {
#pragma unroll
    for (int m = 0; m < Blocks::tiles; ++m) {
      top[m][0] = top[m][1] = lowest<float>;
      total[m][0] = total[m][1] = 0;
    }
  }

  // Puts -inf where query i, in one half of the rows, does not see a key from j on.
  static void hide(Scores& s, int half, const Head<F>& head, int i, int j) {
    constexpr int parts = Blocks::keys / 8;
    const int c = lane_number() % 4 * 2, seen = (F::mask < 0 || i < F::queries ? visible<F>(i) : 0) - j;
    unsigned hidden = 0;  // bit 2 n + e, by the mask
    if constexpr (F::mask >= 0) {
#pragma unroll 4
      for (int n = 0; n < 2 * parts; ++n) {
        const int at = n / 2 * 8 + c + n % 2;
        if (at < seen) hidden |= static_cast<unsigned>(head.hides(i, j + at)) << n;
      }
    }
#pragma unroll
    for (int n = 0; n < parts; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (n * 8 + c + e >= seen || (hidden >> (2 * n + e) & 1)) s[n][half * 2 + e] = lowest<float>;
      }
    }
  }
  // The largest score of all takes the place of that so far; how what was summed before fades.
  static float raise(float& largest, const Scores& s, int half) {
    const float before = largest;
#pragma unroll
    for (int n = 0; n < Blocks::keys / 8; ++n)
      largest = std::fmax(largest, std::fmax(s[n][half * 2], s[n][half * 2 + 1]));
    largest = std::fmax(largest, across(largest, 1));
    largest = std::fmax(largest, across(largest, 2));
    return largest == before ? 1.0f : fast_exp2((before - largest) * late_scale);
  }

  // Takes in scores with the keys from j on, and makes terms of them. `whole`: every query sees every key.
  template <bool whole>
  void take_in(float (&s)[Blocks::tiles][Blocks::keys / 8][4],
               unsigned (&terms)[Blocks::tiles][Blocks::keys / 16][4], const Head<F>& head,
               const Keeper<F>& keeper, int j) {
    constexpr int parts = Blocks::keys / 8;
    const int lane = lane_number();
#pragma unroll
    for (int m = 0; m < Blocks::tiles; ++m) {
      unsigned kept = 0;  // bit 4 n + e
      if constexpr (F::key >= 0) {
#pragma unroll 2
        for (int n = 0; n < parts; ++n)
          kept |= kept_by_query<F>(keeper, head.number, first + m * 16, j + n * 8) << 4 * n;
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = first + m * 16 + lane / 4 + half * 8;
        if constexpr (!scales_late) {
#pragma unroll
          for (int n = 0; n < parts; ++n) {
            s[m][n][half * 2] *= F::scale_log2;
            s[m][n][half * 2 + 1] *= F::scale_log2;
          }
        }
        if constexpr (!whole) hide(s[m], half, head, i, j);
        const float fade = raise(top[m][half], s[m], half);
        // Without a largest score all terms are 0, but for those that are NaN.
        const float shift = top[m][half] == lowest<float> ? 0.0f : top[m][half] * late_scale;
        float sum = 0;
#pragma unroll
        for (int n = 0; n < parts; ++n) {
          float x[2];
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            x[e] = fast_exp2(std::fma(s[m][n][half * 2 + e], late_scale, -shift));
            sum += x[e];
            if constexpr (F::key >= 0) x[e] = kept >> (4 * n + half * 2 + e) & 1 ? x[e] * F::kept : 0;
          }
          terms[m][n / 2][half + n % 2 * 2] = packed<typename F::Element>(x[0], x[1]);
        }
        total[m][half] = std::fma(total[m][half], fade, sum);
#pragma unroll
        for (int n = 0; n < padded_width<F> / 8; ++n) {
          y[m][n][half * 2] *= fade;
          y[m][n][half * 2 + 1] *= fade;
        }
      }
    }
  }

  void write(const typename F::Pointers& at, const Head<F>& head, SharedPlace room) {
    const int lane = lane_number();
    float factors[Blocks::tiles][2];
#pragma unroll
    for (int m = 0; m < Blocks::tiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float all = total[m][half];
        all += across(all, 1);
        all += across(all, 2);
        factors[m][half] = all == 0 ? 0.0f : 1 / all;
        const int i = first + m * 16 + lane / 4 + half * 8;
        if (lane % 4 == 0 && i < F::queries) {
          head.rows(static_cast<float*>(at.out[1]))[i] =
              top[m][half] * late_scale * static_cast<float>(std::numbers::ln2) + std::log(all);
        }
      }
    }
    if (first >= F::queries) return;
    write_rows<F, Blocks::tiles, padded_width<F>>(result_rows<F>(at.out[0], head.number, F::queries, first),
                                                  y, factors, room, 0, F::queries - first);
  }
};

template <class F>
void attention_mma(const typename F::Pointers& at) {
  using Blocks = ForwardBlocks<F>;
  const int number = static_cast<int>(blockIdx.x) / Blocks::count;
  // What sees most keys comes first.
  const int i = (Blocks::count - 1 - static_cast<int>(blockIdx.x) % Blocks::count) * Blocks::queries;
  const Head<F> head(at, number);
  const Keeper<F> keeper(at);
  const SharedPlace q = place_of(block_memory()), k = q + Blocks::k_offset, v = q + Blocks::v_offset;
  const auto keys = k_rows<F>(at, head.kv()), values = v_rows<F>(at, head.kv());
  const int end = seen_by_rows<F, Blocks::queries>(i);
  const SharedPlace mine = q + warp_number() * 16 * Blocks::tiles * row_bytes<F>;
  QueryRows<F> rows(i + warp_number() * 16 * Blocks::tiles);
  const int seen = seen_by_rows<F, 16 * Blocks::tiles>(rows.first);
  const int whole = opaque(F::mask >= 0 ? 0 : visible<F>(rows.first) / Blocks::keys * Blocks::keys);

  load_rows<F, Blocks::queries, F::queries>(q, q_rows<F>(at, number), i);
  if (end > 0) load_rows<F, Blocks::keys, F::keys>(k, keys, 0);
#pragma unroll 1
  for (int j = 0; j < end; j += Blocks::keys) {
    wait_for_copies();
    __syncthreads();
    load_rows<F, Blocks::keys, F::keys>(v, values, j);
    float s[Blocks::tiles][Blocks::keys / 8][4];
    if (!Blocks::skips_scores || j < seen) make_scores<F, Blocks::tiles, Blocks::keys>(s, mine, k);
    wait_for_copies();
    __syncthreads();
    if (j + Blocks::keys < end) load_rows<F, Blocks::keys, F::keys>(k, keys, j + Blocks::keys);
    if (Blocks::skips && j >= seen) continue;
    unsigned terms[Blocks::tiles][Blocks::keys / 16][4];
    if (j < whole) {
      rows.template take_in<true>(s, terms, head, keeper, j);
    } else {
      rows.template take_in<false>(s, terms, head, keeper, j);
    }
    add_product<F, Blocks::tiles, Blocks::keys, padded_width<F>>(rows.y, terms, v);
  }
  wait_for_copies();
  __syncthreads();
  rows.write(at, head, mine);
}

}  // namespace tidemark::cuda
