// One row by one team of threads. A row that is short enough is read once and held in registers; others are
// read again for every pass over them. 16-bit elements are widened when they are read and rounded once.
#pragma once
#include "tidemark/cuda/device/teams.h"

namespace tidemark::cuda {

template <class G>
struct Row {
  using T = typename G::T;
  using W = compute_t<T>;
  using Index = typename G::Index;
  static constexpr bool is_held = G::packs > 0;
  static constexpr int at_once = 2;  // packs of a row that is not held

  Team<G> team;
  Index number;  // of the row
  bool works;    // there is such a row
  bool aligned;
  const T* from[G::reads];
  W held[is_held ? G::packs : 1][G::reads][G::width];

  explicit Row(const typename G::Pointers& at) {
    number = static_cast<Index>(blockIdx.x) * Team<G>::per_block + team.number;
    works = number < G::rows;
    aligned = G::aligned(at);
#pragma unroll
    for (int k = 0; k < G::reads; ++k) {
      const T* const first = static_cast<const T*>(at.in[G::operand(k)]);
      from[k] = works ? first + G::row_at(k, number) : first;
    }
    if constexpr (is_held) {
      each_held([&](W(&values)[G::reads][G::width], Index i) { read(values, i); });
    }
  }

  // Calls f(values, i) with values[k][e] of elements i + e, for all that are the thread's. What f writes into
  // them stays for the next pass if the row is held.
  template <class F>
  void each(const F& f) {
    if constexpr (is_held) {
      each_held(f);
    } else {
      // Packs begin where elements are aligned; what is before the first and behind the last goes one by one.
      Index head = 0, packs = 0;
      if (works) {
        if constexpr (G::shifted) head = (G::width - number * (G::n % G::width) % G::width) % G::width;
        packs = (G::n - head) / G::width;
      }
      for (Index p = team.lane; p < packs; p += at_once * G::team) {
        // All are asked for before the first is waited for.
        W values[at_once][G::reads][G::width];
#pragma unroll
        for (int b = 0; b < at_once; ++b) {
          if (p + b * G::team < packs) read(values[b], head + (p + b * G::team) * G::width);
        }
#pragma unroll
        for (int b = 0; b < at_once; ++b) {
          if (p + b * G::team < packs) f(values[b], head + (p + b * G::team) * G::width);
        }
      }
      if constexpr (G::shifted) {
        const Index edges = works ? G::n - packs * G::width : 0;
        for (Index e = team.lane; e < edges; e += G::team) {
          W values[G::reads][1];
          const Index i = e < head ? e : e + packs * G::width;
          read(values, i);
          f(values, i);
        }
      }
    }
  }

  // Where the row begins in result r of the operands' shape, the k-th such.
  template <class To = T>
  To* result(const typename G::Pointers& at, int r, int k = G::reads) const {
    return static_cast<To*>(at.out[r]) + (works ? G::row_at(k, number) : 0);
  }
  template <int w>
  void write(T* row, Index i, const W (&values)[w], int k = G::reads) const {
    T elements[w];
#pragma unroll
    for (int e = 0; e < w; ++e) elements[e] = stored<T>(values[e]);
    if constexpr (w > 1) {
      store(row + G::element_at(k, i), elements, aligned);
    } else {
      row[G::element_at(k, i)] = elements[0];
    }
  }
  // Does this thread write what is one number of the row?
  bool leads() const { return works && team.lane == 0; }

 private:
  template <class F>
  void each_held(const F& f) {
#pragma unroll
    for (int p = 0; p < G::packs; ++p) {
      const Index i = (static_cast<Index>(p) * G::team + team.lane) * G::width;
      if (works && i < G::n) f(held[p], i);
    }
  }
  template <int w>
  void read(W (&values)[G::reads][w], Index i) const {
#pragma unroll
    for (int k = 0; k < G::reads; ++k) {
      T elements[w];
      if constexpr (w > 1) {
        load(elements, from[k] + G::element_at(k, i), aligned);
      } else {
        elements[0] = from[k][G::element_at(k, i)];
      }
#pragma unroll
      for (int e = 0; e < w; ++e) values[k][e] = static_cast<W>(widened(elements[e]));
    }
  }
};

// What a pass gives its function.
template <class G, int w>
using Values = compute_t<typename G::T> (&)[G::reads][w];

template <class W>
bool is_finite(W x) {
  return x - x == 0;
}

// The largest number, and the sum of e^(x - top): of what is above all, as far as it is finite. A NaN stays.
template <class W, class S>
struct ExpSum {
  W top;
  S sum;

  static W shift(W top) { return is_finite(top) ? top : W(0); }
  static W larger(W a, W b) { return a < b || b != b ? b : a; }
  // e^(x - top) of others, once the top is another.
  static S rescaled(S sum, W from, W to) {
    return sum == 0 ? sum : sum * static_cast<S>(std::exp(shift(from) - shift(to)));
  }
  ExpSum exchanged(int distance) const {
    return {__shfl_xor_sync(0xffffffffu, top, distance), __shfl_xor_sync(0xffffffffu, sum, distance)};
  }
  friend ExpSum merged(const ExpSum& a, const ExpSum& b) {
    const W top = larger(a.top, b.top);
    return {top, rescaled(a.sum, a.top, top) + rescaled(b.sum, b.top, top)};
  }
};

// Of the row, in one pass over memory. A row that is held has e^(x - top) in place of x then, if `replaces`.
template <bool replaces, class G>
ExpSum<compute_t<typename G::T>, typename G::Sum> exp_sum(Row<G>& row) {
  using W = compute_t<typename G::T>;
  using S = typename G::Sum;
  using Both = ExpSum<W, S>;
  Both all{-std::numeric_limits<W>::infinity(), S(0)};
  if constexpr (Row<G>::is_held) {
    row.each([&]<int w>(Values<G, w> x, typename G::Index) {
#pragma unroll
      for (int e = 0; e < w; ++e) all.top = Both::larger(all.top, x[0][e]);
    });
    all.top = row.team.fold(all.top, [](W a, W b) { return Both::larger(a, b); });
    const W shift = Both::shift(all.top);
    row.each([&]<int w>(Values<G, w> x, typename G::Index) {
#pragma unroll
      for (int e = 0; e < w; ++e) {
        const W term = std::exp(x[0][e] - shift);
        if constexpr (replaces) x[0][e] = term;
        all.sum += static_cast<S>(term);
      }
    });
    all.sum = row.team.sum(all.sum);
  } else {
    row.each([&]<int w>(Values<G, w> x, typename G::Index) {
      W top = all.top;
#pragma unroll
      for (int e = 0; e < w; ++e) top = Both::larger(top, x[0][e]);
      S sum = Both::rescaled(all.sum, all.top, top);
      const W shift = Both::shift(top);
#pragma unroll
      for (int e = 0; e < w; ++e) sum += static_cast<S>(std::exp(x[0][e] - shift));
      all.top = top, all.sum = sum;
    });
    all = row.team.fold(all, [](const Both& a, const Both& b) { return merged(a, b); });
  }
  return all;
}

}  // namespace tidemark::cuda
