#include "tidemark/trace/functions.h"

#include <algorithm>
#include <cstring>

#include "tidemark/base/bounded.h"
#include "tidemark/ir/limits.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/reversible/invertible.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/axes.h"
#include "tidemark/trace/storage.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

// More parts than anybody splits a tensor in, and few enough to list.
constexpr int max_split_parts = 1 << 20;

template <class Body>
Tensor made(SourceLine where, const Body& body) {
  return build_all({}, where,
                   [&](Builder& builder, std::span<const Var>) { return std::vector<Var>{body(builder)}; })
      .front();
}

std::vector<Operand> as_operands(const std::vector<Tensor>& tensors, SourceLine where) {
  std::vector<Operand> operands;
  for (const Tensor& tensor : tensors) operands.emplace_back(tensor, where);
  return operands;
}

// Bounds that a double, as attributes are, cannot hold.
Tensor clamp_wide(const Operand& x, const Number& low, const Number& high) {
  const auto from = low.as<std::int64_t>(), to = high.as<std::int64_t>();
  if (from > to || !(low.real() <= high.real())) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("clamp: bounds {} and {}", to_string(low), to_string(high)),
          .expected = "low ≤ high",
          .where = x.where(),
          .help = "the lower bound comes first"});
  }
  return minimum(Operand(maximum(x, Operand(from, x.where())), x.where()), Operand(to, x.where()));
}

using Reduction = Var (*)(const Var&, const Dims&, bool);
Tensor reduced(Reduction reduction, const Operand& x, const Dims& axes, bool keep) {
  return build({x}, [&](Builder&, std::span<const Var> v) { return reduction(v[0], axes, keep); });
}

}  // namespace

Tensor zeros(const Shape& shape, DType dtype, SourceLine where) { return full(shape, 0, dtype, where); }
Tensor ones(const Shape& shape, DType dtype, SourceLine where) { return full(shape, 1, dtype, where); }
Tensor full(const Shape& shape, const Number& value, DType dtype, SourceLine where) {
  require_within_limits({dtype, shape}, "", where);
  require_fits(dtype, value, where);
  return made(where, [&](Builder& builder) { return full(builder, Type{dtype, shape}, value); });
}
Tensor scalar(const Number& value, DType dtype, SourceLine where) { return full({}, value, dtype, where); }
Tensor arange(std::int64_t count, DType dtype, SourceLine where) {
  return made(where, [&](Builder& builder) { return iota(builder, dtype, {count}, 0); });
}
Tensor linspace(double first, double last, std::int64_t count, DType dtype, SourceLine where) {
  if (!is_float(dtype)) {
    fail(ErrorCode::dtype_mismatch, {.what = fmt::format("linspace: numbers of {}", name_of(dtype)),
                                     .expected = "a floating-point dtype",
                                     .where = where,
                                     .help = "use arange(count) * step + first for whole numbers"});
  }
  return made(where, [&](Builder& builder) {
    const double step = count > 1 ? (last - first) / static_cast<double>(count - 1) : 0;
    // 16 bits would not even count to 2,048.
    const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
    return cast(iota(builder, wide, {count}, 0) * step + first, dtype);
  });
}
Tensor eye(std::int64_t size, DType dtype, SourceLine where) {
  return made(where, [&](Builder& builder) {
    const Shape square = {size, size};
    const Var row = iota(builder, DType::i64, square, 0), column = iota(builder, DType::i64, square, 1);
    return cast(equal(row, column), dtype);
  });
}
Tensor zeros_like(const Operand& x) { return zeros(x.tensor().shape(), x.tensor().dtype(), x.where()); }
Tensor ones_like(const Operand& x) { return ones(x.tensor().shape(), x.tensor().dtype(), x.where()); }

