#include "tidemark/trace/image_functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/bounded.h"
#include "tidemark/ir/limits.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

using Images = std::span<const Var>;

// So many windows would make graphs too large to plan: each element of a window is a node or two.
constexpr std::int64_t max_window = 1 << 10;
constexpr std::int64_t max_padding = std::int64_t{1} << 40;

void require_spatial(const Operand& x, const Dims& size, const char* name) {
  const int spatial = x.tensor().rank() - 2;
  const bool fits = spatial >= 1 && size.rank() == spatial &&
                    std::ranges::all_of(size, [](std::int64_t n) { return n > 0; });
  if (!fits) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: x of shape {} to the size {}", name, to_string(x.tensor().shape()),
                              to_string(size)),
          .expected = "x (N, C, spatial…) and one size above 0 for each spatial dimension",
          .where = x.where()});
  }
  Shape shape = x.tensor().shape();
  for (int i = 0; i < spatial; ++i) {
    if (shape[i + 2] == 0) {
      fail(ErrorCode::shape_mismatch,
           {.what = fmt::format("{}: no pixels in x of shape {}", name, to_string(shape)),
            .expected = "spatial dimensions of 1 or more",
            .where = x.where()});
    }
    shape[i + 2] = size[i];
  }
  if (!is_float(x.tensor().dtype())) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("{}: images of {}", name, name_of(x.tensor().dtype())),
          .expected = "a floating-point dtype",
          .where = x.where(),
          .help = "cast them first"});
  }
  require_within_limits({x.tensor().dtype(), shape}, "", x.where());
}

Var whole(const Var& like, std::int64_t number) { return constant_like(like, number); }

// ⌊i·from/to⌋, in whole numbers: no rounding can miss a pixel.
Var first_pixel(const Var& i, std::int64_t from, std::int64_t to) {
  const Var product = mul(i, whole(i, from));
  return div(product, whole(product, to));
}

Var nearest_along(const Var& x, int axis, std::int64_t size) {
  const Var i = iota(x.builder(), DType::i64, {size}, 0);
  return take(x, first_pixel(i, x.shape()[axis], size), axis);
}

// Result i lies at (i + ½)·S/n − ½, between two pixels; before the first and after the last it is theirs.
Var linear_along(const Var& x, int axis, std::int64_t size) {
  const std::int64_t from = x.shape()[axis];
  const double scale = static_cast<double>(from) / static_cast<double>(size);
  const Var i = iota(x.builder(), DType::f64, {size}, 0);
  const Var place = (i + 0.5) * scale - 0.5;
  const Var inside = clamp(place, 0, static_cast<double>(from - 1));
  const Var low = floor(inside);
  const Var before = cast(low, DType::i64);
  const Var next = add(before, whole(before, 1));
  const Var after = minimum(next, whole(next, from - 1));
  Shape along = Shape::filled(x.shape().rank(), 1);
  along[axis] = size;
  const Var weight = cast(reshape(inside - low, along), x.dtype());
  const Var left = take(x, before, axis), right = take(x, after, axis);
  return left + weight * (right - left);
}

// Elements of each window along a new axis behind `axis`, as many as the longest window has; places beyond a
// window's end repeat its last element.
struct WindowPixels {
  Var values;  // (…, size, longest, …)
  Var inside;  // bool (size, longest)
  Var counts;  // i64 (size, 1)
};
WindowPixels window_pixels(const Var& x, int axis, std::int64_t size) {
  const std::int64_t from = x.shape()[axis];
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    longest = std::max(longest, ((i + 1) * from + size - 1) / size - i * from / size);
  }
  Builder& builder = x.builder();
  const Var i = iota(builder, DType::i64, {size, 1}, 0), j = iota(builder, DType::i64, {1, longest}, 1);
  const Var start = first_pixel(i, from, size);
  const Var one_on = add(i, whole(i, 1));
  const Var scaled = mul(one_on, whole(i, from));
  const Var up = add(scaled, whole(scaled, size - 1));
  const Var end = div(up, whole(up, size));
  const Var position = add(start, j);
  const Var last = sub(end, whole(end, 1));
  return {take(x, minimum(position, last), axis), less(position, end), sub(end, start)};
}

Var behind(const Var& factors, int axis, int rank) {
  Shape shape = Shape::filled(rank, 1);
  shape[axis] = factors.shape()[0], shape[axis + 1] = factors.shape()[1];
  return reshape(factors, shape);
}

// Where all windows have one length they need no copy: a view of (…, size, length, …).
bool has_equal_windows(const Var& x, int axis, std::int64_t size) { return x.shape()[axis] % size == 0; }
Var equal_windows(const Var& x, int axis, std::int64_t size) {
  Shape shape = x.shape();
  shape.insert(axis + 1, shape[axis] / size);
  shape[axis] = size;
  return reshape(x, shape);
}

Var mean_along(const Var& x, int axis, std::int64_t size) {
  if (has_equal_windows(x, axis, size)) return reduce_mean(equal_windows(x, axis, size), {axis + 1});
  const WindowPixels pixels = window_pixels(x, axis, size);
  const int rank = pixels.values.shape().rank();
  const Var counted = behind(pixels.inside, axis, rank);
  const Var kept = select(counted, pixels.values, zeros_like(pixels.values));
  const Var total = reduce_sum(kept, {axis + 1}, true);
  return squeeze(total / cast(behind(pixels.counts, axis, rank), x.dtype()), axis + 1);
}

Var largest_along(const Var& x, int axis, std::int64_t size) {
  if (has_equal_windows(x, axis, size)) return reduce_max(equal_windows(x, axis, size), {axis + 1});
  return reduce_max(window_pixels(x, axis, size).values, {axis + 1});
}

