#include "tests/programs/random_function.h"

#include <algorithm>

#include "tests/programs/function_writer.h"
#include "tests/support/random_programs.h"

namespace tidemark::testing {

FunctionProfile::FunctionProfile(std::uint64_t s) : seed(s) {
  Draw draw = Draw(seed).branch(0);
  steps = draw.between(3, 18);
  const bool large = draw.chance(4);  // enough for several tasks
  const std::vector<std::int64_t> small_sizes = {1, 2, 3, 4, 5, 7, 8, 17},
                                  usual_sizes = {1, 3, 6, 16, 33, 64, 70};
  const std::vector<std::int64_t> large_sizes = {64, 130, 257};
  const auto& choice = large ? large_sizes : draw.chance(60) ? small_sizes : usual_sizes;
  for (int i = draw.between(2, 3); i > 0; --i) sizes.push_back(draw.from(choice));
  if (draw.chance(8)) sizes.push_back(0);
  most_elements = large ? 70000 : 5000;
  if (large) steps = std::min(steps, 8);
  const int flavour = draw.below(10);
  const DType usual = flavour < 4 ? DType::f64 : DType::f32;
  dtypes.assign(8, usual);
  if (flavour >= 6) {
    for (DType other : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8,
                        DType::boolean}) {
      dtypes.push_back(other);
    }
  }
  for (int i = draw.below(3); i > 0; --i) outside.push_back(draw_tensor(draw));
}

Shape FunctionProfile::draw_shape(Draw& draw) const {
  Shape shape;
  for (int i = draw.from(std::vector<int>{0, 1, 1, 2, 2, 2, 3, 4}); i > 0; --i)
    shape.push_back(draw.chance(20) ? 1 : draw.from(sizes));
  while (element_count(shape) > most_elements) shape.erase(0);
  return shape;
}

Tensor FunctionProfile::draw_tensor(Draw& draw) const {
  const DType dtype = draw.from(dtypes);
  const Shape shape = draw_shape(draw);
  const std::uint64_t number = draw.bits();
  // Whole numbers now and then: ties, zeros and equal elements.
  if (draw.chance(20)) return tensor_of(counting(dtype, shape, static_cast<std::int64_t>(number % 9)));
  const bool is_index = !is_float(dtype);
  return tensor_of(random_literal(dtype, shape, number, is_index ? 0 : -1.5, is_index ? 6 : 1.5));
}

RandomFunction::RandomFunction(std::uint64_t seed, std::set<int> left_out)
    : profile_(seed), left_out_(std::move(left_out)) {}

bool RandomFunction::is_smooth() const {
  return std::ranges::all_of(profile_.dtypes, [](DType dtype) { return dtype == DType::f64; });
}

std::vector<Tensor> RandomFunction::arguments() const {
  Draw draw = Draw(profile_.seed).branch(1);
  std::vector<Tensor> list;
  for (int i = draw.between(1, 4); i > 0; --i) list.push_back(profile_.draw_tensor(draw));
  if (draw.chance(10)) list.push_back(draw.from(list));
  return list;
}

std::vector<Tensor> RandomFunction::operator()(const std::vector<Tensor>& arguments) const {
  const Draw draw = Draw(profile_.seed).branch(2);
  FunctionWriter writer(profile_, arguments);
  for (int s = 0; s < profile_.steps; ++s) {
    if (!left_out_.contains(s)) writer.step(draw.branch(static_cast<std::uint64_t>(s)));
  }
  Draw last = draw.branch(1000);
  std::vector<Tensor> results = {writer.values().back()};
  for (int i = last.below(3); i > 0; --i) results.push_back(writer.pick(last));
  return results;
}

}  // namespace tidemark::testing
