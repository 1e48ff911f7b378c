// The functions of trace/linear_algebra.h on a table of sizes: the matrices, results in f64 and f32, a number
// made of the f64 results and its gradient, a line of JSON each. compare_linalg.py computes the same with
// NumPy and PyTorch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "tidemark/tidemark.h"

using namespace tidemark;

namespace {

using Results = std::vector<Tensor>;

int next_seed = 0;
Tensor draw(const Shape& shape) { return random_normal(key(++next_seed), shape, 0, 1, DType::f64); }

std::string as_json(const Tensor& t) {
  std::vector<std::string> numbers;
  for (double v : t.to_vector()) numbers.push_back(fmt::format("{:.17g}", v));
  const std::vector<std::int64_t> shape(t.shape().begin(), t.shape().end());
  return fmt::format("{{\"shape\": [{}], \"data\": [{}]}}", fmt::join(shape, ", "), fmt::join(numbers, ", "));
}
std::string as_json(const Results& list) {
  std::vector<std::string> texts;
  for (const Tensor& t : list) texts.push_back(as_json(t));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// One number in which every element counts differently.
template <class F>
auto probed(const F& f) {
  return [f](const Results& in) {
    Tensor total = scalar(0, DType::f64);
    for (const Tensor& y : f(in)) total = total + sum(sin(y));
    return total;
  };
}

template <class F>
void report(const std::string& name, const Results& in, const F& f) {
  Results narrow;
  for (const Tensor& x : in) narrow.push_back(cast(x, DType::f32));
  fmt::print("{{\"case\": \"{}\", \"in\": {}, \"out\": {}, \"out32\": {}, \"gradients\": {}}}\n", name,
             as_json(in), as_json(compile(f)(in)), as_json(compile(f)(narrow)),
             as_json(compile(grad(probed(f)))(in)));
}

std::string text_of(const Shape& shape) {
  const std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  return fmt::format("{}", fmt::join(sizes, "x"));
}

void report_square(const Shape& shape) {
  const std::string size = text_of(shape);
  const auto n = static_cast<double>(shape.back());
  const Results a = {draw(shape)}, scaled = {a[0] / std::sqrt(n)};  // whose powers neither grow nor vanish
  const Tensor one = eye(shape.back(), DType::f64);
  report("inv/" + size, {scaled[0] + 2 * one}, [](const Results& x) { return Results{inv(x[0])}; });
  report("det/" + size, {a[0] / n + one}, [](const Results& x) { return Results{det(x[0])}; });
  report("slogdet/" + size, a, [](const Results& x) {
    const auto [sign, log] = slogdet(x[0]);
    return Results{sign, log};
  });
  report("eigh/" + size, a, [](const Results& x) {
    const auto [values, vectors] = eigh(x[0]);
    return Results{values, vectors};
  });
  report("matrix_power/" + size, scaled, [](const Results& x) { return Results{matrix_power(x[0], 5)}; });
}

void report_any(const Shape& shape) {
  const std::string size = text_of(shape);
  const Results a = {draw(shape)};
  report("qr/" + size, a, [](const Results& x) {
    const auto [q, r] = qr(x[0]);
    return Results{q, r};
  });
  report("svd/" + size, a, [](const Results& x) {
    const auto [u, s, vt] = svd(x[0]);
    return Results{u, s, vt};
  });
  report("svdvals/" + size, a, [](const Results& x) { return Results{svdvals(x[0])}; });
  report("pinv/" + size, a, [](const Results& x) { return Results{pinv(x[0])}; });
  report("matrix_norm/" + size, a, [](const Results& x) {
    return Results{matrix_norm(x[0]), matrix_norm(x[0], MatrixNorm::nuclear),
                   matrix_norm(x[0], MatrixNorm::spectral), matrix_norm(x[0], MatrixNorm::one),
                   matrix_norm(x[0], MatrixNorm::infinity)};
  });
  Shape right = shape;
  right.back() = 3;
  report("lstsq/" + size, {a[0], draw(right)}, [](const Results& x) { return Results{lstsq(x[0], x[1])}; });
}

// Matrices of a smaller rank, as products, so that the rank stays when they move.
void report_thin(std::int64_t rows, std::int64_t rank, std::int64_t columns) {
  const std::string size = fmt::format("{}x{}x{}", rows, rank, columns);
  const Results factors = {draw({rows, rank}), draw({rank, columns})};
  constexpr RankOptions cut{.rcond = 1e-4};
  report("pinv_thin/" + size, factors,
         [=](const Results& x) { return Results{pinv(matmul(x[0], x[1]), cut)}; });
  report("lstsq_thin/" + size, {factors[0], factors[1], draw({rows, 3})},
         [=](const Results& x) { return Results{lstsq(matmul(x[0], x[1]), x[2], cut)}; });
}

}  // namespace

int main() {
  for (const std::int64_t n : {1, 2, 3, 8, 33, 128}) {
    report_square({n, n});
    report_any({n, n});
  }
  report_square({5, 4, 4});
  for (const Shape& shape : {Shape{5, 4, 4}, Shape{8, 1}, Shape{1, 8}, Shape{8, 3}, Shape{3, 8},
                             Shape{128, 33}, Shape{33, 128}, Shape{2, 3, 9, 4}, Shape{2, 3, 4, 9}}) {
    report_any(shape);
  }
  report_thin(6, 2, 4);
  report_thin(4, 2, 6);
  report_thin(5, 1, 5);
  report_thin(40, 7, 30);
}
