// Attention by warpgroups (attention_warpgroups.h): what attention_mma.h computes, 128 keys at a time. While
// values are multiplied with the terms of one step of two tiles of keys, the next terms are made.
#pragma once
#include "tidemark/cuda/device/attention_warpgroups.h"

namespace tidemark::cuda {

// The two halves of 16 queries that a lane works on, with keys from j on in two tiles of scores.
template <class F>
struct WarpgroupRows {
  static constexpr bool scales_late = F::scale_log2 > 0;
  static constexpr float late_scale = scales_late ? F::scale_log2 : 1;
  float top[2] = {lowest<float>, lowest<float>}, total[2] = {0, 0};
  int seen[2];  // keys, less the lane's first column

  explicit WarpgroupRows(int first) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      seen[half] = visible<F>(first + lane_number() / 4 + half * 8) - lane_number() % 4 * 2;
  }

  // Terms of scores, and how what was summed before fades.
  void take_in(float (&p)[2][8][4], float (&fade)[2], const float (&s)[2][8][4], int j, bool whole) {
#pragma unroll
    for (int t = 0; t < 2; ++t) {
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) p[t][n][e] = scales_late ? s[t][n][e] : s[t][n][e] * F::scale_log2;
      }
    }
    if (!whole) {
#pragma unroll
      for (int t = 0; t < 2; ++t) {
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e)
            if (seen[e / 2] - j <= t * tile_rows + n * 8 + e % 2) p[t][n][e] = lowest<float>;
        }
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = top[half];
#pragma unroll
      for (int t = 0; t < 2; ++t) {
#pragma unroll
        for (int n = 0; n < 8; ++n)
          largest = std::fmax(largest, std::fmax(p[t][n][half * 2], p[t][n][half * 2 + 1]));
      }
      largest = std::fmax(largest, across(largest, 1));
      largest = std::fmax(largest, across(largest, 2));
      fade[half] = largest == top[half] ? 1.0f : fast_exp2((top[half] - largest) * late_scale);
      top[half] = largest;
      // Without a largest score all terms are 0, but for those that are NaN.
      const float shift = largest == lowest<float> ? 0.0f : largest * late_scale;
      float sum[2] = {0, 0};
#pragma unroll
      for (int t = 0; t < 2; ++t) {
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& x = p[t][n][half * 2 + e];
            x = fast_exp2(std::fma(x, late_scale, -shift));
            sum[e] += x;
          }
        }
      }
      total[half] = std::fma(total[half], fade[half], sum[0] + sum[1]);
    }
  }
};

// A warpgroup: the results of the queries from i on, 16 of them by each warp. `steps`: of the block, each
// with a tile of keys.
template <class F>
void make_results(const typename F::Pointers& at, const Ring& ring, SharedPlace memory, int number, int i,
                  int steps) {
  using T = typename F::Element;
  const int own = i + warp_number() % 4 * 16;
  // The block's pairs of tiles in which one of these queries sees a key: the first ones.
  const int mine = i < F::queries ? (seen_by_rows<F, tile_rows>(i) + 2 * tile_rows - 1) / (2 * tile_rows) : 0;
  WarpgroupRows<F> rows(own);
  unsigned q[4][4], terms[2][4][4];
  float y[8][4] = {};
  if (mine > 0) {
    load_factors<F, F::queries>(q, memory, 0, q_rows<F>(at, number), own);
    float s[2][8][4], p[2][8][4], fade[2];
    const auto wait_for_pair = [&](int pair) {
      ring.wait_until_full(2 * pair);
      ring.wait_until_full(2 * pair + 1);
    };
    const auto start_pair = [&](int pair) {
      start_scores<T>(s[0], q, name_of_tile(ring.first_tile(2 * pair)));
      start_scores<T>(s[1], q, name_of_tile(ring.first_tile(2 * pair + 1)));
      end_products();
    };
    const auto start_results = [&](int pair) {
      start_sum<T>(y, terms[0], name_of_tile(ring.second_tile(2 * pair)));
      start_sum<T>(y, terms[1], name_of_tile(ring.second_tile(2 * pair + 1)));
      end_products();
    };
    const auto take_in = [&](int pair) {
      const int j = pair * 2 * tile_rows;
      arrived(s[0]);
      arrived(s[1]);
      rows.take_in(p, fade, s, j, visible<F>(i) >= j + 2 * tile_rows);
    };
    const auto round_terms = [&] {
      round_tile<F>(terms[0], p[0]);
      round_tile<F>(terms[1], p[1]);
    };
    wait_for_pair(0);
    arrived(y);
    begin_products();
    start_pair(0);
    wait_for_products<0>();
    take_in(0);
    round_terms();
#pragma unroll 1
    for (int pair = 1; pair < mine; ++pair) {
      wait_for_pair(pair);
      begin_products();
      start_pair(pair);
      start_results(pair - 1);
      wait_for_products<1>();
      take_in(pair);
      wait_for_products<0>();
      arrived(y);
      released(terms[0]);
      released(terms[1]);
      ring.leave(2 * pair - 2);
      ring.leave(2 * pair - 1);
      // The largest scores are mostly found early.
      if (any_lane(fade[0] != 1 || fade[1] != 1)) {
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) y[n][e] *= fade[e / 2];
        }
      }
      round_terms();
    }
    begin_products();
    start_results(mine - 1);
    wait_for_products<0>();
    arrived(y);
    ring.leave(2 * mine - 2);
    ring.leave(2 * mine - 1);
  }
  for (int step = 2 * mine; step < steps; ++step) {
    ring.wait_until_full(step);
    ring.leave(step);
  }
  float factors[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float all = rows.total[half];
    all += across(all, 1);
    all += across(all, 2);
    factors[half] = all == 0 ? 0.0f : 1 / all;
    const int row = own + lane_number() / 4 + half * 8;
    if (lane_number() % 4 == 0 && row < F::queries) {
      Head<F>(at, number).rows(static_cast<float*>(at.out[1]))[row] =
          rows.top[half] * rows.late_scale * static_cast<float>(std::numbers::ln2) + std::log(all);
    }
  }
  if (own >= F::queries) return;
  write_tile<F>(result_rows<F>(at.out[0], number, F::queries, own), y, factors[0], factors[1],
                F::queries - own);
}

template <class F>
void attention_wgmma(const typename F::Pointers& at) {
  constexpr int rows = WarpgroupSizes::rows, count = (F::queries + rows - 1) / rows;
  // What sees most keys comes first, of all heads.
  const int heads = static_cast<int>(gridDim.x) / count;
  const int number = static_cast<int>(blockIdx.x) % heads,
            i = (count - 1 - static_cast<int>(blockIdx.x) / heads) * rows;
  const SharedPlace memory = aligned_memory();
  const Ring ring(memory);
  ring.make();
  const int steps = (seen_by_rows<F, rows>(i) + 2 * tile_rows - 1) / (2 * tile_rows) * 2;
  if (warp_number() >= group_warps) {
    give_registers<copying_registers>();
    if (warp_number() == group_warps) copy_keys<F>(at, ring, number / F::group, steps);
  } else {
    take_registers<multiplying_registers>();
    make_results<F>(at, ring, memory, number, i + warp_number() / 4 * tile_rows, steps);
  }
}

}  // namespace tidemark::cuda
