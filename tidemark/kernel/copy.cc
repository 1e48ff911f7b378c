#include "tidemark/kernel/copy.h"

#include <algorithm>
#include <cstring>

#include <hwy/highway.h>

// 128-bit vectors are in every target's baseline, so this part is compiled once and needs no dispatch.
HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t transposed_band =
    256;  // bytes read side by side of a transposed plane, per unit of work

// The transpose of an n × n block of 16-byte vectors, n = 16 / sizeof(U), by log2 n rounds of zipping halves.
template <class U>
void transpose_block(const U* from, std::int64_t from_step, U* to, std::int64_t to_step) {
  constexpr int n = 16 / sizeof(U);
  const hn::FixedTag<U, n> d;
  hn::Vec<decltype(d)> rows[n], zipped[n];
  for (int i = 0; i < n; ++i) rows[i] = hn::LoadU(d, from + i * from_step);
  for (int round = 1; round < n; round *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      zipped[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + n / 2]);
      zipped[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + n / 2]);
    }
    std::copy(zipped, zipped + n, rows);
  }
  for (int i = 0; i < n; ++i) hn::StoreU(rows[i], d, to + i * to_step);
}

// Four blocks side by side, whose rows fill a cache line of `to` that is stored at once.
template <class U>
HWY_INLINE void transpose_line(const U* from, std::int64_t from_step, U* to, std::int64_t to_step) {
  constexpr int n = 16 / sizeof(U);
  const hn::FixedTag<U, n> d;
  hn::Vec<decltype(d)> turned[n][4];
  for (int i = 0; i < 4; ++i) {
    const U* block = from + n * i * from_step;
    if constexpr (n == 2) {
      const auto x0 = hn::LoadU(d, block), x1 = hn::LoadU(d, block + from_step);
      turned[0][i] = hn::InterleaveLower(d, x0, x1);
      turned[1][i] = hn::InterleaveUpper(d, x0, x1);
    } else {
      const auto x0 = hn::LoadU(d, block), x1 = hn::LoadU(d, block + from_step),
                 x2 = hn::LoadU(d, block + 2 * from_step), x3 = hn::LoadU(d, block + 3 * from_step);
      const auto low_even = hn::InterleaveLower(d, x0, x2), low_odd = hn::InterleaveLower(d, x1, x3),
                 high_even = hn::InterleaveUpper(d, x0, x2), high_odd = hn::InterleaveUpper(d, x1, x3);
      turned[0][i] = hn::InterleaveLower(d, low_even, low_odd);
      turned[1][i] = hn::InterleaveUpper(d, low_even, low_odd);
      turned[2][i] = hn::InterleaveLower(d, high_even, high_odd);
      turned[3][i] = hn::InterleaveUpper(d, high_even, high_odd);
    }
  }
  for (int r = 0; r < n; ++r) {
    for (int i = 0; i < 4; ++i) hn::StoreU(turned[r][i], d, to + r * to_step + n * i);
  }
}

// As copy_transposed below, of four or eight bytes each, without a buffer: strips of columns that fill one
// cache line of every row of `to`.
template <class U>
void copy_lines(U* to, std::int64_t to_step, const U* from, std::int64_t from_inner, std::int64_t rows,
                std::int64_t columns) {
  constexpr std::int64_t n = 16 / sizeof(U), line = 4 * n;
  const std::int64_t high = rows / n * n, wide = columns / line * line;
  for (std::int64_t j = 0; j < wide; j += line) {
    for (std::int64_t i = 0; i < high; i += n) {
      transpose_line(from + j * from_inner + i, from_inner, to + i * to_step + j, to_step);
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = i < high ? wide : 0; j < columns; ++j)
      to[i * to_step + j] = from[j * from_inner + i];
  }
}

