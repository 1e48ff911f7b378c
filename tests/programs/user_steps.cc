// Steps in the words of users: movement, reductions, products, windows and mutation, constants, random
// numbers, hints.
#include <algorithm>
#include <numeric>

#include "tests/programs/function_writer.h"

namespace tidemark::testing {

void FunctionWriter::step(Draw draw) {
  const int kind = draw.below(100);
  if (kind < 34) return call_elementwise(draw);
  if (kind < 50) return call_any(draw);
  if (kind < 61) return move(draw);
  if (kind < 69) return fold(draw);
  if (kind < 73) return multiply(draw);
  if (kind < 80) return mutate(draw);
  if (kind < 85) return make_constant(draw);
  if (kind < 87) return draw_numbers(draw);
  if (kind < 89) return index(draw);
  if (kind < 91) return hint(draw);
  if (kind < 93 && !profile_.outside.empty()) return add(draw.from(profile_.outside));
  if (depth_ >= 2) return call_elementwise(draw);
  if (kind < 95) return repeat_steps(draw);
  if (kind < 96) return scan_steps(draw);
  if (kind < 97) return loop_while(draw);
  if (kind < 99) return choose(draw);
  checkpoint_steps(draw);
}

void FunctionWriter::add(const Tensor& value) {
  if (value.rank() <= 5 && value.count() <= profile_.most_elements) values_.push_back(value);
}

// Mostly what was made last.
Tensor FunctionWriter::pick(Draw& draw) const {
  const auto size = static_cast<std::int64_t>(values_.size());
  const std::int64_t back = draw.chance(50) ? draw.below(std::min<std::int64_t>(size, 3)) : draw.below(size);
  return values_[static_cast<std::size_t>(size - 1 - back)];
}

Tensor FunctionWriter::pick_dtype(DType dtype, Draw& draw) const {
  for (int attempt = 0; attempt < 4; ++attempt) {
    if (Tensor x = pick(draw); x.dtype() == dtype) return x;
  }
  return cast(pick(draw), dtype);
}

Tensor FunctionWriter::pick_float(Draw& draw) const {
  const Tensor x = pick(draw);
  return is_float(x.dtype()) ? x : cast(x, profile_.dtypes[0]);
}

namespace {

// The same elements in another shape.
Shape reshaped(const Shape& shape, Draw& draw) {
  Shape to = shape;
  const int axis = shape.empty() ? 0 : draw.below(shape.rank());
  switch (draw.below(4)) {
    case 0:
      return {element_count(shape)};
    case 1:
      to.insert(draw.below(shape.rank() + 1), 1);
      return to;
    case 2:
      if (axis + 1 >= shape.rank()) return to;
      to[axis] *= to[axis + 1];
      to.erase(axis + 1);
      return to;
    default:
      if (shape.empty() || to[axis] % 2 != 0) return to;
      to[axis] /= 2;
      to.insert(axis, 2);
      return to;
  }
}

Dims draw_axes(int rank, Draw& draw) {
  Dims axes;
  for (int d = 0; d < rank; ++d) {
    if (draw.chance(50)) axes.push_back(d);
  }
  return axes;
}

// A window of each dimension: [start, limit) by step.
struct Window {
  Dims start, limit, step;
};
Window draw_window(const Shape& shape, Draw& draw) {
  Window w;
  for (std::int64_t size : shape) {
    const bool whole = draw.chance(40);
    w.start.push_back(whole ? 0 : draw.below(size + 1));
    w.limit.push_back(whole ? size : draw.between(static_cast<int>(w.start.back()), static_cast<int>(size)));
    w.step.push_back(whole ? 1 : draw.between(1, 3));
  }
  return w;
}

}  // namespace

void FunctionWriter::move(Draw& draw) {
  const Tensor x = pick(draw);
  const int rank = x.rank();
  const int axis = rank == 0 ? 0 : draw.below(rank);
  switch (draw.below(11)) {
    case 0:
    case 1:
      return add(reshape(x, reshaped(x.shape(), draw)));
    case 2: {
      Dims order = Dims::filled(rank, 0);
      std::iota(order.begin(), order.end(), 0);
      for (int d = rank - 1; d > 0; --d) std::swap(order[d], order[draw.below(d + 1)]);
      return add(transpose(x, order));
    }
    case 3:
    case 4: {
      const Window w = draw_window(x.shape(), draw);
      return add(slice(x, w.start, w.limit, w.step));
    }
    case 5: {
      Shape to = x.shape();
      for (std::int64_t& size : to) {
        if (size == 1) size = draw.from(profile_.sizes);
      }
      if (rank < 4 && draw.chance(50)) to.insert(0, draw.from(profile_.sizes));
      if (element_count(to) <= profile_.most_elements) add(broadcast(x, to));
      return;
    }
    case 6:
      return add(flip(x, draw_axes(rank, draw)));
    case 7: {
      if (rank == 0) return add(expand_dims(x, 0));
      const Tensor y = draw.chance(50) ? x : fitted(pick(draw), x.type());
      return add(draw.chance(60) ? concat({x, y}, axis) : stack({x, y}, draw.below(rank + 1)));
    }
    case 8: {
      if (rank == 0) return;
      const std::int64_t first = draw.below(x.size(axis) + 1);
      for (const Tensor& part : split(x, axis, {first, x.size(axis) - first})) add(part);
      return;
    }
    case 9: {
      Dims low, high;
      for (int d = 0; d < rank; ++d) low.push_back(draw.below(3)), high.push_back(draw.below(3));
      return add(pad(x, low, high, draw.chance(50) ? 0 : 1));
    }
    default:
      if (rank < 2) return add(expand_dims(x, draw.below(rank + 1)));
      return add(draw.chance(50) ? tril(x, draw.between(-1, 1)) : triu(x, draw.between(-1, 1)));
  }
}

void FunctionWriter::fold(Draw& draw) {
  const Tensor x = pick_float(draw);
  const bool all_axes = draw.chance(35);
  const Dims axes = all_axes ? Dims() : draw_axes(x.rank(), draw);
  const bool keep = draw.chance(40), empty = x.count() == 0;
  switch (draw.below(empty ? 3 : 9)) {
    case 0:
      return add(all_axes ? sum(x) : sum(x, axes, keep));
    case 1:
      return add(all_axes ? mean(x) : mean(x, axes, keep));
    case 2:
      return add(all_axes ? prod(x) : prod(x, axes, keep));
    case 3:
      return add(all_axes ? max(x) : max(x, axes, keep));
    case 4:
      return add(all_axes ? min(x) : min(x, axes, keep));
    case 5:
      return add(all_axes ? logsumexp(x) : logsumexp(x, axes, keep));
    case 6:
      return add(all_axes ? var(x) : var(x, axes, keep));
    case 7:
      if (x.rank() == 0) return;
      return add(draw.chance(50) ? argmax(x, draw.below(x.rank())) : argmin(x, draw.below(x.rank())));
    default:
      if (x.rank() == 0) return;
      return add(draw.chance(50) ? softmax(x, draw.below(x.rank())) : cumsum(x, draw.below(x.rank())));
  }
}

// Factors are fitted where they do not meet.
void FunctionWriter::multiply(Draw& draw) {
  const Tensor x = pick_float(draw);
  if (x.rank() == 0) return add(x * pick_dtype(x.dtype(), draw));
  const std::int64_t inner = x.size(-1), columns = draw.from(profile_.sizes);
  const Tensor y = draw.chance(30) && x.rank() >= 2 ? swap_axes(x, -1, -2)
                                                    : fitted(pick(draw), {x.dtype(), {inner, columns}});
  if (x.rank() == 1) return add(matmul(reshape(x, {1, inner}), fitted(y, {x.dtype(), {inner, columns}})));
  std::int64_t count = x.count() / std::max<std::int64_t>(inner, 1) * y.size(-1);
  if (count <= profile_.most_elements) add(matmul(x, y));
}

void FunctionWriter::mutate(Draw& draw) {
  Tensor x = pick_float(draw);
  const Tensor before = x;
  switch (draw.below(6)) {
    case 0:
      x += fitted(pick(draw), {x.dtype(), {}});
      break;
    case 1:
      x *= draw.chance(50) ? Operand(0.5) : Operand(fitted(pick(draw), x.type()));
      break;
    case 2:
      x -= Tensor(x);
      break;
    case 3: {
      if (x.rank() == 0 || x.size(0) == 0) return;
      const Index row(draw.below(x.size(0)));
      const Tensor value = fitted(pick(draw), {x.dtype(), Tensor(x.at(row)).shape()});
      if (draw.chance(50)) {
        x.at(row) = value;
      } else {
        x.at(row) += value;
      }
      break;
    }
    case 4: {
      if (x.rank() == 0) return;
      const Range range{draw.below(x.size(0) + 1), draw.below(x.size(0) + 1), draw.between(1, 2)};
      if (range.start > range.stop) return;
      if (draw.chance(50)) {
        x.at(range) = 0.25;
      } else {
        x.at(range) *= 2;
      }
      break;
    }
    default: {
      if (x.rank() < 2 || x.count() == 0) return;
      x.at(draw.below(x.size(0))).at(draw.below(x.size(1))) -= 1;
      add(x.at(all, draw.below(x.size(1))));
      break;
    }
  }
  add(x);
  if (draw.chance(30)) add(before);
}

void FunctionWriter::make_constant(Draw& draw) {
  const DType dtype = draw.from(profile_.dtypes);
  const Shape shape = profile_.draw_shape(draw);
  const bool is_bool = dtype == DType::boolean;
  switch (draw.below(7)) {
    case 0:
      return add(zeros(shape, dtype));
    case 1:
      return add(ones(shape, dtype));
    case 2:
      return add(full(shape, is_float(dtype) ? 0.75 : 1, dtype));
    case 3:
      return add(scalar(is_bool ? 1 : 2, dtype));
    case 4:
      return add(is_bool ? ones(shape, dtype) : arange(draw.from(profile_.sizes), dtype));
    case 5:
      return add(linspace(-1, 1, 1 + draw.from(profile_.sizes), profile_.dtypes[0]));
    default:
      return add(eye(std::min<std::int64_t>(draw.from(profile_.sizes), 40), profile_.dtypes[0]));
  }
}

void FunctionWriter::draw_numbers(Draw& draw) {
  Tensor k = key(draw.below(1000));
  if (draw.chance(30)) k = fold_in(k, draw.below(10));
  if (draw.chance(20)) k = split_key(k, 2)[1];
  const Shape shape = profile_.draw_shape(draw);
  const DType dtype = profile_.dtypes[0];
  switch (draw.below(6)) {
    case 0:
      return add(random_uniform(k, shape, -1, 1, dtype));
    case 1:
      return add(random_normal(k, shape, 0, 1, dtype));
    case 2:
      return add(random_bernoulli(k, shape, 0.5));
    case 3:
      return add(random_permutation(k, draw.from(profile_.sizes)));
    default:
      return add(dropout(pick_float(draw), 0.25, k));
  }
}

// Positions from data, brought into range.
void FunctionWriter::index(Draw& draw) {
  const Tensor x = pick(draw);
  if (x.rank() == 0 || x.count() == 0) return;
  const int axis = draw.below(x.rank());
  const Tensor positions = clamp(pick_dtype(DType::i64, draw), 0, static_cast<double>(x.size(axis) - 1));
  if (positions.rank() > 2) return;
  switch (draw.below(3)) {
    case 0:
      if (x.count() / x.size(axis) * positions.count() > profile_.most_elements) return;
      return add(take(x, positions, axis));
    case 1: {
      const Tensor places = fitted(positions, {DType::i64, x.shape()});
      return add(gather(x, places, axis));
    }
    default: {
      const Tensor y = pick_float(draw);
      if (y.rank() == 0 || y.count() == 0) return;
      const int along = draw.below(y.rank());
      const Tensor places =
          fitted(clamp(positions, 0, static_cast<double>(y.size(along) - 1)), {DType::i64, y.shape()});
      return add(scatter_add(y, places, y, along));
    }
  }
}

void FunctionWriter::hint(Draw& draw) {
  const Tensor x = pick(draw);
  add(draw.chance(40) ? keep(x) : draw.chance(60) ? recompute(x) : name(x, "h"));
}

}  // namespace tidemark::testing
