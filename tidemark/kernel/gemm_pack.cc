// Packing strided memory into panels: copies where rows of the panel are contiguous, transposes where the
// depth is.
#include <algorithm>
#include <array>
#include <cstring>

#include "tidemark/base/check.h"
#include "tidemark/kernel/gemm.h"
#include "tidemark/kernel/tile_convert.h"

namespace tidemark::gemm {
namespace {

typedef float F4 __attribute__((vector_size(16)));
typedef double D2 __attribute__((vector_size(16)));

template <class V, class T>
V load(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
template <class V, class T>
void store(V v, T* to) {
  std::memcpy(to, &v, sizeof(v));
}

// 4 rows by 4 steps (2 by 2) become 4 steps by 4 rows.
void transpose(const float* from, std::int64_t row, float* to, std::int64_t width) {
  const F4 a = load<F4>(from), b = load<F4>(from + row), c = load<F4>(from + 2 * row),
           d = load<F4>(from + 3 * row);
  const F4 ab = __builtin_shufflevector(a, b, 0, 4, 2, 6), ab_odd = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const F4 cd = __builtin_shufflevector(c, d, 0, 4, 2, 6), cd_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  store(__builtin_shufflevector(ab, cd, 0, 1, 4, 5), to);
  store(__builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5), to + width);
  store(__builtin_shufflevector(ab, cd, 2, 3, 6, 7), to + 2 * width);
  store(__builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7), to + 3 * width);
}
void transpose(const double* from, std::int64_t row, double* to, std::int64_t width) {
  const D2 a = load<D2>(from), b = load<D2>(from + row);
  store(__builtin_shufflevector(a, b, 0, 2), to);
  store(__builtin_shufflevector(a, b, 1, 3), to + width);
}
template <class T>
constexpr std::int64_t square = 16 / sizeof(T);

template <class T>
void gather(const T* from, std::int64_t row, std::int64_t depth_stride, std::int64_t count,
            std::int64_t depth, std::int64_t width, T* panel) {
  for (std::int64_t l = 0; l < depth; ++l) {
    for (std::int64_t i = 0; i < count; ++i) panel[l * width + i] = from[i * row + l * depth_stride];
  }
}

// The depth is contiguous.
template <class T>
void turn(const T* from, std::int64_t row, std::int64_t count, std::int64_t depth, std::int64_t width,
          T* panel) {
  constexpr std::int64_t q = square<T>;
  const std::int64_t whole = count / q * q, deep = depth / q * q;
  for (std::int64_t l = 0; l < deep; l += q) {
    for (std::int64_t i = 0; i < whole; i += q)
      transpose(from + i * row + l, row, panel + l * width + i, width);
  }
  gather(from + deep, row, 1, whole, depth - deep, width, panel + deep * width);
  gather(from + whole * row, row, 1, count - whole, depth, width, panel + whole);
}

// Rows are contiguous: `Count` values per step.
template <int Count, class T>
void copy(const T* from, std::int64_t depth_stride, std::int64_t depth, std::int64_t width, T* panel) {
  for (std::int64_t l = 0; l < depth; ++l)
    std::memcpy(panel + l * width, from + l * depth_stride, Count * sizeof(T));
}

// 16-bit floats become f32 on their way.
struct Widened {
  TileLoad load;
  std::int64_t size;
};
void pack_widened(const Widened& how, const std::byte* from, std::int64_t row, std::int64_t depth_stride,
                  std::int64_t count, std::int64_t depth, std::int64_t width, float* panel) {
  const auto bytes = [](float* p) { return reinterpret_cast<std::byte*>(p); };
  if (width == 1) return how.load(from, depth_stride, depth, bytes(panel));
  if (depth_stride != 1) {
    for (std::int64_t l = 0; l < depth; ++l) {
      how.load(from + l * depth_stride * how.size, row, count, bytes(panel + l * width));
    }
    return;
  }
  constexpr std::int64_t piece = 64;
  std::array<float, widest.b * piece> rows;
  for (std::int64_t l = 0; l < depth; l += piece) {
    const std::int64_t steps = std::min(piece, depth - l);
    for (std::int64_t i = 0; i < count; ++i) {
      how.load(from + (i * row + l) * how.size, 1, steps, bytes(rows.data() + i * piece));
    }
    pack_rows<float>(rows.data(), piece, 1, count, steps, width, panel + l * width);
  }
}

// Some consecutive positions of an axis that lie at one distance from each other.
struct Stretch {
  std::int64_t count, offset;
};
Stretch stretch_at(const Axes& axes, std::int64_t index, std::int64_t most) {
  if (axes.size.rank() <= 1) return {most, index * axes.inner_stride()};
  const std::int64_t inner = axes.size.back();
  return {std::min(most, inner - index % inner), axes.offset(index)};
}

template <class T>
void pack_strided(const void* self, const Part& part, T* panels) {
  const Strided& from = *static_cast<const Strided*>(self);
  const std::int64_t size = size_of(from.dtype);
  const std::byte* data = from.data + from.batch.offset(part.batch) * size;
  const std::int64_t row = from.outer.inner_stride(), step = from.depth.inner_stride();
  const bool same = from.dtype == (sizeof(T) == 4 ? DType::f32 : DType::f64);
  const Widened widened{same ? nullptr : tile_load(from.dtype, true), size};
  // A few steps at a time, so that the lines which several panels share are still in the cache for the next
  // panel.
  constexpr std::int64_t few = 64;
  const std::int64_t most = step == 1 ? part.depth : few;
  for (std::int64_t l = 0; l < part.depth;) {
    const Stretch deep = stretch_at(from.depth, part.k0 + l, std::min(most, part.depth - l));
    for (std::int64_t i = 0; i < part.count;) {
      const std::int64_t lane = i % part.width;
      const Stretch wide =
          stretch_at(from.outer, part.first + i, std::min(part.width - lane, part.count - i));
      T* panel = panels + (i / part.width * part.depth + l) * part.width + lane;
      const std::byte* at = data + (deep.offset + wide.offset) * size;
      if constexpr (sizeof(T) == 4) {
        if (!same) {
          pack_widened(widened, at, row, step, wide.count, deep.count, part.width, panel);
          i += wide.count;
          continue;
        }
      }
      pack_rows<T>(reinterpret_cast<const T*>(at), row, step, wide.count, deep.count, part.width, panel);
      i += wide.count;
    }
    l += deep.count;
  }
  if (const std::int64_t rest = part.count % part.width) {
    T* panel = panels + part.count / part.width * part.width * part.depth;
    for (std::int64_t l = 0; l < part.depth; ++l) {
      std::fill(panel + l * part.width + rest, panel + (l + 1) * part.width, T(0));
    }
  }
}

}  // namespace

