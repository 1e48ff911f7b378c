// Normalisations, their gradients and those of gain and bias (ops/normalization/normalize.h). A row is what
// is normalised together.
#pragma once
#include "tidemark/cuda/device/rows.h"

namespace tidemark::cuda {

// Gain or bias of elements i … of a row: along the row, or one for each of its channels.
template <class G, int w>
void load_affine(compute_t<typename G::T> (&to)[w], const void* from, typename G::Index row,
                 typename G::Index i, bool aligned) {
  using T = typename G::T;
  const T* const p = static_cast<const T*>(from);
  T elements[w];
  if constexpr (G::per_element && w > 1 && !G::shifted) {
    load(elements, p + i, aligned);
  } else {
#pragma unroll
    for (int e = 0; e < w; ++e) elements[e] = p[G::affine_at(row, i + e)];
  }
#pragma unroll
  for (int e = 0; e < w; ++e) to[e] = widened(elements[e]);
}

template <class G>
double rstd_of(double variance) {
  return 1 / std::sqrt(variance + G::eps);
}
// The second statistic is 1/√…, or the variance.
template <class G>
compute_t<typename G::T> rstd_of_second(compute_t<typename G::T> second) {
  using W = compute_t<typename G::T>;
  return G::variance ? static_cast<W>(rstd_of<G>(static_cast<double>(second))) : second;
}

template <class G>
void norm_rows(const typename G::Pointers& at) {
  using W = compute_t<typename G::T>;
  using Index = typename G::Index;
  using S = typename G::Sum;
  Row<G> row(at);
  const double share = 1.0 / static_cast<double>(G::n);  // of no elements: infinite
  W mean = 0;
  if constexpr (G::centered) {
    S sum = 0;
    row.each([&]<int w>(Values<G, w> x, Index) {
#pragma unroll
      for (int e = 0; e < w; ++e) sum += static_cast<S>(x[0][e]);
    });
    mean = static_cast<W>(static_cast<double>(row.team.sum(sum)) * share);
  }
  S squares = 0;
  row.each([&]<int w>(Values<G, w> x, Index) {
#pragma unroll
    for (int e = 0; e < w; ++e) {
      const W c = x[0][e] - mean;
      squares += static_cast<S>(c * c);
    }
  });
  const double variance = static_cast<double>(row.team.sum(squares)) * share;
  const W rstd = static_cast<W>(rstd_of<G>(variance));
  if (row.leads()) {
    if constexpr (G::centered) static_cast<W*>(at.out[1])[row.number] = mean;
    static_cast<W*>(at.out[G::centered ? 2 : 1])[row.number] = G::variance ? static_cast<W>(variance) : rstd;
  }
  typename G::T* const to = row.result(at, 0);
  row.each([&]<int w>(Values<G, w> x, Index i) {
    W y[w], gain[w], bias[w];
    load_affine<G>(gain, at.in[1], row.number, i, row.aligned);
    if constexpr (G::centered) load_affine<G>(bias, at.in[2], row.number, i, row.aligned);
#pragma unroll
    for (int e = 0; e < w; ++e) {
      y[e] = (x[0][e] - mean) * rstd * gain[e];
      if constexpr (G::centered) y[e] += bias[e];
    }
    row.write(to, i, y);
  });
}

// Reads x and the gradient g of the result; statistics are operands 1 and 2, then comes the gain.
template <class G>
void norm_grad_rows(const typename G::Pointers& at) {
  using W = compute_t<typename G::T>;
  using Index = typename G::Index;
  using S = typename G::Sum;
  constexpr int second = G::centered ? 2 : 1;
  Row<G> row(at);
  const double share = 1.0 / static_cast<double>(G::n);  // of no elements: infinite
  const Index number = row.works ? row.number : 0;
  const W mean = G::centered ? static_cast<const W*>(at.in[1])[number] : W(0);
  const W rstd = rstd_of_second<G>(static_cast<const W*>(at.in[second])[number]);
  S plain = 0, product = 0;
  row.each([&]<int w>(Values<G, w> x, Index i) {
    W gain[w];
    load_affine<G>(gain, at.in[second + 1], number, i, row.aligned);
#pragma unroll
    for (int e = 0; e < w; ++e) {
      const W slope = x[1][e] * gain[e];
      plain += static_cast<S>(slope);
      product += static_cast<S>(slope * ((x[0][e] - mean) * rstd));
    }
  });
  W a = 0;
  if constexpr (G::centered) a = static_cast<W>(static_cast<double>(row.team.sum(plain)) * share);
  const W b = static_cast<W>(static_cast<double>(row.team.sum(product)) * share);
  typename G::T* const to = row.result(at, 0);
  row.each([&]<int w>(Values<G, w> x, Index i) {
    W dx[w], gain[w];
    load_affine<G>(gain, at.in[second + 1], number, i, row.aligned);
#pragma unroll
    for (int e = 0; e < w; ++e) {
      const W v = x[1][e] * gain[e] - (x[0][e] - mean) * rstd * b;
      dx[e] = (G::centered ? v - a : v) * rstd;
    }
    row.write(to, i, dx);
  });
}

// Gain and bias of channels: a row is one channel, in all examples.
template <class G>
void norm_channel_params(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  using Index = typename G::Index;
  using S = typename G::Sum;
  Row<G> row(at);
  S plain = 0, product = 0;
  W mean = 0, rstd = 0;
  const auto look_up = [&](Index of) {
    mean = static_cast<const W*>(at.in[1])[of];
    rstd = rstd_of_second<G>(static_cast<const W*>(at.in[2])[of]);
  };
  if constexpr (G::across_batch) look_up(row.works ? row.number : 0);  // one for the whole channel
  row.each([&]<int w>(Values<G, w> x, Index i) {
#pragma unroll
    for (int e = 0; e < w; ++e) {
      if constexpr (!G::across_batch) look_up(G::statistic_at(row.number, i + e));
      plain += static_cast<S>(x[1][e]);
      product += static_cast<S>(x[1][e] * ((x[0][e] - mean) * rstd));
    }
  });
  product = row.team.sum(product);
  plain = row.team.sum(plain);
  if (!row.leads()) return;
  static_cast<T*>(at.out[0])[row.number] = stored<T>(static_cast<W>(product));
  static_cast<T*>(at.out[1])[row.number] = stored<T>(static_cast<W>(plain));
}

// Gain and bias along rows: sums down the columns, first of slabs of rows, then of the slabs' own. In a block
// 32 threads stand side by side, each at a pack of columns, and 8 below each other.
inline constexpr int params_across = 32, params_down = 8;

template <class G>
void norm_params_slabs(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  using Index = typename G::Index;
  constexpr int kinds = G::centered ? 2 : 1, columns = params_across * G::width;
  __shared__ W sums[kinds][params_down][columns];
  const int thread = static_cast<int>(threadIdx.x), across = thread % params_across,
            down = thread / params_across;
  const Index tile = static_cast<Index>(blockIdx.x) % G::tiles,
              slab = static_cast<Index>(blockIdx.x) / G::tiles;
  const Index column = tile * columns + across * G::width;
  const T *const x = static_cast<const T*>(at.in[0]), *const g =
                                                          static_cast<const T*>(at.in[G::centered ? 3 : 2]);
  const W *const mean = static_cast<const W*>(at.in[1]), *const rstd = static_cast<const W*>(
                                                             at.in[G::centered ? 2 : 1]);
  const bool aligned = is_aligned<G::width>(x) && is_aligned<G::width>(g);
  W gain[G::width], bias[G::width];
#pragma unroll
  for (int e = 0; e < G::width; ++e) gain[e] = bias[e] = 0;
  Index end = (slab + 1) * G::slab_rows;
  if (end > G::rows) end = G::rows;
  if (column < G::n) {
#pragma unroll 4
    for (Index r = slab * G::slab_rows + down; r < end; r += params_down) {
      T xs[G::width], gs[G::width];
      load(xs, x + r * G::n + column, aligned);
      load(gs, g + r * G::n + column, aligned);
      const W middle = G::centered ? mean[r] : W(0), scale = rstd[r];
#pragma unroll
      for (int e = 0; e < G::width; ++e) {
        const W slope = widened(gs[e]);
        gain[e] += slope * ((static_cast<W>(widened(xs[e])) - middle) * scale);
        bias[e] += slope;
      }
    }
  }
#pragma unroll
  for (int e = 0; e < G::width; ++e) {
    sums[0][down][across * G::width + e] = gain[e];
    if constexpr (G::centered) sums[1][down][across * G::width + e] = bias[e];
  }
  __syncthreads();
  W* const parts = static_cast<W*>(at.scratch);
  for (int i = thread; i < kinds * columns; i += params_across * params_down) {
    const int kind = i / columns, c = i % columns;
    if (tile * columns + c >= G::n) continue;
    W sum = sums[kind][0][c];
    for (int d = 1; d < params_down; ++d) sum += sums[kind][d][c];
    parts[(slab * kinds + kind) * G::n + tile * columns + c] = sum;
  }
}

template <class G>
void norm_params_totals(const typename G::Pointers& at) {
  using T = typename G::T;
  using W = compute_t<T>;
  using Index = typename G::Index;
  constexpr int kinds = G::centered ? 2 : 1;
  __shared__ W sums[params_down][params_across];
  const int thread = static_cast<int>(threadIdx.x), across = thread % params_across,
            down = thread / params_across;
  const Index i = static_cast<Index>(blockIdx.x) * params_across + across;  // of all columns of all kinds
  const W* const parts = static_cast<const W*>(at.scratch);
  W sum = 0;
  if (i < kinds * G::n) {
#pragma unroll 4
    for (Index slab = down; slab < G::slabs; slab += params_down) sum += parts[slab * kinds * G::n + i];
  }
  sums[down][across] = sum;
  __syncthreads();
  if (down != 0 || i >= kinds * G::n) return;
  for (int d = 1; d < params_down; ++d) sum += sums[d][across];
  // Places of parameters are known to the compiler, or it would copy them all.
  void* to = at.out[0];
  if constexpr (kinds == 2) to = i < G::n ? at.out[0] : at.out[1];
  static_cast<T*>(to)[i % G::n] = stored<T>(sum);
}

}  // namespace tidemark::cuda
