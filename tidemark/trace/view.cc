#include "tidemark/trace/view.h"

#include <array>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

// A position counted from the end when negative, checked to lie in [0, limit].
std::int64_t absolute(std::int64_t position, std::int64_t size, std::int64_t limit, const Shape& shape,
                      SourceLine where) {
  const std::int64_t at = position < 0 ? position + size : position;
  if (at < 0 || at > limit) {
    fail(ErrorCode::index_out_of_range,
         {.what = fmt::format("index {} is out of range for a dimension of size {} (shape {})", position,
                              size, to_string(shape)),
          .expected = fmt::format("{} to {}", -size, limit),
          .where = where});
  }
  return at;
}

}  // namespace

TensorView::TensorView(const Tensor& base, std::shared_ptr<Watch> variable)
    : base_(base), variable_(std::move(variable)), shape_(base.shape()) {
  start_ = Dims::filled(base.rank(), 0);
  count_ = base.shape();
  step_ = Dims::filled(base.rank(), 1);
  visible_.assign(base.shape().size(), true);
}

TensorView::TensorView(Tensor& base, std::span<const Index> indices)
    : TensorView(TensorView(base, base.watch()).narrowed(indices)) {}

Tensor TensorView::values(const Tensor& base, std::span<const Index> indices) {
  return TensorView(base, nullptr).narrowed(indices);
}

TensorView TensorView::at(const Index& i0, const Index& i1, const Index& i2, const Index& i3, const Index& i4,
                          const Index& i5, const Index& i6, const Index& i7) const {
  return narrowed(std::array{i0, i1, i2, i3, i4, i5, i6, i7});
}

TensorView Tensor::at(const Index& i0, const Index& i1, const Index& i2, const Index& i3, const Index& i4,
                      const Index& i5, const Index& i6, const Index& i7) & {
  return TensorView(*this, std::array{i0, i1, i2, i3, i4, i5, i6, i7});
}

Tensor Tensor::at(const Index& i0, const Index& i1, const Index& i2, const Index& i3, const Index& i4,
                  const Index& i5, const Index& i6, const Index& i7) const& {
  return TensorView::values(*this, std::array{i0, i1, i2, i3, i4, i5, i6, i7});
}

Tensor Tensor::at(const Index& i0, const Index& i1, const Index& i2, const Index& i3, const Index& i4,
                  const Index& i5, const Index& i6, const Index& i7) && {
  return TensorView::values(*this, std::array{i0, i1, i2, i3, i4, i5, i6, i7});
}

TensorView TensorView::narrowed(std::span<const Index> indices) const {
  while (!indices.empty() && !indices.back().where.known()) indices = indices.first(indices.size() - 1);
  if (indices.size() > shape_.size()) {
    fail(ErrorCode::index_out_of_range,
         {.what = fmt::format("{} indices for a tensor of shape {}", indices.size(), to_string(shape_)),
          .where = indices.front().where});
  }
  TensorView view(base_, variable_);
  view.shape_ = {};
  view.where_ = indices.empty() ? where_ : indices.front().where;
  view.start_ = start_;
  view.count_ = count_;
  view.step_ = step_;
  view.visible_ = visible_;
  std::size_t next = 0;
  for (int d = 0; d < count_.rank(); ++d) {
    const auto k = static_cast<std::size_t>(d);
    if (!visible_[k]) continue;
    if (next < indices.size()) {
      const Index& index = indices[next++];
      const std::int64_t size = count_[d];
      if (index.single) {
        const std::int64_t at = absolute(index.range.start, size, size - 1, shape_, index.where);
        view.start_[d] = start_[d] + at * step_[d];
        view.count_[d] = 1;
        view.visible_[k] = false;
        continue;
      }
      if (index.range.step < 1) {
        fail(ErrorCode::bad_attribute, {.what = fmt::format("a range with step {}", index.range.step),
                                        .expected = "a step of 1 or more",
                                        .where = index.where,
                                        .help = "use flip() to run backwards"});
      }
      const std::int64_t first = absolute(index.range.start, size, size, shape_, index.where);
      const std::int64_t last =
          index.range.stop == to_the_end ? size : absolute(index.range.stop, size, size, shape_, index.where);
      const std::int64_t step =
          std::min(index.range.step, std::max<std::int64_t>(size, 1));  // no product overflows
      view.start_[d] = start_[d] + first * step_[d];
      view.count_[d] = last > first ? (last - first + step - 1) / step : 0;
      view.step_[d] = step_[d] * step;
    }
    view.shape_.push_back(view.count_[d]);
  }
  return view;
}

Tensor TensorView::read(SourceLine where) const {
  return build({Operand(base_, where)}, [&](Builder&, std::span<const Var> x) {
    Dims limit = start_;
    for (int d = 0; d < limit.rank(); ++d) {
      limit[d] = count_[d] == 0 ? start_[d] : start_[d] + (count_[d] - 1) * step_[d] + 1;
    }
    return reshape(slice(x[0], start_, limit, step_), shape_);
  });
}

Tensor& TensorView::written(SourceLine where) {
  const Tensor* variable = variable_ ? variable_->variable() : nullptr;
  if (!variable) {
    fail(ErrorCode::foreign_tensor,
         {.what = fmt::format("a window of shape {} is written, and its tensor exists no more",
                              to_string(shape_)),
          .where = where,
          .help = "write while the tensor is there, or return the tensor itself"});
  }
  return const_cast<Tensor&>(*variable);  // windows are made of variables that may be written
}

const TensorView& TensorView::operator=(const Operand& value) && {
  Tensor& x = written(value.where());
  x = build({Operand(x, value.where()), value}, [&](Builder&, std::span<const Var> in) {
    return update_slice(in[0], reshape(broadcast(in[1], shape_), count_), start_, step_);
  });
  base_ = x;
  return *this;
}

const TensorView& TensorView::operator+=(const Operand& value) && {
  return std::move(*this) = Operand(Operand(*this, value.where()) + value, value.where());
}
const TensorView& TensorView::operator-=(const Operand& value) && {
  return std::move(*this) = Operand(Operand(*this, value.where()) - value, value.where());
}
const TensorView& TensorView::operator*=(const Operand& value) && {
  return std::move(*this) = Operand(Operand(*this, value.where()) * value, value.where());
}
const TensorView& TensorView::operator/=(const Operand& value) && {
  return std::move(*this) = Operand(Operand(*this, value.where()) / value, value.where());
}

Operand::Operand(const TensorView& view, SourceLine where) : tensor_(view.read(where)), where_(where) {}

Tensor& Tensor::operator+=(const Operand& other) { return *this = Operand(*this, other.where()) + other; }
Tensor& Tensor::operator-=(const Operand& other) { return *this = Operand(*this, other.where()) - other; }
Tensor& Tensor::operator*=(const Operand& other) { return *this = Operand(*this, other.where()) * other; }
Tensor& Tensor::operator/=(const Operand& other) { return *this = Operand(*this, other.where()) / other; }

}  // namespace tidemark
