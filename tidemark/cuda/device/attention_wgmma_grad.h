// The gradient of attention by warpgroups (attention_warpgroups.h), in the two kernels of
// attention_mma_grad.h. While the products of one step run, exponentials of the next are made: scores come
// first of all that a step asks for, v gᵀ last.
#pragma once
#include "tidemark/cuda/device/attention_warpgroups.h"

namespace tidemark::cuda {

// The steps of a block of keys from j on: the blocks of queries that see one of them, head after head.
template <class F>
struct QuerySteps {
  int from, count;
  int step = 0, h = 0, i;

  explicit QuerySteps(int j) : from(first_seeing<F>(j) / tile_rows * tile_rows), i(from) {
    count = (from < F::queries ? (F::queries - from + tile_rows - 1) / tile_rows : 0) * F::group;
  }
  void next() {
    ++step;
    i += tile_rows;
    if (i < F::queries) return;
    i = from;
    ++h;
  }
};

// The warp that copies: queries, gradients of results, what to subtract from scores, and delta.
template <class F>
void copy_queries(const typename F::Pointers& at, const Ring& ring, int kv, QuerySteps<F> steps) {
  const int lane = lane_number();
  float shift[2], delta[2];
  const auto load = [&] {
    const Head<F> head(at, kv * F::group + steps.h);
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const int i = steps.i + n * 32 + lane;
      shift[n] = i < F::queries ? exponent_shift(logsumexp_rows<F>(at, head)[i]) : -lowest<float>;
      delta[n] = i < F::queries ? delta_rows<F>(at, head)[i] : 0.0f;
    }
  };
  if (steps.count > 0) load();
#pragma unroll 1
  while (steps.step < steps.count) {
    const int step = steps.step, number = kv * F::group + steps.h;
    ring.wait_until_empty(step);
    copy_tile<F, tile_rows, F::queries>(ring.first_tile(step), q_rows<F>(at, number), steps.i);
    copy_tile<F, tile_rows, F::queries>(ring.second_tile(step), g_rows<F>(at, number), steps.i);
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      store_word(ring.first_numbers(step) + (n * 32 + lane) * 4, std::bit_cast<unsigned>(shift[n]));
      store_word(ring.second_numbers(step) + (n * 32 + lane) * 4, std::bit_cast<unsigned>(delta[n]));
    }
    ring.brought(step);
    steps.next();
    if (steps.step < steps.count) load();
  }
  ring.brought_all(steps.count);
}