Tensor tensor_from_bytes(const Type& type, const void* bytes, SourceLine where) {
  require_within_limits(type, "", where);
  AlignedBytes copy = at_line(where, [&] { return allocate_aligned(type.bytes()); });
  if (type.bytes() > 0) std::memcpy(copy.get(), bytes, static_cast<std::size_t>(type.bytes()));
  return Tensor::from_storage(type, std::make_shared<Storage>(std::move(copy), type.bytes()));
}
template <class T>
Tensor tensor(std::span<const T> values, const Shape& shape, SourceLine where) {
  require_within_limits({dtype_of<T>, shape}, "", where);
  if (static_cast<std::int64_t>(values.size()) != element_count(shape)) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{} values for a tensor of shape {}", values.size(), to_string(shape)),
          .expected = fmt::format("{} values", element_count(shape)),
          .where = where});
  }
  return tensor_from_bytes({dtype_of<T>, shape}, values.data(), where);
}
template Tensor tensor(std::span<const float>, const Shape&, SourceLine);
template Tensor tensor(std::span<const double>, const Shape&, SourceLine);
template Tensor tensor(std::span<const BFloat16>, const Shape&, SourceLine);
template Tensor tensor(std::span<const Float16>, const Shape&, SourceLine);
template Tensor tensor(std::span<const std::int32_t>, const Shape&, SourceLine);
template Tensor tensor(std::span<const std::int64_t>, const Shape&, SourceLine);
template Tensor tensor(std::span<const std::uint8_t>, const Shape&, SourceLine);
template Tensor tensor(std::span<const bool>, const Shape&, SourceLine);

#define TM_UNARY(name)                                                              \
  Tensor name(const Operand& x) {                                                   \
    return build({x}, [](Builder&, std::span<const Var> v) { return name(v[0]); }); \
  }
#define TM_BINARY(name)                                                                      \
  Tensor name(const Operand& x, const Operand& y) {                                          \
    return build({x, y}, [](Builder&, std::span<const Var> v) { return name(v[0], v[1]); }); \
  }
#include "tidemark/trace/functions.def"

#define TM_OPERATOR(symbol, name)                                                            \
  Tensor operator symbol(const Operand& x, const Operand& y) {                               \
    return build({x, y}, [](Builder&, std::span<const Var> v) { return name(v[0], v[1]); }); \
  }
TM_OPERATOR(+, add)
TM_OPERATOR(-, sub)
TM_OPERATOR(*, mul)
TM_OPERATOR(/, div)
TM_OPERATOR(%, mod)
TM_OPERATOR(==, equal)
TM_OPERATOR(!=, not_equal)
TM_OPERATOR(<, less)
TM_OPERATOR(<=, less_equal)
TM_OPERATOR(>, greater)
TM_OPERATOR(>=, greater_equal)
TM_OPERATOR(&&, logical_and)
TM_OPERATOR(||, logical_or)
#undef TM_OPERATOR
Tensor operator-(const Operand& x) { return neg(x); }
Tensor operator!(const Operand& x) { return logical_not(x); }

Tensor select(const Operand& condition, const Operand& on_true, const Operand& on_false) {
  return build({condition, on_true, on_false},
               [](Builder&, std::span<const Var> v) { return select(v[0], v[1], v[2]); });
}
Tensor polygamma(int order, const Operand& x) {
  return build({x}, [&](Builder&, std::span<const Var> v) { return polygamma(order, v[0]); });
}
Tensor clamp(const Operand& x, const Number& low, const Number& high) {
  const bool wide = !low.fits<double>() || !high.fits<double>();
  if (wide && x.tensor().dtype() == DType::i64) return clamp_wide(x, low, high);
  return build({x}, [&](Builder&, std::span<const Var> v) { return clamp(v[0], low.real(), high.real()); });
}
Tensor leaky_relu(const Operand& x, double slope) {
  return build({x}, [&](Builder&, std::span<const Var> v) { return leaky_relu(v[0], slope); });
}
Tensor cast(const Operand& x, DType dtype) {
  return build({x}, [&](Builder&, std::span<const Var> v) { return cast(v[0], dtype); });
}

