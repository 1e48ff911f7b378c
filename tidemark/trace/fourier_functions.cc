#include "tidemark/trace/fourier_functions.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/ops/fourier/fourier.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/axes.h"
#include "tidemark/trace/statistics.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

void require_complex(const Operand& z, const char* name) {
  const Shape& shape = z.tensor().shape();
  if (shape.rank() > 0 && shape.back() == 2) return;
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("{}: shape {} is not that of complex numbers", name, to_string(shape)),
        .expected = "a last axis of size 2: real and imaginary part",
        .where = z.where(),
        .help = "complex_of(real, imaginary) makes one; rfft takes real numbers"});
}

// Negative axes count from the last one that is not that of the parts.
int complex_axis(const Operand& z, std::int64_t axis) {
  const int rank = z.tensor().rank() - 1;
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  if (at >= 0 && at < rank) return static_cast<int>(at);
  fail(ErrorCode::index_out_of_range,
       {.what = fmt::format("axis {} is out of range for complex numbers of shape {}", axis,
                            to_string(z.tensor().shape())),
        .expected = rank == 0 ? std::string("an axis beside that of real and imaginary parts")
                              : fmt::format("an axis from {} to {}", -rank, rank - 1),
        .where = z.where(),
        .help = "the last axis, of size 2, is not counted"});
}

// As `transform` makes it of graph values: of f16 and bf16 in f32, rounded once.
template <class Transform>
Tensor transformed(const Operand& x, const Transform& transform) {
  return build({x}, [&](Builder&, std::span<const Var> v) {
    const DType dtype = v[0].dtype();
    const bool narrow = is_float(dtype) && size_of(dtype) == 2;
    return narrow ? cast(transform(cast(v[0], DType::f32)), dtype) : transform(v[0]);
  });
}

double norm_scale(FourierNorm norm, bool inverse, std::int64_t length) {
  const double n = static_cast<double>(length);
  if (norm == FourierNorm::ortho) return 1 / std::sqrt(n);
  return (norm == FourierNorm::forward) != inverse ? 1 / n : 1;
}

void require_points(const Operand& x, std::int64_t points, const char* name) {
  if (points >= 1) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: a transform of {} points", name, points),
                                  .expected = "at least one",
                                  .where = x.where(),
                                  .help = "`length` says how many"});
}
std::int64_t points_of(const Operand& x, int axis, std::int64_t length, const char* name) {
  const std::int64_t points = length == 0 ? x.tensor().shape()[axis] : length;
  require_points(x, points, name);
  return points;
}
// Of the real side, from frequencies.
std::int64_t real_points_of(const Operand& y, int axis, std::int64_t length, const char* name) {
  const std::int64_t points = length == 0 ? 2 * (y.tensor().shape()[axis] - 1) : length;
  require_points(y, points, name);
  return points;
}

// Cut, or filled up with zeros.
Var fitted(const Var& x, int axis, std::int64_t size) {
  const std::int64_t own = x.shape()[axis];
  if (own > size) return slice_axis(x, axis, 0, size);
  if (own == size) return x;
  const Dims none = Dims::filled(x.shape().rank(), 0);
  Dims high = none;
  high[axis] = size - own;
  return pad(x, constant_like(x, 0), none, high, none);
}

Tensor complex_transform(const Operand& x, const FourierOptions& options, bool inverse) {
  const char* name = inverse ? "ifft" : "fft";
  require_complex(x, name);
  const int axis = complex_axis(x, options.axis);
  const std::int64_t points = points_of(x, axis, options.length, name);
  return transformed(x, [&](const Var& v) {
    return fft(
        fitted(v, axis, points),
        FftAttrs{.axis = axis, .inverse = inverse, .scale = norm_scale(options.norm, inverse, points)});
  });
}

Dims complex_axes(const Operand& z, const Dims& axes) {
  Dims result;
  for (std::int64_t axis : axes) result.push_back(complex_axis(z, axis));
  return result;
}
// In the order of the list; throws for none, and for a dimension that is named twice.
void require_axes_once(const Operand& x, const Dims& given, const Dims& axes, const char* name) {
  bool once = axes.rank() > 0;
  for (int i = 0; i < axes.rank(); ++i) {
    for (int j = 0; j < i; ++j) once = once && axes[i] != axes[j];
  }
  if (once) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: axes {}", name, to_string(given)),
                                  .expected = "one axis or more, each of them once",
                                  .where = x.where()});
}

// fft along each of some axes, whose scales are one factor for the first.
Var along_axes(Var z, const Dims& axes, int count, bool inverse, FourierNorm norm) {
  for (int i = 0; i < count; ++i) {
    const std::int64_t points = z.shape()[static_cast<int>(axes[i])];
    z = fft(z, {.axis = axes[i], .inverse = inverse, .scale = norm_scale(norm, inverse, points)});
  }
  return z;
}

Tensor complex_transforms(const Operand& x, const FourierAxes& options, bool inverse) {
  const char* name = inverse ? "ifftn" : "fftn";
  require_complex(x, name);
  const Dims axes = complex_axes(x, options.axes);
  require_axes_once(x, options.axes, axes, name);
  for (std::int64_t axis : axes) points_of(x, static_cast<int>(axis), 0, name);
  return transformed(x,
                     [&](const Var& v) { return along_axes(v, axes, axes.rank(), inverse, options.norm); });
}