template <class T>
void pack_rows(const T* from, std::int64_t row_stride, std::int64_t depth_stride, std::int64_t count,
               std::int64_t depth, std::int64_t width, T* panel) {
  if (row_stride == 1 || count == 1) {
    switch (count) {
      case 4:
        return copy<4>(from, depth_stride, depth, width, panel);
      case 8:
        return copy<8>(from, depth_stride, depth, width, panel);
      case 12:
        return copy<12>(from, depth_stride, depth, width, panel);
      case 16:
        return copy<16>(from, depth_stride, depth, width, panel);
      case 24:
        return copy<24>(from, depth_stride, depth, width, panel);
      case 48:
        return copy<48>(from, depth_stride, depth, width, panel);
      default:
        return gather(from, 1, depth_stride, count, depth, width, panel);
    }
  }
  if (depth_stride == 1) return turn(from, row_stride, count, depth, width, panel);
  gather(from, row_stride, depth_stride, count, depth, width, panel);
}

template <class T>
Source<T> source_of(const Strided& strided) {
  TM_CHECK(strided.dtype == (sizeof(T) == 4 ? DType::f32 : DType::f64) ||
           (sizeof(T) == 4 && (strided.dtype == DType::bf16 || strided.dtype == DType::f16)));
  const bool plain =
      strided.outer.size.rank() <= 1 && strided.depth.size.rank() <= 1 && size_of(strided.dtype) == sizeof(T);
  return {pack_strided<T>, &strided, plain ? &strided : nullptr};
}

template void pack_rows<float>(const float*, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                               std::int64_t, float*);
template void pack_rows<double>(const double*, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                std::int64_t, double*);
template Source<float> source_of<float>(const Strided&);
template Source<double> source_of<double>(const Strided&);

}  // namespace tidemark::gemm