// A warpgroup: the gradients of the keys and values from j on, 16 of them by each warp.
template <class F>
void make_key_gradients(const typename F::Pointers& at, const Ring& ring, SharedPlace memory, int kv, int j,
                        QuerySteps<F> now) {
  using T = typename F::Element;
  const auto is_seen = [&](int i) {
    return j < F::keys && (!F::causal || seen_by_rows<F, tile_rows>(i) > j);
  };
  // To the next step, from this one on, in which a query sees a key.
  const auto seek = [&](QuerySteps<F>& steps) {
    for (; steps.step < steps.count; steps.next()) {
      ring.wait_until_full(steps.step);
      if (is_seen(steps.i)) break;
      ring.leave(steps.step);
    }
  };
  const int own = j + warp_number() % 4 * 16, column = lane_number() % 4 * 2;
  // Query i + column + c does not see this lane's key, or that 8 behind it, if diagonal - i > c, or c - 8.
  const int diagonal = own + lane_number() / 4 - (F::keys - F::queries) - column;
  unsigned k[4][4], v[4][4], shares[4][4] = {}, slopes[4][4] = {};
  float dk[8][4] = {}, dv[8][4] = {}, s[8][4], dp[8][4];
  if (j < F::keys) {
    load_factors<F, F::keys>(k, memory, 0, k_rows<F>(at, kv), own);
    load_factors<F, F::keys>(v, memory, 1, v_rows<F>(at, kv), own);
  }
  seek(now);
  if (now.step < now.count) {
    arrived(dk);
    arrived(dv);
    begin_products();
    start_scores<T>(s, k, name_of_tile(ring.first_tile(now.step)));
    end_products();
    end_products();
    start_scores<T>(dp, v, name_of_tile(ring.second_tile(now.step)));
    end_products();
    int before = -1;
#pragma unroll 1
    while (true) {
      wait_for_products<2>();
      arrived(s);
      float p[8][4];
      released(shares);
      const SharedPlace shift_place = ring.first_numbers(now.step) + column * 4;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        float shift[2];
        load_pair(shift[0], shift[1], shift_place + n * 32);
#pragma unroll
        for (int e = 0; e < 4; ++e) p[n][e] = fast_exp2(std::fma(s[n][e], F::scale_log2, -shift[e % 2]));
      }
      if (F::causal && visible<F>(now.i) < j + tile_rows) {
        const int from = diagonal - now.i;
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e)
            if (from > n * 8 + e % 2 - e / 2 * 8) p[n][e] = 0;
        }
      }
      round_tile<F>(shares, p);
      begin_products();
      start_sum<T>(dv, shares, name_of_tile(ring.second_tile(now.step)));
      end_products();
      wait_for_products<1>();
      arrived(dp);
      released(slopes);
      if (before >= 0) ring.leave(before);
      const SharedPlace delta_place = ring.second_numbers(now.step) + column * 4;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        float delta[2];
        load_pair(delta[0], delta[1], delta_place + n * 32);
#pragma unroll
        for (int e = 0; e < 4; ++e) p[n][e] *= dp[n][e] - delta[e % 2];
      }
      round_tile<F>(slopes, p);
      before = now.step;
      now.next();
      seek(now);
      if (now.step == now.count) break;
      begin_products();
      start_scores<T>(s, k, name_of_tile(ring.first_tile(now.step)));
      end_products();
      start_sum<T>(dk, slopes, name_of_tile(ring.first_tile(before)));
      end_products();
      start_scores<T>(dp, v, name_of_tile(ring.second_tile(now.step)));
      end_products();
    }
    begin_products();
    start_sum<T>(dk, slopes, name_of_tile(ring.first_tile(before)));
    end_products();
    wait_for_products<0>();
    arrived(dk);
    arrived(dv);
  }
  if (own >= F::keys) return;
  write_tile<F>(result_rows<F>(at.out[1], kv, F::keys, own), dk, F::scale, F::scale, F::keys - own);
  write_tile<F>(result_rows<F>(at.out[2], kv, F::keys, own), dv, 1, 1, F::keys - own);
}

template <class F>
void attention_grad_of_key_wgmma(const typename F::Pointers& at) {
  constexpr int rows = WarpgroupSizes::rows, count = (F::keys + rows - 1) / rows;
  // What is seen by most queries comes first, of all heads.
  const int heads = static_cast<int>(gridDim.x) / count;
  const int kv = static_cast<int>(blockIdx.x) % heads, j = static_cast<int>(blockIdx.x) / heads * rows;
  const SharedPlace memory = aligned_memory();
  const Ring ring(memory);
  ring.make();
  const QuerySteps<F> steps(j);
  if (warp_number() >= group_warps) {
    give_registers<copying_registers>();
    if (warp_number() == group_warps) copy_queries<F>(at, ring, kv, steps);
  } else {
    take_registers<multiplying_registers>();
    make_key_gradients<F>(at, ring, memory, kv, j + warp_number() / 4 * tile_rows, steps);
  }
}