Var part_of(const Var& z, int part) {
  const int last = z.shape().rank() - 1;
  return squeeze(slice_axis(z, last, part, part + 1), last);
}
Var joined_parts(const Var& re, const Var& im) {
  const int last = re.shape().rank();
  const Var parts[] = {expand_dims(re, last), expand_dims(im, last)};
  return concat(parts, last);
}

}  // namespace

Tensor fft(const Operand& x, const FourierOptions& options) { return complex_transform(x, options, false); }
Tensor ifft(const Operand& x, const FourierOptions& options) { return complex_transform(x, options, true); }

Tensor rfft(const Operand& x, const FourierOptions& options) {
  const int axis = absolute_axis(x, options.axis);
  const std::int64_t points = points_of(x, axis, options.length, "rfft");
  return transformed(x, [&](const Var& v) {
    return rfft(
        fitted(v, axis, points),
        RealFftAttrs{.axis = axis, .length = points, .scale = norm_scale(options.norm, false, points)});
  });
}

Tensor irfft(const Operand& y, const FourierOptions& options) {
  require_complex(y, "irfft");
  const int axis = complex_axis(y, options.axis);
  const std::int64_t points = real_points_of(y, axis, options.length, "irfft");
  return transformed(y, [&](const Var& v) {
    return irfft(
        fitted(v, axis, half_length(points)),
        RealFftAttrs{
            .axis = axis, .length = points, .scale = norm_scale(options.norm, true, points), .inner = 2});
  });
}

Tensor fftn(const Operand& x, const FourierAxes& options) { return complex_transforms(x, options, false); }
Tensor ifftn(const Operand& x, const FourierAxes& options) { return complex_transforms(x, options, true); }

Tensor rfftn(const Operand& x, const FourierAxes& options) {
  Dims axes;
  for (std::int64_t axis : options.axes) axes.push_back(absolute_axis(x, axis));
  require_axes_once(x, options.axes, axes, "rfftn");
  for (std::int64_t axis : axes) points_of(x, static_cast<int>(axis), 0, "rfftn");
  const std::int64_t last = axes.back(), points = x.tensor().shape()[static_cast<int>(last)];
  return transformed(x, [&](const Var& v) {
    const Var half = rfft(
        v, RealFftAttrs{.axis = last, .length = points, .scale = norm_scale(options.norm, false, points)});
    return along_axes(half, axes, axes.rank() - 1, false, options.norm);
  });
}

Tensor irfftn(const Operand& y, const FourierAxes& options) {
  require_complex(y, "irfftn");
  const Dims axes = complex_axes(y, options.axes);
  require_axes_once(y, options.axes, axes, "irfftn");
  for (std::int64_t axis : axes) points_of(y, static_cast<int>(axis), 0, "irfftn");
  const auto last = static_cast<int>(axes.back());
  const std::int64_t points = real_points_of(y, last, options.last_length, "irfftn");
  return transformed(y, [&](const Var& v) {
    const Var half =
        along_axes(fitted(v, last, half_length(points)), axes, axes.rank() - 1, true, options.norm);
    return irfft(
        half,
        RealFftAttrs{
            .axis = last, .length = points, .scale = norm_scale(options.norm, true, points), .inner = 2});
  });
}

Tensor complex_of(const Operand& real, const Operand& imaginary) {
  return build({real, imaginary}, [](Builder&, std::span<const Var> v) {
    const Var both = v[0] + zeros_like(v[1]);  // the shape that the two have together
    const Var imaginary_there = broadcast(v[1], both.shape());
    return joined_parts(broadcast(v[0], both.shape()), imaginary_there);
  });
}
Tensor real_part(const Operand& z) {
  require_complex(z, "real_part");
  return build({z}, [](Builder&, std::span<const Var> v) { return part_of(v[0], 0); });
}
Tensor imaginary_part(const Operand& z) {
  require_complex(z, "imaginary_part");
  return build({z}, [](Builder&, std::span<const Var> v) { return part_of(v[0], 1); });
}
Tensor conjugate(const Operand& z) {
  require_complex(z, "conjugate");
  return build({z}, [](Builder&, std::span<const Var> v) {
    const Var re = part_of(v[0], 0), im = part_of(v[0], 1);
    return joined_parts(re, neg(im));
  });
}
Tensor complex_multiply(const Operand& a, const Operand& b) {
  require_complex(a, "complex_multiply");
  require_complex(b, "complex_multiply");
  return build({a, b}, [](Builder&, std::span<const Var> v) {
    const Var ar = part_of(v[0], 0), ai = part_of(v[0], 1), br = part_of(v[1], 0), bi = part_of(v[1], 1);
    const Var rr = ar * br, ii = ai * bi, ri = ar * bi, ir = ai * br;
    const Var re = rr - ii;
    return joined_parts(re, ri + ir);
  });
}
Tensor complex_abs(const Operand& z) {
  require_complex(z, "complex_abs");
  return norm(z, 2, {-1});
}

}  // namespace tidemark
