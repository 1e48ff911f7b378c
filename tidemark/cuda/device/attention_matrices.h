// The parts of attention on tensor cores: rows of 16-bit elements in the block's memory, products of them,
// and what a warp holds of a block of scores.
//
//   a warp: 16 × tiles rows of one side (queries or keys), which it alone works on
//           × blocks of rows of the other side, which all warps of the block share
//
// Scores never leave the registers: as the accumulators of one product (lane l: rows l / 4 and 8 more,
// columns 2 (l % 4) and the next of each 8) they are, rounded, the left factor of the next.
#pragma once
#include "tidemark/cuda/device/attention.h"
#include "tidemark/cuda/device/attention_sizes.h"

namespace tidemark::cuda {

inline constexpr int matrix_threads = MatrixSizes::threads;
template <class F>
inline constexpr int padded_width = MatrixSizes{F::width}.padded();
template <class F>
inline constexpr int row_bytes = MatrixSizes{F::width}.row_bytes();

inline int lane_number() { return static_cast<int>(threadIdx.x) % 32; }
inline int warp_number() { return static_cast<int>(threadIdx.x) / 32; }

// The address that a lane gives for four matrices: of 16 rows by 16 columns as a left factor or as a
// transposed right one (first the rows, then the columns), or of 16 rows as columns of a right factor (first
// the columns).
template <class F>
int rows_first() {
  return lane_number() % 16 * row_bytes<F> + lane_number() / 16 * 16;
}
template <class F>
int columns_first() {
  return (lane_number() % 8 + lane_number() / 16 * 8) * row_bytes<F> + lane_number() / 8 % 2 * 16;
}

// May rows be accessed in 16 bytes?
template <class F>
bool in_quads(const HeadRows<typename F::Element>& x) {
  return F::width % 8 == 0 && x.row_step % 8 == 0 && x.column_step == 1 && is_aligned<8>(x.first);
}

// Asks for rows [first, first + count) of a head with `rows` of them; zeros where there is none.
template <class F, int count, int rows>
void load_rows(SharedPlace to, const HeadRows<typename F::Element>& head, int first) {
  constexpr int quads = padded_width<F> / 8, turns = (count * quads + matrix_threads - 1) / matrix_threads;
  const int thread = static_cast<int>(threadIdx.x);
  if (in_quads<F>(head)) {
    // Each turn moves on by the same whole number of rows, mostly: addresses differ by constants.
    constexpr bool even = matrix_threads % quads == 0 && count * quads % matrix_threads == 0;
    const typename F::Element* const from = head.row(first + thread / quads) + thread % quads * 8;
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const int n = turn * matrix_threads + thread;
      const int row = even ? turn * (matrix_threads / quads) + thread / quads : n / quads;
      const int c = (even ? thread : n) % quads * 8;
      if (!even && row >= count) break;
      const bool inside =
          (rows % count == 0 || first + row < rows) && (F::width == padded_width<F> || c < F::width);
      copy_quad(to + row * row_bytes<F> + c * 2,
                even ? from + turn * (matrix_threads / quads) * head.row_step : head.row(first + row) + c,
                inside);
    }
  } else {
#pragma unroll 1
    for (int n = thread; n < count * quads; n += matrix_threads) {
      const int row = n / quads, c = n % quads * 8;
      unsigned quad[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const int d = c + 2 * w;
        const bool inside = first + row < rows;
        const unsigned low = inside && d < F::width ? head.at(first + row, d).bits : 0u;
        const unsigned high = inside && d + 1 < F::width ? head.at(first + row, d + 1).bits : 0u;
        quad[w] = low | high << 16;
      }
      store_quad(to + row * row_bytes<F> + c * 2, quad);
    }
  }
}
// Numbers [first, first + count) of `rows`, one per query.
template <int count>
void load_numbers(SharedPlace to, const float* from, int first, int rows) {
  const int n = static_cast<int>(threadIdx.x);
  const bool inside = first + n < rows;
  if (n < count) copy_word(to + n * 4, inside ? from + first + n : from, inside);
}

// c = a bᵀ: `a` the warp's rows, `b` the rows of the other side, both in the block's memory.
template <class F, int tiles, int columns>
void make_scores(float (&c)[tiles][columns / 8][4], SharedPlace a, SharedPlace b) {
#pragma unroll
  for (int m = 0; m < tiles; ++m) {
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) c[m][n][e] = 0;
    }
  }
  a += rows_first<F>();
  b += columns_first<F>();
#pragma unroll
  for (int k = 0; k < padded_width<F> / 16; ++k) {
    unsigned left[tiles][4];
#pragma unroll
    for (int m = 0; m < tiles; ++m) load_matrices(left[m], a + m * 16 * row_bytes<F> + k * 32);
#pragma unroll
    for (int n = 0; n < columns / 16; ++n) {
      unsigned right[4];
      load_matrices(right, b + n * 16 * row_bytes<F> + k * 32);
#pragma unroll
      for (int m = 0; m < tiles; ++m) {
        multiply_add<typename F::Element>(c[m][2 * n], left[m], right[0], right[1]);
        multiply_add<typename F::Element>(c[m][2 * n + 1], left[m], right[2], right[3]);
      }
    }
  }
}