Tensor broadcast(const Operand& x, const Shape& shape) {
  return build({x}, [&](Builder&, std::span<const Var> v) { return broadcast(v[0], shape); });
}
Tensor reshape(const Operand& x, const Shape& shape) {
  Shape full_shape = shape;
  std::int64_t known = 1;
  int open = -1, open_count = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      open = i, ++open_count;
    } else {
      known = bounded_product(known, shape[i]);
    }
  }
  if (open_count == 1 && known != 0) full_shape[open] = x.tensor().count() / known;
  const bool negative = std::ranges::any_of(full_shape, [](std::int64_t size) { return size < 0; });
  if (open_count > 1 || negative || element_count(full_shape) != x.tensor().count()) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{} elements of shape {} cannot become {}", x.tensor().count(),
                              to_string(x.tensor().shape()), to_string(shape)),
          .expected = "the same number of elements; at most one size of -1",
          .where = x.where()});
  }
  return build({x}, [&](Builder&, std::span<const Var> v) { return reshape(v[0], full_shape); });
}
Tensor transpose(const Operand& x, const Dims& order) {
  Dims absolute;
  for (std::int64_t axis : order) absolute.push_back(absolute_axis(x, axis));
  return build({x}, [&](Builder&, std::span<const Var> v) { return transpose(v[0], absolute); });
}
Tensor transpose(const Operand& x) {
  Dims order;
  for (int i = x.tensor().rank() - 1; i >= 0; --i) order.push_back(i);
  return transpose(x, order);
}
Tensor swap_axes(const Operand& x, int a, int b) {
  Dims order = all_axes(x.tensor().rank());
  std::swap(order[absolute_axis(x, a)], order[absolute_axis(x, b)]);
  return transpose(x, order);
}
Tensor slice(const Operand& x, const Dims& start, const Dims& limit, const Dims& step) {
  const Dims steps = step.empty() ? Dims::filled(start.rank(), 1) : step;
  return build({x}, [&](Builder&, std::span<const Var> v) { return slice(v[0], start, limit, steps); });
}
Tensor pad(const Operand& x, const Dims& low, const Dims& high, const Number& fill) {
  if (!x.is_number() && x.tensor().dtype() == DType::boolean) {  // which no number has
    require_fits(DType::boolean, fill, x.where());
    return build({x}, [&](Builder& builder, std::span<const Var> v) {
      return pad(v[0], constant(builder, DType::boolean, fill), low, high, Dims::filled(low.rank(), 0));
    });
  }
  return build({x, Operand(fill, x.where())}, [&](Builder&, std::span<const Var> v) {
    return pad(v[0], v[1], low, high, Dims::filled(low.rank(), 0));
  });
}
Tensor concat(const std::vector<Tensor>& parts, int axis, SourceLine where) {
  if (parts.empty()) {
    fail(ErrorCode::wrong_operand_count, {.what = "concat of no tensors", .where = where});
  }
  const int at = absolute_axis(Operand(parts[0], where), axis);
  return build_all(as_operands(parts, where), where,
                   [&](Builder&, std::span<const Var> v) { return std::vector<Var>{concat(v, at)}; })
      .front();
}
Tensor stack(const std::vector<Tensor>& parts, int axis, SourceLine where) {
  std::vector<Tensor> raised;
  for (const Tensor& part : parts) raised.push_back(expand_dims(Operand(part, where), axis));
  return concat(raised, axis, where);
}
std::vector<Tensor> split(const Operand& x, int axis, const IntList& sizes) {
  const int at = absolute_axis(x, axis);
  return build_all({&x, 1}, x.where(),
                   [&](Builder&, std::span<const Var> v) { return split(v[0], at, sizes); });
}
std::vector<Tensor> split_evenly(const Operand& x, int axis, int parts) {
  const std::int64_t size = x.tensor().shape()[absolute_axis(x, axis)];
  if (parts <= 0 || parts > max_split_parts || size % parts != 0) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("a dimension of size {} cannot be split in {} equal parts", size, parts),
          .expected = fmt::format("a number of parts, at most {}, that divides it", max_split_parts),
          .where = x.where()});
  }
  return split(x, axis, IntList(static_cast<std::size_t>(parts), size / parts));
}
Tensor flip(const Operand& x, const Dims& axes) {
  const Dims absolute = absolute_axes(x, axes);
  return build({x}, [&](Builder&, std::span<const Var> v) { return flip(v[0], absolute); });
}
Tensor tril(const Operand& x, std::int64_t diagonal) {
  return build({x}, [&](Builder&, std::span<const Var> v) { return tril(v[0], diagonal); });
}
Tensor triu(const Operand& x, std::int64_t diagonal) {
  return build({x}, [&](Builder&, std::span<const Var> v) { return triu(v[0], diagonal); });
}
Tensor expand_dims(const Operand& x, int axis) {
  const int rank = x.tensor().rank();
  const int at = axis < 0 ? axis + rank + 1 : axis;
  if (at < 0 || at > rank) {
    fail(ErrorCode::index_out_of_range,
         {.what = fmt::format("a new axis {} for a tensor of rank {}", axis, rank), .where = x.where()});
  }
  return build({x}, [&](Builder&, std::span<const Var> v) { return expand_dims(v[0], at); });
}
Tensor squeeze(const Operand& x, int axis) {
  const int at = absolute_axis(x, axis);
  return build({x}, [&](Builder&, std::span<const Var> v) { return squeeze(v[0], at); });
}