// rows × columns elements, rows contiguous in `to`, columns (forwards when `from_step` is 1) in `from`.
// Blocks of small elements pass through a buffer so that both sides are touched in whole cache lines, however
// unlucky their strides are.
template <class U>
void copy_transposed(U* to, std::int64_t to_step, const U* from, std::int64_t from_step,
                     std::int64_t from_inner, std::int64_t rows, std::int64_t columns) {
  if constexpr (sizeof(U) >= 4) {
    if (from_step == 1) return copy_lines(to, to_step, from, from_inner, rows, columns);
  }
  constexpr std::int64_t n = 16 / sizeof(U);
  constexpr std::int64_t tall = transposed_band / std::int64_t{sizeof(U)},
                         wide = (sizeof(U) == 1 ? 64 : 256) / std::int64_t{sizeof(U)};
  alignas(64) U block[tall * wide];
  for (std::int64_t j = 0; j < columns; j += wide) {
    const std::int64_t width = std::min(wide, columns - j);
    for (std::int64_t i = 0; i < rows; i += tall) {
      const std::int64_t height = std::min(tall, rows - i);
      const U* source = from + i * from_step + j * from_inner;
      const std::int64_t blocks_high = from_step == 1 ? height / n * n : 0, blocks_wide = width / n * n;
      for (std::int64_t c = 0; c < blocks_wide; c += n) {
        for (std::int64_t r = 0; r < blocks_high; r += n) {
          transpose_block(source + c * from_inner + r, from_inner, block + r * wide + c, wide);
        }
      }
      for (std::int64_t c = 0; c < width; ++c) {
        for (std::int64_t r = c < blocks_wide ? blocks_high : 0; r < height; ++r) {
          block[r * wide + c] = source[c * from_inner + r * from_step];
        }
      }
      for (std::int64_t r = 0; r < height; ++r) {
        std::memcpy(to + (i + r) * to_step + j, block + r * wide,
                    static_cast<std::size_t>(width) * sizeof(U));
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

namespace tidemark {
namespace {

using HWY_NAMESPACE::copy_transposed;
using HWY_NAMESPACE::transposed_band;

// A loop nest of two windows, outermost first, ordered by the strides of `to`.
struct Nest {
  int rank = 0;
  std::int64_t size[max_rank], to[max_rank], from[max_rank];
  std::byte* to_data;
  const std::byte* from_data;
};

Nest collapse(const TensorRef& to, const TensorRef& from, std::int64_t element) {
  Nest nest{.rank = 0, .size = {}, .to = {}, .from = {}, .to_data = to.data, .from_data = from.data};
  for (int i = 0; i < to.shape.rank(); ++i) {
    const std::int64_t n = to.shape[i];
    if (n == 1) continue;
    std::int64_t t = to.strides[i], f = from.strides[i];
    if (t < 0) {  // walk it backwards: the same pairs of elements
      nest.to_data += (n - 1) * t * element;
      nest.from_data += (n - 1) * f * element;
      t = -t, f = -f;
    }
    int at = nest.rank++;
    for (; at > 0 && nest.to[at - 1] < t; --at) {
      nest.size[at] = nest.size[at - 1], nest.to[at] = nest.to[at - 1], nest.from[at] = nest.from[at - 1];
    }
    nest.size[at] = n, nest.to[at] = t, nest.from[at] = f;
  }
  int kept = 0;
  for (int i = 1; i < nest.rank; ++i) {
    if (nest.to[kept] == nest.size[i] * nest.to[i] && nest.from[kept] == nest.size[i] * nest.from[i]) {
      nest.size[kept] *= nest.size[i];
    } else {
      nest.size[++kept] = nest.size[i];
    }
    nest.to[kept] = nest.to[i], nest.from[kept] = nest.from[i];
  }
  if (nest.rank > 0) nest.rank = kept + 1;
  return nest;
}

// One row of n elements.
template <class U>
void copy_row(U* to, std::int64_t to_step, const U* from, std::int64_t from_step, std::int64_t n) {
  if (to_step == 1 && from_step == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(U));
  } else if (to_step == 1 && from_step == 0) {
    std::fill_n(to, n, *from);
  } else if (to_step == 1 && from_step == -1) {
    std::reverse_copy(from - (n - 1), from + 1, to);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
}

constexpr std::int64_t task_bytes = std::int64_t{1} << 18;  // enough work to be worth another thread

template <class U>
void run(const Nest& nest, ThreadPool& pool) {
  U* to = reinterpret_cast<U*>(nest.to_data);
  const U* from = reinterpret_cast<const U*>(nest.from_data);
  if (nest.rank == 0) {
    *to = *from;
    return;
  }
  // `inner` is contiguous in `to` (as nearly as can be). `across`, where it exists, is contiguous in `from`.
  const int inner = nest.rank - 1;
  int across = -1;
  if (nest.to[inner] == 1 && nest.from[inner] != 1 && nest.from[inner] != -1 && nest.from[inner] != 0) {
    for (int i = 0; i < inner; ++i) {
      if (nest.from[i] == 1 || nest.from[i] == -1) across = i;
    }
  }
  constexpr std::int64_t band = transposed_band / std::int64_t{sizeof(U)};
  const std::int64_t inner_size = nest.size[inner];
  const std::int64_t piece =
      across >= 0 ? inner_size : std::min<std::int64_t>(inner_size, task_bytes / std::int64_t{sizeof(U)});
  const std::int64_t pieces = (inner_size + piece - 1) / piece;
  const std::int64_t bands = across >= 0 ? (nest.size[across] + band - 1) / band : 1;
  std::int64_t outer = 1;
  for (int i = 0; i < inner; ++i) {
    if (i != across) outer *= nest.size[i];
  }
  const std::int64_t unit_bytes =
      piece * std::int64_t{sizeof(U)} * (across >= 0 ? std::min(band, nest.size[across]) : 1);
  // Neighbouring bands read the same pages: they go to one thread.
  const std::int64_t units = outer * bands * pieces;
  const std::int64_t grain = std::max(across >= 0 ? units / (2 * pool.threads()) : 1,
                                      std::max<std::int64_t>(1, task_bytes / unit_bytes));
  parallel_for(pool, units, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      std::int64_t rest = unit;
      const std::int64_t first = rest % pieces * piece;
      rest /= pieces;
      const std::int64_t row = rest % bands * band;
      rest /= bands;
      std::int64_t to_at = 0, from_at = 0;
      for (int i = inner - 1; i >= 0; --i) {
        if (i == across) continue;
        const std::int64_t index = rest % nest.size[i];
        rest /= nest.size[i];
        to_at += index * nest.to[i], from_at += index * nest.from[i];
      }
      if (across >= 0) {
        copy_transposed(to + to_at + row * nest.to[across], nest.to[across],
                        from + from_at + row * nest.from[across], nest.from[across], nest.from[inner],
                        std::min(band, nest.size[across] - row), inner_size);
      } else {
        copy_row(to + to_at + first * nest.to[inner], nest.to[inner],
                 from + from_at + first * nest.from[inner], nest.from[inner],
                 std::min(piece, inner_size - first));
      }
    }
  });
}

}  // namespace

void copy_elements(const TensorRef& to, const TensorRef& from, ThreadPool& pool) {
  TM_DCHECK(to.shape == from.shape && size_of(to.dtype) == size_of(from.dtype));
  if (to.count() == 0) return;
  const Nest nest = collapse(to, from, size_of(to.dtype));
  if (nest.to_data == nest.from_data && std::equal(nest.to, nest.to + nest.rank, nest.from)) return;
  switch (size_of(to.dtype)) {
    case 1:
      return run<std::uint8_t>(nest, pool);
    case 2:
      return run<std::uint16_t>(nest, pool);
    case 4:
      return run<std::uint32_t>(nest, pool);
    default:
      return run<std::uint64_t>(nest, pool);
  }
}

void fill_elements(const TensorRef& to, const std::byte* element, ThreadPool& pool) {
  TensorRef from = to;
  from.data = const_cast<std::byte*>(element);  // only read: TensorRef has no const form
  from.strides = Strides::filled(to.shape.rank(), 0);
  copy_elements(to, from, pool);
}

void zero_elements(const TensorRef& to, ThreadPool& pool) {
  const std::uint64_t zero = 0;  // every dtype's zero is all zero bits
  fill_elements(to, reinterpret_cast<const std::byte*>(&zero), pool);
}

TensorRef window(const TensorRef& whole, const Dims& start, const Dims& step, const Shape& shape) {
  TensorRef part = whole;
  part.shape = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    if (part.data) part.data += start[i] * whole.strides[i] * size_of(whole.dtype);  // null: no elements
    part.strides[i] = whole.strides[i] * step[i];
  }
  return part;
}

}  // namespace tidemark
