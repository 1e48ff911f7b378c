// GradBench's gmm: the log posterior of a mixture of Gaussians by its parameters.
#include "bench/objectives/gmm.h"

#include "bench/gradbench/derivatives.h"
#include "bench/gradbench/protocol.h"

using namespace tidemark::bench;

namespace {

struct Input {
  Gmm objective;
  std::vector<double> parameters;
};

Input read_input(const Json& input) {
  const Rows x = input.at("x");
  Input in{{count_of(input.at("d"), 1, "d"), count_of(input.at("k"), 1, "k"), flattened(x), input.at("gamma"),
            input.at("m")},
           input.at("alpha")};
  const std::size_t d = in.objective.dimensions, k = in.objective.components;
  expect(!x.empty() && in.parameters.size() == k, "x is empty, or alpha has not k numbers");
  expect_shape(x, x.size(), d, "x");
  const auto take = [&](const char* name, std::size_t width) {
    const Rows part = input.at(name);
    expect_shape(part, k, width, name);
    const std::vector<double> flat = flattened(part);
    in.parameters.insert(in.parameters.end(), flat.begin(), flat.end());
  };
  take("mu", d);
  take("q", d);
  take("l", in.objective.below_diagonal());
  return in;
}

struct Output {
  Gmm objective;
  std::vector<double> gradient;
};

[[maybe_unused]] void to_json(Json& json, const Output& out) {
  const std::size_t d = out.objective.dimensions, k = out.objective.components,
                    l = out.objective.below_diagonal();
  json = {{"alpha",
           std::vector<double>(out.gradient.begin(), out.gradient.begin() + static_cast<std::ptrdiff_t>(k))},
          {"mu", rows_of(out.gradient, k, k, d)},
          {"q", rows_of(out.gradient, k + k * d, k, d)},
          {"l", rows_of(out.gradient, k + 2 * k * d, k, l)}};
}

}  // namespace

int main() {
  const auto objective = [](const Input& in) { return primal(in.objective, in.parameters); };
  const auto jacobian = [](const Input& in) {
    return Output{in.objective, gradient(in.objective, in.parameters)};
  };
  return serve("gmm", {{"objective", protocol_function(read_input, objective)},
                       {"jacobian", protocol_function(read_input, jacobian)}});
}
