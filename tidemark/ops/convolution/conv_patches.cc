#include "tidemark/ops/convolution/conv_patches.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tidemark/kernel/tile_convert.h"

namespace tidemark {
namespace {

constexpr std::int64_t widest = gemm::widest.b;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Four elements `Step` apart; nothing beyond the last is read.
template <int Step, class S, class T>
void copy_four(const S* from, T* to) {
  if constexpr (std::is_same_v<S, T> && Step == 1) {
    std::memcpy(to, from, 4 * sizeof(T));
  } else if constexpr (std::is_same_v<S, float> && Step == 2) {
    typedef float Four __attribute__((vector_size(16)));
    Four a, b;
    std::memcpy(&a, from, 16);
    std::memcpy(&b, from + 3, 16);
    a = __builtin_shufflevector(a, b, 0, 2, 5, 7);
    std::memcpy(to, &a, 16);
  } else {
    for (int i = 0; i < 4; ++i) to[i] = static_cast<T>(from[i * Step]);
  }
}

// A walk over the points of all images, row by row.
class PointWalk {
 public:
  PointWalk(const PatchLattice& l, std::int64_t point, std::int64_t image_stride)
      : l_(l), image_stride_(image_stride) {
    const std::int64_t points = l.out_points(), within = point % points;
    image_ = point / points * image_stride;
    o_[2] = within % l.out[2], o_[1] = within / l.out[2] % l.out[1], o_[0] = within / (l.out[2] * l.out[1]);
  }
  // Points left in this row.
  std::int64_t left() const { return l_.out[2] - o_[2]; }
  std::int64_t image() const { return image_; }  // where it begins
  std::int64_t at(std::size_t d) const { return o_[d] * l_.stride[d] + l_.base[d]; }
  void advance(std::int64_t count) {  // up to the end of the row
    if ((o_[2] += count) < l_.out[2]) return;
    o_[2] = 0;
    if (++o_[1] < l_.out[1]) return;
    o_[1] = 0;
    if (++o_[0] < l_.out[0]) return;
    o_[0] = 0;
    image_ += image_stride_;
  }

 private:
  const PatchLattice& l_;
  std::int64_t image_stride_, image_;
  PatchLattice::Triple o_;
};

// Neighbouring points of one row: their source positions without any tap.
struct RowStretch {
  std::int64_t first, count;  // lanes or steps
  std::int64_t i0, i1, i2, image;
};

// What of a stretch lies inside of the source for one tap: points [begin, end) of it, the first of them at
// `from`.
struct Inside {
  std::int64_t begin, end, from;
};
Inside inside(const PatchLattice& l, const RowStretch& stretch, const PatchLattice::Triple& tap) {
  const std::int64_t i0 = stretch.i0 + tap[0], i1 = stretch.i1 + tap[1], i2 = stretch.i2 + tap[2];
  if (i0 < 0 || i0 >= l.in[0] || i1 < 0 || i1 >= l.in[1]) return {0, 0, 0};
  const std::int64_t step = l.stride[2];
  std::int64_t begin = 0, end = stretch.count;
  if (i2 < 0) begin = step == 1 ? -i2 : ceil_div(-i2, step);
  if (const std::int64_t room = l.in[2] - i2; room < (stretch.count - 1) * step + 1) {
    end = room <= 0 ? 0 : ceil_div(room, step);
  }
  if (begin >= end) return {0, 0, 0};
  return {begin, end, stretch.image + (i0 * l.in[1] + i1) * l.in[2] + i2 + begin * step};
}
PatchLattice::Triple tap_at(const PatchLattice& l, std::int64_t tap) {
  return {tap / (l.taps[1] * l.taps[2]) * l.step[0], tap / l.taps[2] % l.taps[1] * l.step[1],
          tap % l.taps[2] * l.step[2]};
}

RowStretch stretch_of(const PointWalk& walk, std::int64_t first, std::int64_t count) {
  return {first, count, walk.at(0), walk.at(1), walk.at(2), walk.image()};
}

// What makes one row of a panel, the same for every channel: four lanes at a time where they are evenly
// spaced in memory, and zeros.
struct RowCopies {
  struct Copy {
    std::int32_t to;
    std::int64_t from;
  };
  Copy fours[widest], ones[widest];
  std::int32_t zero_fours[widest], zeros[widest];
  int four_count = 0, one_count = 0, zero_four_count = 0, zero_count = 0;
  std::int64_t end = 0;      // of the lanes that are seen to
  std::int64_t longest = 0;  // stretch of lanes

