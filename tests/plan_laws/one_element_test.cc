// Programs in which single elements meet arrays: whatever is made of one element only, is an output early and
// again later, or is read as if it were many, is planned and has the bits of the run without a plan.
#include <gtest/gtest.h>

#include <cstring>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

std::string bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes()), static_cast<std::size_t>(tensor.type().bytes())};
}

using Fold = Tensor (*)(const Tensor&);
const std::vector<std::pair<const char*, Fold>> folds = {
    {"sum", [](const Tensor& x) { return sum(x); }},
    {"mean", [](const Tensor& x) { return mean(x); }},
    {"max", [](const Tensor& x) { return max(x); }},
    {"min", [](const Tensor& x) { return min(x); }},
    {"prod", [](const Tensor& x) { return prod(x); }},
    {"sum of rows", [](const Tensor& x) { return sum(sum(x, {-1})); }},
};

TEST(OneElement, ReadAsManyIsFolded) {
  for (const auto& [name, fold] : folds) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      for (const Shape& shape : {Shape{1000}, Shape{1}, Shape{}, Shape{3, 5}, Shape{1, 7}, Shape{4, 1}}) {
        for (const bool adds : {false, true}) {
          SCOPED_TRACE(fmt::format("{} of {} {} {}", name, name_of(dtype), to_string(shape), adds));
          if (shape.empty() && std::string_view(name) == "sum of rows") continue;
          const auto f = [&, fold = fold](const Tensor& s) {
            return fold(adds ? square(zeros(shape, dtype) + s) : exp(ones(shape, dtype) * s));
          };
          const Tensor s = cast(scalar(0.0625), dtype);
          EXPECT_EQ(bytes_of(compile(f)(s)), bytes_of(f(s)));
          if (dtype == DType::f64) {
            EXPECT_EQ(bytes_of(compile(grad(f))(s)), bytes_of(grad(f)(s)));
          }
        }
      }
    }
  }
}

// The loss, the gradient of an argument that plays no part and what both are made of are single elements,
// some of them outputs that are computed more than once.
TEST(OneElement, IsAnOutputAtAnyBudget) {
  const auto f = [](const Tensor& x, const Tensor&) { return mean(tanh(zeros({17, 64}) + x)); };
  const auto both = value_and_grad<0, 1>(f);
  const Tensor x = linspace(-1, 1, 64), s = scalar(0.5);
  const auto expected = both(x, s);
  const auto free = compile(both);
  const std::int64_t peak = free.prepare(x, s).plan.peak();
  const std::int64_t floor = free.smallest(x, s).memory.count;
  for (int percent = 0; percent <= 100; percent += 5) {
    const Bytes budget(floor + (peak - floor) * percent / 100);
    const auto results = compile(both, {.memory = budget, .effort = Effort::quick})(x, s);
    EXPECT_EQ(bytes_of(results.first), bytes_of(expected.first)) << percent;
  }
}

}  // namespace
}  // namespace tidemark
