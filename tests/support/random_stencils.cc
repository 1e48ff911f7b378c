#include "tests/support/random_stencils.h"

#include <fmt/format.h>

#include "tidemark/trace/array_functions.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/model_functions.h"

namespace tidemark::testing {

RandomStencil::RandomStencil(unsigned seed, const StencilKind& kind) : seed_(seed) {
  Draw draw(seed);
  constexpr DType floats[] = {DType::f32, DType::f64, DType::f32, DType::bf16, DType::f16};
  constexpr DType wholes[] = {DType::i32, DType::i64, DType::u8};
  const bool whole = !kind.smooth && draw.chance(25);
  dtype_ = whole ? draw.from(wholes) : draw.from(floats);
  // A few tiles or less than one, now and then less than a halo.
  constexpr int most[] = {600, 70, 14};
  const int rank = draw.between(1, 3);
  for (int d = 0; d < rank; ++d)
    shape_.push_back(draw.chance(15) ? draw.between(1, 4) : draw.between(2, most[rank - 1]));
  if (element_count(shape_) == 1) shape_[0] = 5;
  const int states = draw.between(1, 3);
  for (int s = 0; s < states; ++s) {
    const bool other = s > 0 && draw.chance(15);
    state_types_.push_back({other ? (whole ? DType::i32 : DType::f64) : dtype_, shape_});
  }
  constexpr std::int64_t lengths[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 16};
  steps_ = draw.from(lengths);
  reads_fields_ = draw.chance(30), counts_ = draw.chance(20);
  const int reach = draw.chance(60) ? 1 : draw.between(2, 3);
  const auto values = static_cast<std::int64_t>(states) + 1;  // behind the medium
  const int lines = draw.between(3, 10);
  for (int l = 0; l < lines; ++l) {
    Line line;
    // What was made last is read more often than what was there first.
    const auto any = [&] {
      const std::int64_t count = values + l;
      return static_cast<std::size_t>(
          draw.chance(50) ? count - 1 - draw.below(std::min<std::int64_t>(count, 3)) : draw.below(count));
    };
    line.a = any(), line.b = any();
    // Something of the first state's neighbours is in what comes next.
    if (l < 2) line.a = 1, line.b = l == 0 ? 1 : static_cast<std::size_t>(values);
    constexpr What usual[] = {What::window,  What::window, What::window, What::sum,  What::sum,  What::sum,
                              What::product, What::blend,  What::choice, What::push, What::along};
    line.what = l == 0 ? What::window : l == 1 ? What::sum : draw.from(usual);
    // A window is one where it is read element by element.
    const auto is_window = [&](std::size_t value) {
      const std::int64_t made = static_cast<std::int64_t>(value) - values;
      return made >= 0 && lines_[static_cast<std::size_t>(made)].what == What::window;
    };
    if (line.what == What::window && is_window(line.a) && draw.chance(90)) line.what = What::sum;
    if (line.what == What::choice && is_window(line.b) && draw.chance(90)) line.what = What::blend;
    line.shift = Dims::filled(rank, 0);
    for (int d = 0; d < rank; ++d) {
      if (draw.chance(60)) line.shift[d] = draw.between(-reach, reach);
    }
    if (draw.chance(3)) line.shift[0] = draw.between(-9, 9);
    line.fill = draw.chance(30) ? draw.between(1, 2) : 0;
    line.odd = draw.below(6);
    lines_.push_back(line);
  }
  if (draw.chance(kind.odd)) lines_[static_cast<std::size_t>(draw.below(lines))].what = What::odd;
  for (int s = 0; s < states; ++s) {
    const std::int64_t count = values + lines;
    next_.push_back(
        static_cast<std::size_t>(draw.chance(75) ? count - 1 - draw.below(3) : draw.below(count)));
  }
  constexpr HandsOver kinds[] = {HandsOver::nothing,  HandsOver::nothing, HandsOver::elements,
                                 HandsOver::elements, HandsOver::number,  HandsOver::number,
                                 HandsOver::field};
  hands_over_ = draw.from(kinds);
}

std::vector<Type> RandomStencil::types() const {
  std::vector<Type> types = state_types_;
  Shape row = shape_, fields = shape_;
  row[0] = 1;
  fields.insert(0, steps_);
  types.push_back({dtype_, shape_});
  types.push_back({dtype_, row});
  types.push_back({dtype_, {steps_}});
  types.push_back({dtype_, reads_fields_ ? fields : Shape{steps_, 1}});
  return types;
}

std::vector<Literal> RandomStencil::inputs() const {
  std::vector<Literal> inputs;
  for (const Type& type : types()) {
    const bool whole = !is_float(type.dtype);
    inputs.push_back(
        random_literal(type.dtype, type.shape, seed_ + 5 * inputs.size(), whole ? 0 : -1, whole ? 9 : 1));
  }
  return inputs;
}

std::vector<Tensor> RandomStencil::arguments() const {
  std::vector<Tensor> arguments;
  for (const Type& type : types()) arguments.push_back(Tensor::of_type(type));
  return arguments;
}

Tensor RandomStencil::line(const Line& line, const std::vector<Tensor>& values, const Tensor& medium,
                           const Tensor& row, const Tensor& push) const {
  const Tensor &a = values[line.a], &b = values[line.b];
  const auto moved = [&](const Tensor& x, const Dims& shift) {
    Dims low = shift, high = shift, start = shift, limit = shape_;
    for (int d = 0; d < shift.rank(); ++d) {
      low[d] = std::max<std::int64_t>(0, -shift[d]), high[d] = std::max<std::int64_t>(0, shift[d]);
      start[d] = low[d] + shift[d], limit[d] = start[d] + shape_[d];
    }
    return slice(pad(x, low, high, line.fill), start, limit);
  };
  const auto less = [&](const Tensor& x) { return is_float(dtype_) ? x * 0.5 : x; };
  switch (line.what) {
    case What::window:
      return moved(a, line.shift);
    case What::sum:
      return line.fill ? less(a - b) : less(a + b);
    case What::product:
      return a * medium;
    case What::blend:
      return line.fill ? maximum(a, less(b)) : a - relu(b);
    case What::choice:
      return select(a > b, a, moved(b, line.shift));
    case What::push:
      return a + b * push;
    case What::along:
      return a * row;
    case What::odd:
      break;
  }
  switch (line.odd) {
    case 0:
      return roll(a, line.shift[0], 0);
    case 1: {
      if (!is_float(dtype_)) return a + cast(random_bernoulli(key(3), shape_, 0.5), dtype_);
      return a + cast(random_uniform(key(4), shape_, -0.5, 0.5), dtype_);
    }
    case 2:
      return flip(a, {0});
    case 3:
      return cond(
          less(sum(a)) > sum(b), [](const Tensor& x) { return -x; },
          [&](const Tensor& x) { return moved(x, line.shift); }, a);
    case 4:
      return repeat(
          3, [&](const Tensor& x) { return less(x + moved(x, line.shift)); }, a);
    default:
      return a + max(b);
  }
}

std::pair<std::vector<Tensor>, std::vector<Tensor>> RandomStencil::step(const std::vector<Tensor>& states,
                                                                        const Tensor& medium,
                                                                        const Tensor& row,
                                                                        const std::vector<Tensor>& xs) const {
  std::vector<Tensor> values = {reads_fields_ ? medium + xs[1] : medium};
  for (const Tensor& state : states) values.push_back(state.dtype() == dtype_ ? state : cast(state, dtype_));
  for (const Line& line : lines_) values.push_back(this->line(line, values, medium, row, xs[0]));
  std::vector<Tensor> next, handed;
  for (std::size_t s = 0; s < states.size(); ++s) {
    // What is read element by element may be a window.
    const Tensor value = is_float(dtype_) ? values[next_[s]] * 0.75 : values[next_[s]] * 3;
    next.push_back(state_types_[s].dtype == dtype_ ? value : cast(value, state_types_[s].dtype));
  }
  switch (hands_over_) {
    case HandsOver::nothing:
      break;
    case HandsOver::elements: {
      Dims limit = shape_;
      for (int d = 0; d < limit.rank(); ++d) limit[d] = std::min<std::int64_t>(limit[d], 2);
      handed.push_back(slice(next[0], Dims::filled(limit.rank(), 0), limit));
      break;
    }
    case HandsOver::number:
      handed.push_back(sum(next.back()));
      handed.push_back(xs[0] * xs[0]);
      break;
    case HandsOver::field:
      handed.push_back(values[next_.back()]);
      break;
  }
  return {next, handed};
}

std::vector<Tensor> RandomStencil::operator()(const std::vector<Tensor>& arguments) const {
  const auto states = static_cast<std::ptrdiff_t>(state_types_.size());
  const std::vector<Tensor> start(arguments.begin(), arguments.begin() + states);
  const Tensor medium = arguments[static_cast<std::size_t>(states)],
               row = arguments[static_cast<std::size_t>(states) + 1];
  const std::vector<Tensor> xs = {arguments[static_cast<std::size_t>(states) + 2],
                                  arguments[static_cast<std::size_t>(states) + 3]};
  if (counts_) {  // without what it reads and hands over
    const Tensor push = full({}, 1, dtype_);
    const auto plain = [&](const std::vector<Tensor>& now) {
      return step(now, medium, row, {push, medium}).first;
    };
    return repeat(steps_, plain, start);
  }
  const auto body = [&](const std::vector<Tensor>& now, const std::vector<Tensor>& x) {
    return step(now, medium, row, x);
  };
  auto [last, handed] = scan(body, start, xs);
  for (const Tensor& y : handed) last.push_back(y);
  return last;
}

Tensor RandomStencil::loss(const std::vector<Tensor>& arguments) const {
  Tensor loss = scalar(0, DType::f64);
  for (const Tensor& result : (*this)(arguments)) {
    const Tensor wide = cast(result, DType::f64);
    loss = loss + sum(wide * wide);
  }
  return loss;
}

std::string RandomStencil::text() const {
  return fmt::format("seed {}: {} states of {}, {} steps", seed_, state_types_.size(),
                     to_string(state_types_[0]), steps_);
}

}  // namespace tidemark::testing