  // Lanes come in order; what lies between is zero.
  void add(std::int64_t to, std::int64_t from, std::int64_t count, std::int64_t step) {
    if (count == 0) return;
    skip_to(to);
    end = to + count;
    longest = std::max(longest, count);
    const auto copy = [&](Copy* list, int& n, std::int64_t i) {
      list[n++] = {static_cast<std::int32_t>(to + i), from + i * step};
    };
    std::int64_t i = 0;
    if (step <= 2 && count >= 4) {
      for (; i + 4 <= count; i += 4) copy(fours, four_count, i);
      if (i < count) copy(fours, four_count, count - 4);  // some of the last again
      return;
    }
    for (; i < count; ++i) copy(ones, one_count, i);
  }
  void skip_to(std::int64_t lane) {
    for (; end + 4 <= lane; end += 4) zero_fours[zero_four_count++] = static_cast<std::int32_t>(end);
    for (; end < lane; ++end) zeros[zero_count++] = static_cast<std::int32_t>(end);
  }

  // Of one panel and tap. Neighbours across stretches are copied as one.
  void plan(const PatchLattice& l, const RowStretch* stretches, int stretch_count,
            const PatchLattice::Triple& tap, std::int64_t width) {
    std::int64_t lane = 0, at = 0, count = 0;
    for (int r = 0; r < stretch_count; ++r) {
      const Inside in = inside(l, stretches[r], tap);
      if (in.begin == in.end) continue;
      if (l.stride[2] == 1 && stretches[r].first + in.begin == lane + count && in.from == at + count) {
        count += in.end - in.begin;
        continue;
      }
      add(lane, at, count, l.stride[2]);
      lane = stretches[r].first + in.begin, at = in.from, count = in.end - in.begin;
    }
    add(lane, at, count, l.stride[2]);
    skip_to(width);
  }

  // All lanes are neighbours in memory.
  bool is_whole(std::int64_t width, std::int64_t step) const { return step == 1 && longest == width; }

