// GradBench's llsq with tensors: the powers of the points are data, made while the input is read.
#include "bench/gradbench/tensors/support.h"

using namespace tidemark::bench;
namespace td = tidemark;

namespace {

struct Input {
  td::Tensor x, powers, signs;
};

Input read_input(const Json& json) {
  const std::vector<double> x = json.at("x");
  const std::int64_t points = json.at("n");
  std::vector<double> powers, signs;
  for (std::int64_t i = 0; i < points; ++i) {
    const double t = -1.0 + 2.0 * static_cast<double>(i) / static_cast<double>(points - 1);
    double power = 1;
    for (std::size_t j = 0; j < x.size(); ++j, power *= t) powers.push_back(power);
    signs.push_back((t > 0) - (t < 0));
  }
  return {td::tensor(x), td::tensor(powers, {points, std::ssize(x)}), td::tensor(signs)};
}

td::Tensor objective(const td::Tensor& x, const td::Tensor& powers, const td::Tensor& signs) {
  return 0.5 * td::sum(td::square(signs - td::matmul(powers, x)));
}

}  // namespace

int main() {
  const auto value = td::compile(objective);
  const auto slope = td::compile(td::grad(objective));
  return serve(
      "llsq",
      {{"primal", compiled_function(
                      read_input, [=](const Input& in) { return value(in.x, in.powers, in.signs).item(); })},
       {"gradient",
        compiled_function(read_input,
                          [=](const Input& in) { return slope(in.x, in.powers, in.signs).to_vector(); })}},
      tensor_tool);
}
