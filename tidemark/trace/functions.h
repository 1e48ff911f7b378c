// The operations users write. Each runs at once on data and is recorded under a trace; the line it is written
// on travels with its operands. The meaning of each is told where its op is (ops/).
#pragma once
#include <initializer_list>
#include <string_view>
#include <vector>

#include "tidemark/trace/tensor.h"
#include "tidemark/trace/view.h"

namespace tidemark {

// ---- making tensors
Tensor zeros(const Shape& shape, DType dtype = DType::f32,
             SourceLine where = std::source_location::current());
Tensor ones(const Shape& shape, DType dtype = DType::f32, SourceLine where = std::source_location::current());
Tensor full(const Shape& shape, const Number& value, DType dtype = DType::f32,
            SourceLine where = std::source_location::current());
Tensor scalar(const Number& value, DType dtype = DType::f32,
              SourceLine where = std::source_location::current());
Tensor arange(std::int64_t count, DType dtype = DType::i64,
              SourceLine where = std::source_location::current());
Tensor linspace(double first, double last, std::int64_t count, DType dtype = DType::f32,
                SourceLine where = std::source_location::current());
Tensor eye(std::int64_t size, DType dtype = DType::f32, SourceLine where = std::source_location::current());
Tensor zeros_like(const Operand& x);
Tensor ones_like(const Operand& x);
// Copies data in. The count must match the shape.
template <class T>
Tensor tensor(std::span<const T> values, const Shape& shape,
              SourceLine where = std::source_location::current());
template <class T>
Tensor tensor(const std::vector<T>& values, const Shape& shape,
              SourceLine where = std::source_location::current()) {
  return tensor(std::span<const T>(values), shape, where);
}
// Of one dimension.
template <class T>
Tensor tensor(const std::vector<T>& values, SourceLine where = std::source_location::current()) {
  return tensor(std::span<const T>(values), Shape{static_cast<std::int64_t>(values.size())}, where);
}
template <class T>
Tensor tensor(std::initializer_list<T> values, SourceLine where = std::source_location::current()) {
  return tensor(std::span<const T>(values.begin(), values.size()),
                Shape{static_cast<std::int64_t>(values.size())}, where);
}
Tensor tensor_from_bytes(const Type& type, const void* bytes,
                         SourceLine where = std::source_location::current());

// ---- elementwise
#define TM_UNARY(name) Tensor name(const Operand& x);
#define TM_BINARY(name) Tensor name(const Operand& x, const Operand& y);
#include "tidemark/trace/functions.def"
Tensor select(const Operand& condition, const Operand& on_true, const Operand& on_false);
Tensor clamp(const Operand& x, const Number& low, const Number& high);
Tensor polygamma(int order, const Operand& x);  // the derivative of digamma of this order, up to 100
Tensor cast(const Operand& x, DType dtype);
Tensor leaky_relu(const Operand& x, double slope = 0.01);  // slope·x where x is not positive; slope above 0

Tensor operator+(const Operand& x, const Operand& y);
Tensor operator-(const Operand& x, const Operand& y);
Tensor operator*(const Operand& x, const Operand& y);
Tensor operator/(const Operand& x, const Operand& y);
Tensor operator%(const Operand& x, const Operand& y);
Tensor operator-(const Operand& x);
Tensor operator==(const Operand& x, const Operand& y);
Tensor operator!=(const Operand& x, const Operand& y);
Tensor operator<(const Operand& x, const Operand& y);
Tensor operator<=(const Operand& x, const Operand& y);
Tensor operator>(const Operand& x, const Operand& y);
Tensor operator>=(const Operand& x, const Operand& y);
Tensor operator&&(const Operand& x, const Operand& y);
Tensor operator||(const Operand& x, const Operand& y);
Tensor operator!(const Operand& x);

// ---- movement. Axes may be negative; one size of a reshape may be -1.
Tensor broadcast(const Operand& x, const Shape& shape);
Tensor reshape(const Operand& x, const Shape& shape);
Tensor transpose(const Operand& x, const Dims& order);
Tensor transpose(const Operand& x);  // reverses the dimensions
Tensor swap_axes(const Operand& x, int a, int b);
Tensor slice(const Operand& x, const Dims& start, const Dims& limit, const Dims& step = {});
Tensor pad(const Operand& x, const Dims& low, const Dims& high, const Number& fill = 0);
Tensor concat(const std::vector<Tensor>& parts, int axis, SourceLine where = std::source_location::current());
Tensor stack(const std::vector<Tensor>& parts, int axis = 0,
             SourceLine where = std::source_location::current());
std::vector<Tensor> split(const Operand& x, int axis, const IntList& sizes);
std::vector<Tensor> split_evenly(const Operand& x, int axis, int parts);
Tensor flip(const Operand& x, const Dims& axes);
Tensor tril(const Operand& x, std::int64_t diagonal = 0);
Tensor triu(const Operand& x, std::int64_t diagonal = 0);
Tensor expand_dims(const Operand& x, int axis);
Tensor squeeze(const Operand& x, int axis);

// ---- reading and writing by position
Tensor take(const Operand& x, const Operand& indices, int axis);
Tensor gather(const Operand& x, const Operand& indices, int axis);
Tensor scatter_add(const Operand& x, const Operand& indices, const Operand& updates, int axis);
Tensor one_hot(const Operand& indices, std::int64_t classes, DType dtype = DType::f32);

// ---- reductions, over all axes unless some are given
Tensor sum(const Operand& x);
Tensor sum(const Operand& x, const Dims& axes, bool keep = false);
Tensor mean(const Operand& x);
Tensor mean(const Operand& x, const Dims& axes, bool keep = false);
Tensor max(const Operand& x);
Tensor max(const Operand& x, const Dims& axes, bool keep = false);
Tensor min(const Operand& x);
Tensor min(const Operand& x, const Dims& axes, bool keep = false);
Tensor prod(const Operand& x);
Tensor prod(const Operand& x, const Dims& axes, bool keep = false);
Tensor logsumexp(const Operand& x);
Tensor logsumexp(const Operand& x, const Dims& axes, bool keep = false);
Tensor var(const Operand& x);
Tensor var(const Operand& x, const Dims& axes, bool keep = false);
Tensor argmax(const Operand& x, int axis);
Tensor argmin(const Operand& x, int axis);
Tensor cumsum(const Operand& x, int axis);

// ---- contractions
Tensor matmul(const Operand& x, const Operand& y);
Tensor einsum(std::string_view formula, const std::vector<Tensor>& operands,
              SourceLine where = std::source_location::current());

}  // namespace tidemark