  template <int Step, class S, class T>
  void run(const S* from, T* to) const {
    for (int i = 0; i < four_count; ++i) copy_four<Step>(from + fours[i].from, to + fours[i].to);
    for (int i = 0; i < one_count; ++i) to[ones[i].to] = static_cast<T>(from[ones[i].from]);
    const T four_zeros[4] = {};
    for (int i = 0; i < zero_four_count; ++i) copy_four<1>(four_zeros, to + zero_fours[i]);
    for (int i = 0; i < zero_count; ++i) to[zeros[i]] = T(0);
  }
};

// `count` rows of a panel, `to_step` apart, from channels `from_step` apart.
template <int Step, class S, class T>
void copy_rows(const RowCopies& copies, std::int64_t count, const S* from, std::int64_t from_step, T* to,
               std::int64_t to_step) {
  for (; count > 0; --count, from += from_step, to += to_step) copies.run<Step>(from, to);
}
// The same where all lanes are neighbours in memory.
template <int Width, class S, class T>
void copy_whole_rows(std::int64_t count, const S* from, std::int64_t from_step, T* to, std::int64_t to_step) {
  for (; count > 0; --count, from += from_step, to += to_step) {
    for (int i = 0; i < Width; i += 4) copy_four<1>(from + i, to + i);
  }
}

template <class S, class T>
void pack_points(const void* self, const gemm::Part& part, T* panels) {
  const auto& operand = *static_cast<const PointColumns<S>*>(self);
  const PatchLattice& l = operand.lattice;
  const std::int64_t plane = l.in_points(), taps = l.tap_count(), width = part.width;
  const std::int64_t image_stride = l.groups * l.channels * plane;
  const S* x = operand.x + part.batch / l.groups * image_stride + part.batch % l.groups * l.channels * plane;
  PointWalk walk(l, part.first, image_stride);
  for (std::int64_t first = 0; first < part.count; first += width, panels += width * part.depth) {
    const std::int64_t lanes = std::min(width, part.count - first);
    RowStretch stretches[widest];
    int stretch_count = 0;
    for (std::int64_t lane = 0; lane < lanes;) {
      const std::int64_t count = std::min(walk.left(), lanes - lane);
      stretches[stretch_count++] = stretch_of(walk, lane, count);
      walk.advance(count);
      lane += count;
    }
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t begin = std::max<std::int64_t>(0, ceil_div(part.k0 - tap, taps));
      const std::int64_t count = ceil_div(part.k0 + part.depth - tap, taps) - begin;
      if (count <= 0) continue;
      RowCopies copies;
      copies.plan(l, stretches, stretch_count, tap_at(l, tap), width);
      T* to = panels + (begin * taps + tap - part.k0) * width;
      const S* from = x + begin * plane;
      if (copies.is_whole(width, l.stride[2]) && width == 12) {
        copy_whole_rows<12>(count, from + copies.fours[0].from, plane, to, taps * width);
      } else if (copies.is_whole(width, l.stride[2]) && width == 16) {
        copy_whole_rows<16>(count, from + copies.fours[0].from, plane, to, taps * width);
      } else if (l.stride[2] == 2) {
        copy_rows<2>(copies, count, from, plane, to, taps * width);
      } else {
        copy_rows<1>(copies, count, from, plane, to, taps * width);
      }
    }
  }
}

// The column `index` of a matrix of patches: a tap of a channel, and how many columns on from it have the
// same tap.
struct PatchColumn {
  std::int64_t channel, tap, count;
};
PatchColumn patch_column(std::int64_t index, std::int64_t channels, std::int64_t taps, std::int64_t width) {
  const std::int64_t block = index / (taps * width), within = index - block * taps * width;
  const std::int64_t wide = std::min(width, channels - block * width);
  return {block * width + within % wide, within / wide, wide - within % wide};
}

template <class S, class T>
void pack_lanes(const S* from, std::int64_t plane, std::int64_t step, std::int64_t lanes, std::int64_t depth,
                std::int64_t width, T* to) {
  if constexpr (std::is_same_v<S, T>) {
    gemm::pack_rows<T>(from, plane, step, lanes, depth, width, to);
  } else {
    for (std::int64_t l = 0; l < depth; ++l) {
      for (std::int64_t i = 0; i < lanes; ++i) to[l * width + i] = static_cast<T>(from[i * plane + l * step]);
    }
  }
}
template <class T>
void clear_lanes(T* to, std::int64_t lanes, std::int64_t depth, std::int64_t width) {
  for (std::int64_t l = 0; l < depth; ++l) std::fill(to + l * width, to + l * width + lanes, T(0));
}

template <class S, class T>
void pack_patches(const void* self, const gemm::Part& part, T* panels) {
  const auto& operand = *static_cast<const PatchColumns<S>*>(self);
  const PatchLattice& l = operand.lattice;
  const std::int64_t plane = l.in_points(), taps = l.tap_count(), width = part.width;
  // What a column is does not depend on how wide this product packs: one of a single row packs otherwise than
  // most.
  const std::int64_t block_width = gemm::widths<T>().b;
  const S* x = operand.x + part.batch * l.channels * plane;
  for (std::int64_t first = 0; first < part.count; first += width, panels += width * part.depth) {
    const std::int64_t lanes = std::min(width, part.count - first);
    if (lanes < width) clear_lanes(panels + lanes, width - lanes, part.depth, width);
    for (std::int64_t lane = 0; lane < lanes;) {
      const PatchColumn column = patch_column(part.first + first + lane, l.channels, taps, block_width);
      const std::int64_t count = std::min(column.count, lanes - lane);
      const PatchLattice::Triple offset = tap_at(l, column.tap);
      const S* from = x + column.channel * plane;
      PointWalk walk(l, part.k0, l.groups * l.channels * plane);
      for (std::int64_t step = 0; step < part.depth;) {
        const RowStretch stretch = stretch_of(walk, step, std::min(walk.left(), part.depth - step));
        const Inside in = inside(l, stretch, offset);
        T* to = panels + step * width + lane;
        clear_lanes(to, count, in.begin, width);
        pack_lanes(from + in.from, plane, l.stride[2], count, in.end - in.begin, width,
                   to + in.begin * width);
        clear_lanes(to + in.end * width, count, stretch.count - in.end, width);
        walk.advance(stretch.count);
        step += stretch.count;
      }
      lane += count;
    }
  }
}

template <class S, class T>
void put(const T* from, std::int64_t count, S* to) {
  if constexpr (std::is_same_v<S, T>) {
    std::copy(from, from + count, to);
  } else {
    tile_store(dtype_of<S>)(reinterpret_cast<const std::byte*>(from), count,
                            reinterpret_cast<std::byte*>(to));
  }
}

template <class S, class T>
void finish_points(const void* self, const gemm::Finished<T>& piece) {
  const auto& results = *static_cast<const PointResults<S>*>(self);
  const ResultLattice& l = results.lattice;
  const std::int64_t points = PatchLattice::product(l.size);
  const std::int64_t row_length = l.is_whole() ? points : l.size[2];  // of what lies together
  for (std::int64_t j = 0; j < piece.cols;) {
    const std::int64_t image = (piece.col + j) / points, point = (piece.col + j) % points;
    const std::int64_t count = std::min(row_length - point % row_length, piece.cols - j);
    const std::int64_t at = l.is_whole() ? point
                                         : l.first + point / (l.size[2] * l.size[1]) * l.stride[0] +
                                               point / l.size[2] % l.size[1] * l.stride[1] +
                                               point % l.size[2] * l.stride[2];
    S* to =
        results.y + ((image * results.groups + piece.batch) * results.channels + piece.row) * l.plane + at;
    const T* from = piece.data + j;
    for (std::int64_t i = 0; i < piece.rows; ++i, to += l.plane, from += piece.ld) {
      if (l.is_whole() || l.stride[2] == 1) {
        put(from, count, to);
      } else {
        for (std::int64_t q = 0; q < count; ++q) to[q * l.stride[2]] = static_cast<S>(from[q]);
      }
    }
    j += count;
  }
}

// A block of channels: taps of channels become channels of taps. `Taps` 0: any number.
template <int Taps, class S, class T>
void turn_block(const T* from, std::int64_t channels, std::int64_t taps, S* to) {
  if (Taps > 0) taps = Taps;
  for (std::int64_t c = 0; c < channels; ++c) {
#pragma GCC unroll 9
    for (std::int64_t tap = 0; tap < taps; ++tap)
      to[c * taps + tap] = static_cast<S>(from[tap * channels + c]);
  }
}

template <class S, class T>
void finish_patches(const void* self, const gemm::Finished<T>& piece) {
  const auto& results = *static_cast<const PatchResults<S>*>(self);
  const std::int64_t taps = results.taps, width = gemm::widths<T>().b, block = taps * width;
  const std::int64_t whole = results.channels / width * block;  // where the last, narrower block begins
  for (std::int64_t i = 0; i < piece.rows; ++i) {
    S* row = results.w + (piece.batch * results.outputs + piece.row + i) * results.channels * taps;
    const T* from = piece.data + i * piece.ld - piece.col;
    for (std::int64_t j = piece.col; j < piece.col + piece.cols;) {
      if (j % block == 0 && j < whole && j + block <= piece.col + piece.cols) {
        taps == 9 ? turn_block<9>(from + j, width, taps, row + j)
                  : turn_block<0>(from + j, width, taps, row + j);
        j += block;
        continue;
      }
      const PatchColumn column = patch_column(j, results.channels, taps, width);
      const std::int64_t count = std::min(column.count, piece.col + piece.cols - j);
      S* to = row + column.channel * taps + column.tap;
      for (std::int64_t q = 0; q < count; ++q) to[q * taps] = static_cast<S>(from[j + q]);
      j += count;
    }
  }
}

}  // namespace

template <class S>
gemm::Source<compute_t<S>> PointColumns<S>::source() const {
  return {.pack = pack_points<S, compute_t<S>>, .self = this};
}
template <class S>
gemm::Source<compute_t<S>> PatchColumns<S>::source() const {
  return {.pack = pack_patches<S, compute_t<S>>, .self = this};
}
template <class S>
gemm::Epilogue<compute_t<S>> PointResults<S>::epilogue() const {
  return {.finish = finish_points<S, compute_t<S>>, .self = this};
}
template <class S>
gemm::Epilogue<compute_t<S>> PatchResults<S>::epilogue() const {
  return {.finish = finish_patches<S, compute_t<S>>, .self = this};
}

#define TM_PATCHES(S)              \
  template struct PointColumns<S>; \
  template struct PatchColumns<S>; \
  template struct PointResults<S>; \
  template struct PatchResults<S>;
TM_PATCHES(float)
TM_PATCHES(double)
TM_PATCHES(BFloat16)
TM_PATCHES(Float16)
#undef TM_PATCHES

}  // namespace tidemark
