// Convolutions and their gradients (ops/convolution/conv.h) as products of matrices whose elements are found
// while tiles are loaded, so that no matrix of patches is in memory. For what cuDNN does not take, and for
// machines without it. Every sum is in an order that follows from the shapes alone.
#pragma once
#include "tidemark/cuda/device/chunks.h"

namespace tidemark::cuda {

inline constexpr int conv_tile = 64;   // rows and columns of a block of threads
inline constexpr int conv_depth = 16;  // of a step
inline constexpr int conv_threads = 256;

// What follows is a group's product. G has the sizes and strides; `at` are offsets of elements.
template <class G>
struct ConvOffsets {
  using Index = typename G::Index;
  static Index x(Index n, Index channel, Index i0, Index i1, Index i2) {
    return n * G::x_n + channel * G::x_c + i0 * G::x_0 + i1 * G::x_1 + i2 * G::x_2;
  }
  static Index y(Index n, Index channel, Index p0, Index p1, Index p2) {
    return n * G::y_n + channel * G::y_c + p0 * G::y_0 + p1 * G::y_1 + p2 * G::y_2;
  }
  static Index w(Index out, Index channel, Index k0, Index k1, Index k2) {
    return out * G::w_o + channel * G::w_c + k0 * G::w_0 + k1 * G::w_1 + k2 * G::w_2;
  }
};

template <class Index>
struct ConvPlace {
  Index n, i0, i1, i2;
};
template <class Index>
ConvPlace<Index> conv_place(Index i, Index size0, Index size1, Index size2) {
  return {i / (size0 * size1 * size2), i / (size1 * size2) % size0, i / size2 % size1, i % size2};
}
// Tap and channel, the channel running fast.
template <class G>
struct ConvTap {
  using Index = typename G::Index;
  Index channel, k0, k1, k2;
  ConvTap(Index depth, Index channels)
      : channel(depth % channels),
        k0(depth / channels / (G::kernel1 * G::kernel2)),
        k1(depth / channels / G::kernel2 % G::kernel1),
        k2(depth / channels % G::kernel2) {}
};

template <class G>
struct ConvForward {
  using Index = typename G::Index;
  using T = typename G::T;
  using Sum = typename G::Sum;
  static constexpr Index rows = G::batch * G::out0 * G::out1 * G::out2, columns = G::group_out,
                         depth = G::taps * G::group_in;
  static Sum left(const typename G::Pointers& at, Index group, Index row, Index d) {
    const ConvPlace<Index> p = conv_place<Index>(row, G::out0, G::out1, G::out2);
    const ConvTap<G> tap(d, G::group_in);
    const Index i0 = p.i0 * G::stride0 + tap.k0 * G::dilation0 - G::low0,
                i1 = p.i1 * G::stride1 + tap.k1 * G::dilation1 - G::low1,
                i2 = p.i2 * G::stride2 + tap.k2 * G::dilation2 - G::low2;
    if (i0 < 0 || i0 >= G::in0 || i1 < 0 || i1 >= G::in1 || i2 < 0 || i2 >= G::in2) return 0;
    return static_cast<Sum>(widened(static_cast<const T*>(
        at.in[0])[ConvOffsets<G>::x(p.n, group * G::group_in + tap.channel, i0, i1, i2)]));
  }
  static Sum right(const typename G::Pointers& at, Index group, Index d, Index column) {
    const ConvTap<G> tap(d, G::group_in);
    return static_cast<Sum>(widened(static_cast<const T*>(
        at.in[1])[ConvOffsets<G>::w(group * G::group_out + column, tap.channel, tap.k0, tap.k1, tap.k2)]));
  }
  static Index result(Index group, Index row, Index column) {
    const ConvPlace<Index> p = conv_place<Index>(row, G::out0, G::out1, G::out2);
    return ConvOffsets<G>::y(p.n, group * G::group_out + column, p.i0, p.i1, p.i2);
  }
};

template <class G>
struct ConvInputGrad {
  using Index = typename G::Index;
  using T = typename G::T;
  using Sum = typename G::Sum;
  static constexpr Index rows = G::batch * G::in0 * G::in1 * G::in2, columns = G::group_in,
                         depth = G::taps * G::group_out;
  // The output that meets input i at the tap; -1: none does.
  static Index met(Index i, Index k, Index stride, Index dilation, Index low, Index out) {
    const Index from = i + low - k * dilation;
    return from < 0 || from % stride != 0 || from / stride >= out ? -1 : from / stride;
  }
  static Sum left(const typename G::Pointers& at, Index group, Index row, Index d) {
    const ConvPlace<Index> i = conv_place<Index>(row, G::in0, G::in1, G::in2);
    const ConvTap<G> tap(d, G::group_out);
    const Index p0 = met(i.i0, tap.k0, G::stride0, G::dilation0, G::low0, G::out0),
                p1 = met(i.i1, tap.k1, G::stride1, G::dilation1, G::low1, G::out1),
                p2 = met(i.i2, tap.k2, G::stride2, G::dilation2, G::low2, G::out2);
    if (p0 < 0 || p1 < 0 || p2 < 0) return 0;
    return static_cast<Sum>(widened(static_cast<const T*>(
        at.in[0])[ConvOffsets<G>::y(i.n, group * G::group_out + tap.channel, p0, p1, p2)]));
  }
  static Sum right(const typename G::Pointers& at, Index group, Index d, Index column) {
    const ConvTap<G> tap(d, G::group_out);
    return static_cast<Sum>(widened(static_cast<const T*>(
        at.in[1])[ConvOffsets<G>::w(group * G::group_out + tap.channel, column, tap.k0, tap.k1, tap.k2)]));
  }
  static Index result(Index group, Index row, Index column) {
    const ConvPlace<Index> i = conv_place<Index>(row, G::in0, G::in1, G::in2);
    return ConvOffsets<G>::x(i.n, group * G::group_in + column, i.i0, i.i1, i.i2);
  }
};

// The transpose of the forward product's left side, with the gradients of the results on its left.
template <class G>
struct ConvWeightGrad {
  using Index = typename G::Index;
  using T = typename G::T;
  using Sum = typename G::Sum;
  static constexpr Index rows = G::group_out, columns = G::taps * G::group_in,
                         depth = G::batch * G::out0 * G::out1 * G::out2;
  static Sum left(const typename G::Pointers& at, Index group, Index row, Index d) {
    const ConvPlace<Index> p = conv_place<Index>(d, G::out0, G::out1, G::out2);
    return static_cast<Sum>(widened(static_cast<const T*>(
        at.in[1])[ConvOffsets<G>::y(p.n, group * G::group_out + row, p.i0, p.i1, p.i2)]));
  }
  static Sum right(const typename G::Pointers& at, Index group, Index d, Index column) {
    return ConvForward<G>::left(at, group, d, column);
  }
  static Index result(Index group, Index row, Index column) {
    const ConvTap<G> tap(column, G::group_in);
    return ConvOffsets<G>::w(group * G::group_out + row, tap.channel, tap.k0, tap.k1, tap.k2);
  }
};

template <class G>
using ConvProduct = std::conditional_t<G::part == 0, ConvForward<G>,
                                       std::conditional_t<G::part == 1, ConvInputGrad<G>, ConvWeightGrad<G>>>;

// A tile of the product for each block of threads; of several slabs of the depth each has blocks of its own,
// and its sums go to scratch.
template <class G>
void convolve_tiles(const typename G::Pointers& at) {
  using P = ConvProduct<G>;
  using Index = typename G::Index;
  using T = typename G::T;
  using Sum = typename G::Sum;
  constexpr int tile = conv_tile, pitch = tile + 1, own = 4, lanes = tile / own;
  constexpr Index tiles_m = (P::rows + tile - 1) / tile, tiles_n = (P::columns + tile - 1) / tile;
  __shared__ Sum left[conv_depth * pitch], right[conv_depth * pitch];
  const int thread = static_cast<int>(threadIdx.x), across = thread % lanes, down = thread / lanes;
  Index block = static_cast<Index>(blockIdx.x);
  const Index j0 = block % tiles_n * tile;
  block /= tiles_n;
  const Index i0 = block % tiles_m * tile;
  block /= tiles_m;
  const Index slab = block % G::slabs, group = block / G::slabs;
  const Index begin = slab * G::slab_depth;
  const Index end = begin + G::slab_depth < P::depth ? begin + G::slab_depth : P::depth;
  Sum sum[own][own] = {};
  for (Index k0 = begin; k0 < end; k0 += conv_depth) {
    for (int e = thread; e < conv_depth * tile; e += conv_threads) {
      // Neighbouring threads load what lies side by side.
      const int along = e % tile, d = e / tile, d_fast = e % conv_depth, along_slow = e / conv_depth;
      const int ld = G::left_by_depth ? d_fast : d, row = G::left_by_depth ? along_slow : along;
      left[ld * pitch + row] =
          i0 + row < P::rows && k0 + ld < end ? P::left(at, group, i0 + row, k0 + ld) : Sum(0);
      const int rd = G::right_by_depth ? d_fast : d, column = G::right_by_depth ? along_slow : along;
      right[rd * pitch + column] =
          j0 + column < P::columns && k0 + rd < end ? P::right(at, group, k0 + rd, j0 + column) : Sum(0);
    }
    __syncthreads();
    for (int d = 0; d < conv_depth; ++d) {
      for (int a = 0; a < own; ++a) {
        const Sum l = left[d * pitch + down + a * lanes];
        for (int b = 0; b < own; ++b) sum[a][b] += l * right[d * pitch + across + b * lanes];
      }
    }
    __syncthreads();
  }
  for (int a = 0; a < own; ++a) {
    for (int b = 0; b < own; ++b) {
      const Index row = i0 + down + a * lanes, column = j0 + across + b * lanes;
      if (row >= P::rows || column >= P::columns) continue;
      const Index to = P::result(group, row, column);
      if constexpr (G::slabs > 1) {
        static_cast<Sum*>(at.scratch)[slab * G::count + to] = sum[a][b];
      } else {
        static_cast<T*>(at.out[0])[to] = stored<T>(sum[a][b]);
      }
    }
  }
}

// The slabs' sums, in order.
template <class G>
void convolve_totals(const typename G::Pointers& at) {
  using Index = typename G::Index;
  const Turns<G> turns;
  for (Index i = turns.first; i < G::count; i += turns.step) {
    typename G::Sum sum = 0;
    for (Index slab = 0; slab < G::slabs; ++slab)
      sum += static_cast<const typename G::Sum*>(at.scratch)[slab * G::count + i];
    static_cast<typename G::T*>(at.out[0])[i] = stored<typename G::T>(sum);
  }
}

// Groups of few channels: a thread for each element of the result.
template <class G>
void convolve_elements(const typename G::Pointers& at) {
  using P = ConvProduct<G>;
  using Index = typename G::Index;
  using T = typename G::T;
  constexpr Index channels = G::groups * P::columns, points = P::rows / (G::batch > 0 ? G::batch : 1);
  const Turns<G> turns;
  for (Index i = turns.first; i < G::count; i += turns.step) {
    const Index channel = G::channels_last ? i % channels : i / points % channels;
    const Index row = G::channels_last ? i / channels : i / (points * channels) * points + i % points;
    const Index group = channel / P::columns, column = channel % P::columns;
    typename G::Sum sum = 0;
    for (Index d = 0; d < P::depth; ++d) sum += P::left(at, group, row, d) * P::right(at, group, d, column);
    static_cast<T*>(at.out[0])[P::result(group, row, column)] = stored<T>(sum);
  }
}

}  // namespace tidemark::cuda
