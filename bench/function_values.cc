// Functions of f64 tensors: what each is given, what it gives, and where it has one the gradient of a sum
// that tells its results apart, a line of JSON each. compare_functions.py does the same with NumPy, PyTorch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tidemark/tidemark.h"

using namespace tidemark;

namespace {

int next_seed = 0;
Tensor draw(const Shape& shape) { return random_normal(key(++next_seed), shape, 0, 1, DType::f64); }

std::string text_of(const Tensor& t) {
  std::vector<std::string> numbers;
  for (double v : t.to_vector()) numbers.push_back(fmt::format("\"{:a}\"", v));
  const std::vector<std::int64_t> shape(t.shape().begin(), t.shape().end());
  return fmt::format("{{\"shape\": [{}], \"data\": [{}]}}", fmt::join(shape, ", "), fmt::join(numbers, ", "));
}

// `arguments`: what the peer needs beside x, as JSON.
void write(const std::string& function, const std::string& arguments, const Tensor& x, const Tensor& y,
           const Tensor& gradient = {}) {
  fmt::print("{{\"function\": \"{}\", \"arguments\": {{{}}}, \"x\": {}, \"y\": {}, \"gradient\": {}}}\n",
             function, arguments, text_of(x), text_of(y),
             gradient.shape().empty() ? "null" : text_of(gradient));
}
template <class F>
void report(const std::string& function, const std::string& arguments, const Tensor& x, const F& f) {
  const Tensor gradient = compile(grad([&](Tensor u) { return sum(sin(f(u))); }))(x);
  write(function, arguments, x, compile(f)(x), gradient);
}

void gamma_functions() {
  const Tensor line = concat({linspace(-9.97, 9.93, 400, DType::f64), linspace(11, 900, 100, DType::f64)}, 0);
  report("lgamma", "", line, [](Tensor x) { return lgamma(x); });
  report("digamma", "", line, [](Tensor x) { return digamma(x); });
  const Tensor positive = linspace(0.8, 40, 300, DType::f64);
  for (int order : {1, 2, 3, 5}) {
    report("polygamma", fmt::format("\"order\": {}", order), positive,
           [order](Tensor x) { return polygamma(order, x); });
  }
}

void fourier_transforms() {
  const std::pair<const char*, FourierNorm> norms[] = {
      {"backward", FourierNorm::backward}, {"ortho", FourierNorm::ortho}, {"forward", FourierNorm::forward}};
  for (std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 30, 31, 37, 97, 128, 210, 256, 1009, 4096}) {
    const auto& [name, norm] = norms[n % 3];
    const FourierOptions options{.length = n, .norm = norm};
    const std::string arguments = fmt::format("\"n\": {}, \"norm\": \"{}\"", n, name);
    report("fft", arguments, draw({2, n, 2}), [=](Tensor z) { return fft(z, options); });
    report("ifft", arguments, draw({2, n, 2}), [=](Tensor z) { return ifft(z, options); });
    report("rfft", arguments, draw({2, n}), [=](Tensor x) { return rfft(x, options); });
    report("irfft", arguments, draw({2, n / 2 + 1, 2}), [=](Tensor y) { return irfft(y, options); });
  }
  for (const auto& [name, norm] : norms) {
    const FourierAxes three{.axes = {0, 1, 2}, .norm = norm};
    const std::string arguments = fmt::format("\"norm\": \"{}\"", name);
    report("fftn", arguments, draw({5, 6, 7, 2}), [=](Tensor z) { return fftn(z, three); });
    report("ifftn", arguments, draw({5, 6, 7, 2}), [=](Tensor z) { return ifftn(z, three); });
    report("rfftn", arguments, draw({5, 6, 8}), [=](Tensor x) { return rfftn(x, three); });
    report("irfftn", arguments, draw({5, 6, 5, 2}), [=](Tensor y) { return irfftn(y, three); });
  }
}

void order() {
  const Tensor x = floor(draw({40, 25}) * 20);
  const Unique found = unique(x, 200, -1000);
  write("unique", "", x, found.values);
  write("unique_inverse", "", x, cast(found.inverse, DType::f64));
  write("unique_counts", "", x, cast(found.counts, DType::f64));
  for (int axis : {0, 1}) {
    const std::string at = fmt::format("\"axis\": {}", axis);
    report("cummax", at, x, [axis](Tensor u) { return cummax_with_indices(u, axis).first; });
    report("cummin", at, x, [axis](Tensor u) { return cummin_with_indices(u, axis).first; });
    write("cummax_indices", at, x, cast(cummax_with_indices(x, axis).second, DType::f64));
    write("cummin_indices", at, x, cast(cummin_with_indices(x, axis).second, DType::f64));
  }
}

}  // namespace

int main() {
  gamma_functions();
  fourier_transforms();
  order();
}
