// Threads that work on one thing together: neighbours in a warp, a whole block, or, for columns, threads that
// are so many apart. G has the constants `team`, `threads` and `columns` (cuda/calls/row_layout.h). Every
// thread of a block takes part in every fold, those without work too.
#pragma once
#include "tidemark/cuda/device/elements.h"

namespace tidemark::cuda {

// The value of the lane whose number differs in one bit. Structs exchange their members themselves.
template <class V>
V exchanged(const V& value, int distance) {
  if constexpr (std::is_arithmetic_v<V>) {
    return __shfl_xor_sync(0xffffffffu, value, distance);
  } else {
    return value.exchanged(distance);
  }
}

template <class G>
struct Team {
  static constexpr int per_block = G::threads / G::team;
  int lane, number;  // of the thread in its team, of the team in its block

  Team() {
    const int thread = static_cast<int>(threadIdx.x);
    lane = G::columns ? thread / per_block : thread % G::team;
    number = G::columns ? thread % per_block : thread / G::team;
  }

  // One value of each thread becomes one of the team, for all of its threads, in an order that is always the
  // same. `two` of a and b is that of b and a.
  template <class V, class F>
  V fold(V value, const F& two) const {
    if constexpr (G::team == 1) {
      return value;
    } else if constexpr (G::columns) {
      __shared__ V values[G::threads];
      values[threadIdx.x] = value;
      __syncthreads();
      V all = values[number];
      for (int l = 1; l < G::team; ++l) all = two(all, values[l * per_block + number]);
      __syncthreads();
      return all;
    } else {
      value = fold_lanes_of<(G::team < 32 ? G::team : 32)>(value, two);
      if constexpr (G::team > 32) {
        constexpr int warps = G::team / 32;
        __shared__ V values[warps];
        if (lane % 32 == 0) values[lane / 32] = value;
        __syncthreads();
        value = fold_lanes_of<warps>(values[lane % warps], two);  // by every warp alike
        __syncthreads();
      }
      return value;
    }
  }
  template <int lanes, class V, class F>
  static V fold_lanes_of(V value, const F& two) {
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2)
      value = two(value, exchanged(value, distance));
    return value;
  }
  template <class V>
  V sum(V value) const {
    return fold(value, [](V a, V b) { return a + b; });
  }
};

}  // namespace tidemark::cuda
