#include "tidemark/ops/conv_patches.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tidemark/kernel/tile_convert.h"

namespace tidemark {
namespace {

constexpr std::int64_t widest = gemm::widest.b;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class S, class T>
void copy_four(const S* from, T* to) {
  if constexpr (std::is_same_v<S, T>) {
    std::memcpy(to, from, 4 * sizeof(T));
  } else {
    for (int i = 0; i < 4; ++i) to[i] = static_cast<T>(from[i]);
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
struct Run {
  std::int64_t first, count;  // lanes or steps
  std::int64_t i0, i1, i2, image;
};

// What of a run lies inside of the source for one tap: points [begin, end) of it, the first of them at `from`.
struct Inside {
  std::int64_t begin, end, from;
};
Inside inside(const PatchLattice& l, const Run& run, const PatchLattice::Triple& tap) {
  const std::int64_t i0 = run.i0 + tap[0], i1 = run.i1 + tap[1], i2 = run.i2 + tap[2];
  if (i0 < 0 || i0 >= l.in[0] || i1 < 0 || i1 >= l.in[1]) return {0, 0, 0};
  const std::int64_t step = l.stride[2];
  std::int64_t begin = 0, end = run.count;
  if (i2 < 0) begin = step == 1 ? -i2 : ceil_div(-i2, step);
  if (const std::int64_t room = l.in[2] - i2; room < (run.count - 1) * step + 1) {
    end = room <= 0 ? 0 : ceil_div(room, step);
  }
  if (begin >= end) return {0, 0, 0};
  return {begin, end, run.image + (i0 * l.in[1] + i1) * l.in[2] + i2 + begin * step};
}
PatchLattice::Triple tap_at(const PatchLattice& l, std::int64_t tap) {
  return {tap / (l.taps[1] * l.taps[2]) * l.step[0], tap / l.taps[2] % l.taps[1] * l.step[1],
          tap % l.taps[2] * l.step[2]};
}

Run run_of(const PointWalk& walk, std::int64_t first, std::int64_t count) {
  return {first, count, walk.at(0), walk.at(1), walk.at(2), walk.image()};
}

// The copies that make one row of a panel, the same for every channel: four neighbours at a time where they are.
struct RowCopies {
  struct Copy {
    std::int32_t to;
    std::int64_t from;
  };
  Copy fours[widest], ones[widest];
  int four_count = 0, one_count = 0;
  std::int64_t covered = 0;

  void add(std::int64_t to, std::int64_t from, std::int64_t count, std::int64_t step) {
    covered += count;
    std::int64_t i = 0;
    if (step == 1 && count >= 4) {
      for (; i + 4 <= count; i += 4) fours[four_count++] = {static_cast<std::int32_t>(to + i), from + i};
      if (i < count)  // the last four again
        fours[four_count++] = {static_cast<std::int32_t>(to + count - 4), from + count - 4};
      return;
    }
    for (; i < count; ++i) ones[one_count++] = {static_cast<std::int32_t>(to + i), from + i * step};
  }
};

// Rows `count` of a panel, `to_step` apart, from channels `from_step` apart.
template <class S, class T>
void copy_rows(const RowCopies& copies, std::int64_t width, std::int64_t count, const S* from,
               std::int64_t from_step, T* to, std::int64_t to_step) {
  const bool zeros = copies.covered < width;
  for (; count > 0; --count, from += from_step, to += to_step) {
    if (zeros) std::fill(to, to + width, T(0));
    for (int i = 0; i < copies.four_count; ++i)
      copy_four(from + copies.fours[i].from, to + copies.fours[i].to);
    for (int i = 0; i < copies.one_count; ++i)
      to[copies.ones[i].to] = static_cast<T>(from[copies.ones[i].from]);
  }
}
// One run of neighbours: as wide as the panel.
template <int Width, class S, class T>
void copy_whole_rows(std::int64_t count, const S* from, std::int64_t from_step, T* to, std::int64_t to_step) {
  for (; count > 0; --count, from += from_step, to += to_step) {
    for (int i = 0; i < Width; i += 4) copy_four(from + i, to + i);
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
    Run runs[widest];
    int run_count = 0;
    for (std::int64_t lane = 0; lane < lanes;) {
      const std::int64_t count = std::min(walk.left(), lanes - lane);
      runs[run_count++] = run_of(walk, lane, count);
      walk.advance(count);
      lane += count;
    }
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t begin = std::max<std::int64_t>(0, ceil_div(part.k0 - tap, taps));
      const std::int64_t end = ceil_div(part.k0 + part.depth - tap, taps);
      if (begin >= end) continue;
      const PatchLattice::Triple offset = tap_at(l, tap);
      T* to = panels + (begin * taps + tap - part.k0) * width;
      const S* from = x + begin * plane;
      if (run_count == 1 && l.stride[2] == 1) {
        const Inside in = inside(l, runs[0], offset);
        if (in.begin == 0 && in.end == width) {
          switch (width) {
            case 8:
              copy_whole_rows<8>(end - begin, from + in.from, plane, to, taps * width);
              continue;
            case 12:
              copy_whole_rows<12>(end - begin, from + in.from, plane, to, taps * width);
              continue;
            case 16:
              copy_whole_rows<16>(end - begin, from + in.from, plane, to, taps * width);
              continue;
            case 32:
              copy_whole_rows<32>(end - begin, from + in.from, plane, to, taps * width);
              continue;
            default:
              break;
          }
        }
      }
      RowCopies copies;
      std::int64_t lane = 0, at = 0, count = 0;  // neighbours across runs are copied as one
      for (int r = 0; r < run_count; ++r) {
        const Inside in = inside(l, runs[r], offset);
        if (in.begin == in.end) continue;
        if (l.stride[2] == 1 && runs[r].first + in.begin == lane + count && in.from == at + count) {
          count += in.end - in.begin;
          continue;
        }
        copies.add(lane, at, count, l.stride[2]);
        lane = runs[r].first + in.begin, at = in.from, count = in.end - in.begin;
      }
      copies.add(lane, at, count, l.stride[2]);
      copy_rows(copies, width, end - begin, from, plane, to, taps * width);
    }
  }
}

// The column `index` of a matrix of patches: a tap of a channel, and how many columns on from it have the same tap.
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
  const S* x = operand.x + part.batch * l.channels * plane;
  for (std::int64_t first = 0; first < part.count; first += width, panels += width * part.depth) {
    const std::int64_t lanes = std::min(width, part.count - first);
    if (lanes < width) clear_lanes(panels + lanes, width - lanes, part.depth, width);
    for (std::int64_t lane = 0; lane < lanes;) {
      const PatchColumn column = patch_column(part.first + first + lane, l.channels, taps, width);
      const std::int64_t count = std::min(column.count, lanes - lane);
      const PatchLattice::Triple offset = tap_at(l, column.tap);
      const S* from = x + column.channel * plane;
      PointWalk walk(l, part.k0, l.groups * l.channels * plane);
      for (std::int64_t step = 0; step < part.depth;) {
        const Run run = run_of(walk, step, std::min(walk.left(), part.depth - step));
        const Inside in = inside(l, run, offset);
        T* to = panels + step * width + lane;
        clear_lanes(to, count, in.begin, width);
        pack_lanes(from + in.from, plane, l.stride[2], count, in.end - in.begin, width,
                   to + in.begin * width);
        clear_lanes(to + in.end * width, count, run.count - in.end, width);
        walk.advance(run.count);
        step += run.count;
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

template <class S, class T>
void finish_patches(const void* self, const gemm::Finished<T>& piece) {
  const auto& results = *static_cast<const PatchResults<S>*>(self);
  const std::int64_t width = gemm::widths<T>().b, taps = results.taps;
  for (std::int64_t i = 0; i < piece.rows; ++i) {
    S* row = results.w + (piece.batch * results.outputs + piece.row + i) * results.channels * taps;
    const T* from = piece.data + i * piece.ld;
    for (std::int64_t j = 0; j < piece.cols;) {
      const PatchColumn column = patch_column(piece.col + j, results.channels, taps, width);
      const std::int64_t count = std::min(column.count, piece.cols - j);
      S* to = row + column.channel * taps + column.tap;
      if (taps == 1) {
        put(from + j, count, to);
      } else {
        for (std::int64_t q = 0; q < count; ++q) to[q * taps] = static_cast<S>(from[j + q]);
      }
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