Tensor take(const Operand& x, const Operand& indices, int axis) {
  const int at = absolute_axis(x, axis);
  return build({x, indices}, [&](Builder&, std::span<const Var> v) { return take(v[0], v[1], at); });
}
Tensor gather(const Operand& x, const Operand& indices, int axis) {
  const int at = absolute_axis(x, axis);
  return build({x, indices}, [&](Builder&, std::span<const Var> v) { return gather(v[0], v[1], at); });
}
Tensor scatter_add(const Operand& x, const Operand& indices, const Operand& updates, int axis) {
  const int at = absolute_axis(x, axis);
  return build({x, indices, updates},
               [&](Builder&, std::span<const Var> v) { return scatter_add(v[0], v[1], v[2], at); });
}
Tensor one_hot(const Operand& indices, std::int64_t classes, DType dtype) {
  return build({indices}, [&](Builder&, std::span<const Var> v) { return one_hot(v[0], classes, dtype); });
}

#define TM_REDUCTION(name)                                                                                \
  Tensor name(const Operand& x) { return reduced(reduce_##name, x, all_axes(x.tensor().rank()), false); } \
  Tensor name(const Operand& x, const Dims& axes, bool keep) {                                            \
    return reduced(reduce_##name, x, absolute_axes(x, axes), keep);                                       \
  }
TM_REDUCTION(sum)
TM_REDUCTION(mean)
TM_REDUCTION(max)
TM_REDUCTION(min)
TM_REDUCTION(prod)
TM_REDUCTION(logsumexp)
TM_REDUCTION(var)
#undef TM_REDUCTION
Tensor argmax(const Operand& x, int axis) {
  const int at = absolute_axis(x, axis);
  return build({x}, [&](Builder&, std::span<const Var> v) { return argmax(v[0], at); });
}
Tensor argmin(const Operand& x, int axis) {
  const int at = absolute_axis(x, axis);
  return build({x}, [&](Builder&, std::span<const Var> v) { return argmin(v[0], at); });
}
Tensor cumsum(const Operand& x, int axis) {
  const int at = absolute_axis(x, axis);
  return build({x}, [&](Builder&, std::span<const Var> v) { return cumsum(v[0], at); });
}

Tensor matmul(const Operand& x, const Operand& y) {
  return build({x, y}, [](Builder&, std::span<const Var> v) { return matmul(v[0], v[1]); });
}
Tensor einsum(std::string_view formula, const std::vector<Tensor>& operands, SourceLine where) {
  if (operands.empty()) {
    fail(ErrorCode::wrong_operand_count, {.what = "einsum of no tensors", .where = where});
  }
  return build_all(as_operands(operands, where), where,
                   [&](Builder&, std::span<const Var> v) { return std::vector<Var>{einsum(formula, v)}; })
      .front();
}

}  // namespace tidemark