// One spatial dimension after the other.
template <class Along>
Tensor each_spatial(const Operand& x, const Dims& size, const Along& along) {
  return build({x}, [&](Builder&, Images v) {
    Var y = v[0];
    for (int i = 0; i < size.rank(); ++i) {
      if (y.shape()[i + 2] != size[i]) y = along(y, i + 2, size[i]);
    }
    return y;
  });
}

// ---- windows

struct WindowGrid {
  Dims window, stride, padding;
  Dims count;  // of windows along each dimension
};
WindowGrid grid_of(const Operand& x, const Dims& size, const Windows& windows, const char* name) {
  WindowGrid grid{windows.window,
                  windows.stride.empty() ? Dims{1, 1} : windows.stride,
                  windows.padding.empty() ? Dims{0, 0} : windows.padding,
                  {}};
  bool fits =
      size.rank() == 2 && grid.window.rank() == 2 && grid.stride.rank() == 2 && grid.padding.rank() == 2;
  for (int i = 0; fits && i < 2; ++i) {
    const std::int64_t room = bounded_product(grid.padding[i], 2);
    fits = size[i] >= 0 && grid.window[i] > 0 && grid.window[i] <= max_window && grid.stride[i] > 0 &&
           grid.padding[i] >= 0 && room <= max_padding && size[i] + room >= grid.window[i];
    if (fits) grid.count.push_back((size[i] + room - grid.window[i]) / grid.stride[i] + 1);
  }
  if (!fits || grid.window[0] * grid.window[1] > max_window) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("{}: windows of {}, stride {}, padding {}, in an image of {}", name,
                              to_string(grid.window), to_string(grid.stride), to_string(grid.padding),
                              to_string(size)),
          .expected = fmt::format("two entries each; windows of at most {} pixels that fit in the image and "
                                  "its padding",
                                  max_window),
          .where = x.where()});
  }
  return grid;
}

}  // namespace

Tensor interpolate(const Operand& x, const Dims& size, Interpolation how) {
  require_spatial(x, size, "interpolate");
  return each_spatial(x, size, how == Interpolation::nearest ? nearest_along : linear_along);
}
Tensor adaptive_avg_pool(const Operand& x, const Dims& size) {
  require_spatial(x, size, "adaptive_avg_pool");
  return each_spatial(x, size, mean_along);
}
Tensor adaptive_max_pool(const Operand& x, const Dims& size) {
  require_spatial(x, size, "adaptive_max_pool");
  return each_spatial(x, size, largest_along);
}

Tensor unfold(const Operand& x, const Windows& windows) {
  const Shape shape = x.tensor().shape();
  if (shape.rank() != 4) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("unfold: x of shape {}", to_string(shape)),
                                     .expected = "x (N, C, H, W)",
                                     .where = x.where()});
  }
  const WindowGrid grid = grid_of(x, {shape[2], shape[3]}, windows, "unfold");
  return build({x, Operand(0, x.where())}, [&](Builder&, Images v) {
    const Dims around = {0, 0, grid.padding[0], grid.padding[1]};
    const Var padded = pad(v[0], v[1], around, around, {0, 0, 0, 0});
    std::vector<Var> places;
    for (std::int64_t i = 0; i < grid.window[0]; ++i) {
      for (std::int64_t j = 0; j < grid.window[1]; ++j) {
        const Var rows =
            slice_axis(padded, 2, i, i + (grid.count[0] - 1) * grid.stride[0] + 1, grid.stride[0]);
        const Var pixels =
            slice_axis(rows, 3, j, j + (grid.count[1] - 1) * grid.stride[1] + 1, grid.stride[1]);
        places.push_back(reshape(pixels, {shape[0], shape[1], 1, grid.count[0] * grid.count[1]}));
      }
    }
    const std::int64_t area = grid.window[0] * grid.window[1];
    return reshape(concat(places, 2), {shape[0], shape[1] * area, grid.count[0] * grid.count[1]});
  });
}

Tensor fold(const Operand& x, const Dims& size, const Windows& windows) {
  const WindowGrid grid = grid_of(x, size, windows, "fold");
  const Shape shape = x.tensor().shape();
  const std::int64_t area = grid.window[0] * grid.window[1], count = grid.count[0] * grid.count[1];
  if (shape.rank() != 3 || shape[1] % area != 0 || shape[2] != count) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("fold: x of shape {} for {} windows of {} pixels",
                                                         to_string(shape), count, area),
                                     .expected = fmt::format("x (N, C · {}, {})", area, count),
                                     .where = x.where()});
  }
  return build({x, Operand(0, x.where())}, [&](Builder&, Images v) {
    const std::int64_t channels = shape[1] / area;
    const Var apart = reshape(v[0], {shape[0], channels, area, grid.count[0], grid.count[1]});
    const Dims gaps = {0, 0, grid.stride[0] - 1, grid.stride[1] - 1};
    Var image;
    for (std::int64_t k = 0; k < area; ++k) {
      const Var pixels = squeeze(slice_axis(apart, 2, k, k + 1), 2);
      Dims low = {0, 0, 0, 0}, high = low;
      for (int d = 0; d < 2; ++d) {
        const std::int64_t at = (d == 0 ? k / grid.window[1] : k % grid.window[1]) - grid.padding[d];
        low[d + 2] = at;
        high[d + 2] = size[d] - at - ((grid.count[d] - 1) * grid.stride[d] + 1);
      }
      image = sum_of(image, pad(pixels, v[1], low, high, gaps));
    }
    return image;
  });
}

}  // namespace tidemark