// Scores as they are multiplied: rounded, as left factors of 16 columns each.
template <class F, int tiles, int columns>
void round_scores(unsigned (&to)[tiles][columns / 16][4], const float (&from)[tiles][columns / 8][4]) {
  using T = typename F::Element;
#pragma unroll
  for (int m = 0; m < tiles; ++m) {
#pragma unroll
    for (int k = 0; k < columns / 16; ++k) {
      to[m][k][0] = packed<T>(from[m][2 * k][0], from[m][2 * k][1]);
      to[m][k][1] = packed<T>(from[m][2 * k][2], from[m][2 * k][3]);
      to[m][k][2] = packed<T>(from[m][2 * k + 1][0], from[m][2 * k + 1][1]);
      to[m][k][3] = packed<T>(from[m][2 * k + 1][2], from[m][2 * k + 1][3]);
    }
  }
}

// c += a b: `a` of rounded scores, `b` the rows of the other side, from one column on.
template <class F, int tiles, int columns, int width>
void add_product(float (&c)[tiles][width / 8][4], const unsigned (&a)[tiles][columns / 16][4],
                 SharedPlace b) {
  b += rows_first<F>();
#pragma unroll
  for (int k = 0; k < columns / 16; ++k) {
#pragma unroll
    for (int d = 0; d < width / 16; ++d) {
      unsigned right[4];
      load_transposed(right, b + k * 16 * row_bytes<F> + d * 32);
#pragma unroll
      for (int m = 0; m < tiles; ++m) {
        multiply_add<typename F::Element>(c[m][2 * d], a[m][k], right[0], right[1]);
        multiply_add<typename F::Element>(c[m][2 * d + 1], a[m][k], right[2], right[3]);
      }
    }
  }
}

// Writes `width` columns from `first` on of the warp's rows, each times factors[tile][half], by way of
// `room`: as many rows of the block's memory, which nobody else reads. `rows`: how many of them there are.
template <class F, int tiles, int width>
void write_rows(typename F::Element* to, const float (&c)[tiles][width / 8][4],
                const float (&factors)[tiles][2], SharedPlace room, int first, int rows) {
  using T = typename F::Element;
  const int lane = lane_number();
  sync_warp();
#pragma unroll
  for (int m = 0; m < tiles; ++m) {
#pragma unroll
    for (int n = 0; n < width / 8; ++n) {
      const SharedPlace place = room + (m * 16 + lane / 4) * row_bytes<F> + (n * 8 + lane % 4 * 2) * 2;
      store_word(place, packed<T>(c[m][n][0] * factors[m][0], c[m][n][1] * factors[m][0]));
      store_word(place + 8 * row_bytes<F>, packed<T>(c[m][n][2] * factors[m][1], c[m][n][3] * factors[m][1]));
    }
  }
  sync_warp();
  const bool aligned = in_quads<F>({to, F::width, 1});
  constexpr int quads = width / 8;
  for (int n = lane; n < 16 * tiles * quads; n += 32) {
    const int row = n / quads, c8 = n % quads * 8;
    if (row >= rows || first + c8 >= F::width) continue;
    unsigned quad[4];
    load_quad(quad, room + row * row_bytes<F> + c8 * 2);
    T* at = to + static_cast<long long>(row) * F::width + first + c8;
    if (aligned) {
      *reinterpret_cast<Pack<4, unsigned>*>(at) = {quad[0], quad[1], quad[2], quad[3]};
    } else {
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        if (first + c8 + e < F::width) at[e].bits = static_cast<std::uint16_t>(quad[e / 2] >> e % 2 * 16);
      }
    }
  }
}

// What dropout keeps of 16 rows by 8 columns of scores that the warp holds: bit e for number e of this lane's
// four. One thread draws the bits of four keys for all that need them, where four keys are always one draw.
// Queries are the rows, from i on; keys the columns, from j on.
template <class F>
unsigned kept_by_query(const Keeper<F>& keeper, int head, int i, int j) {
  const int lane = lane_number(), row = i + lane / 4, t = lane % 4;
  unsigned kept = 0;
  if constexpr (F::keys % 4 == 0) {
    const unsigned bits = keeper.four_bits(head, row + t % 2 * 8, j + t / 2 * 4);
    kept = (from_lane(bits, lane & ~1) >> t % 2 * 2 & 3) | (from_lane(bits, lane | 1) >> t % 2 * 2 & 3) << 2;
  } else {
    for (int e = 0; e < 4; ++e)
      kept |= static_cast<unsigned>(keeper.keeps(head, row + e / 2 * 8, j + t * 2 + e % 2)) << e;
  }
  return kept;
}
// Keys are the rows, from j on; queries the columns, from i on.
template <class F>
unsigned kept_by_key(const Keeper<F>& keeper, int head, int i, int j) {
  const int lane = lane_number(), row = lane / 4, query = i + lane % 4 * 2;
  unsigned kept = 0;
  if constexpr (F::keys % 4 == 0) {
    const int mine = row % 4;  // which of the four numbers of a lane this one draws for the lanes of its keys
    const unsigned bits = keeper.four_bits(head, query + mine % 2, j + row / 4 * 4 + mine / 2 * 8);
#pragma unroll
    for (int e = 0; e < 4; ++e) kept |= (from_lane(bits, (lane & ~12) | e * 4) >> row % 4 & 1) << e;
  } else {
    for (int e = 0; e < 4; ++e)
      kept |= static_cast<unsigned>(keeper.keeps(head, query + e % 2, j + row + e / 2 * 8)) << e;
  }
  return kept;
}

}  // namespace tidemark::cuda