// A warpgroup: the gradients of the queries from i on, 16 of them by each warp. `steps`: of the block.
template <class F>
void make_query_gradients(const typename F::Pointers& at, const Ring& ring, SharedPlace memory, int number,
                          int i, int steps) {
  using T = typename F::Element;
  const Head<F> head(at, number);
  const int own = i + warp_number() % 4 * 16, column = lane_number() % 4 * 2;
  // The block's steps in which one of these queries sees a key: the first ones.
  const int mine = i < F::queries ? (seen_by_rows<F, tile_rows>(i) + tile_rows - 1) / tile_rows : 0;
  unsigned q[4][4], g[4][4], slopes[4][4] = {};
  float s[8][4], dp[8][4], dq[8][4] = {}, shift[2], delta[2];
  int seen[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = own + lane_number() / 4 + half * 8;
    shift[half] = row < F::queries ? exponent_shift(logsumexp_rows<F>(at, head)[row]) : -lowest<float>;
    delta[half] = row < F::queries ? delta_rows<F>(at, head)[row] : 0.0f;
    seen[half] = visible<F>(row) - column;
  }
  if (mine > 0) {
    load_factors<F, F::queries>(q, memory, 0, q_rows<F>(at, number), own);
    load_factors<F, F::queries>(g, memory, 1, g_rows<F>(at, number), own);
    ring.wait_until_full(0);
    arrived(dq);
    begin_products();
    start_scores<T>(s, q, name_of_tile(ring.first_tile(0)));
    end_products();
    end_products();
    start_scores<T>(dp, g, name_of_tile(ring.second_tile(0)));
    end_products();
    int step = 0;
#pragma unroll 1
    while (true) {
      wait_for_products<2>();
      arrived(s);
      float p[8][4];
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) p[n][e] = fast_exp2(std::fma(s[n][e], F::scale_log2, -shift[e / 2]));
      }
      const int j = step * tile_rows;
      if (visible<F>(i) < j + tile_rows) {
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e)
            if (seen[e / 2] - j <= n * 8 + e % 2) p[n][e] = 0;
        }
      }
      wait_for_products<0>();
      arrived(dp);
      released(slopes);
      if (step > 0) ring.leave(step - 1);
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) p[n][e] *= dp[n][e] - delta[e / 2];
      }
      round_tile<F>(slopes, p);
      if (++step == mine) break;
      ring.wait_until_full(step);
      begin_products();
      start_scores<T>(s, q, name_of_tile(ring.first_tile(step)));
      end_products();
      start_sum<T>(dq, slopes, name_of_tile(ring.first_tile(step - 1)));
      end_products();
      start_scores<T>(dp, g, name_of_tile(ring.second_tile(step)));
      end_products();
    }
    begin_products();
    start_sum<T>(dq, slopes, name_of_tile(ring.first_tile(step - 1)));
    end_products();
    wait_for_products<0>();
    arrived(dq);
    ring.leave(step - 1);
  }
  for (int step = mine; step < steps; ++step) {
    ring.wait_until_full(step);
    ring.leave(step);
  }
  if (own >= F::queries) return;
  write_tile<F>(result_rows<F>(at.out[0], number, F::queries, own), dq, F::scale, F::scale, F::queries - own);
}

template <class F>
void attention_grad_of_query_wgmma(const typename F::Pointers& at) {
  constexpr int rows = WarpgroupSizes::rows, count = (F::queries + rows - 1) / rows;
  // What sees most keys comes first, of all heads.
  const int heads = static_cast<int>(gridDim.x) / count;
  const int number = static_cast<int>(blockIdx.x) % heads,
            i = (count - 1 - static_cast<int>(blockIdx.x) / heads) * rows;
  const SharedPlace memory = aligned_memory();
  const Ring ring(memory);
  ring.make();
  const int steps = (seen_by_rows<F, rows>(i) + tile_rows - 1) / tile_rows;
  if (warp_number() >= group_warps) {
    give_registers<copying_registers>();
    if (warp_number() == group_warps) copy_keys<F>(at, ring, number / F::group, steps);
  } else {
    take_registers<multiplying_registers>();
    make_query_gradients<F>(at, ring, memory, number, i + warp_number() / 4 * tile_rows, steps);
  }
}

}  // namespace tidemark::cuda
