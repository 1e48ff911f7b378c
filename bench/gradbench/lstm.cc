// GradBench's lstm: the loss of an LSTM by its parameters.
#include "bench/objectives/lstm.h"

#include "bench/gradbench/derivatives.h"
#include "bench/gradbench/protocol.h"

using namespace tidemark::bench;

namespace {

struct Input {
  Lstm objective;
  std::vector<double> parameters;
};

// Of each layer a row of weights and a row of biases, each four times the width.
Input read_input(const Json& input) {
  const Rows main = input.at("main_params");
  Input in{
      {main.size() / 2, main.at(0).size() / 4, flattened(input.at("state")), flattened(input.at("sequence"))},
      flattened(main)};
  const std::vector<double> extra = flattened(input.at("extra_params"));
  in.parameters.insert(in.parameters.end(), extra.begin(), extra.end());
  return in;
}

}  // namespace

int main() {
  const auto objective = [](const Input& in) { return primal(in.objective, in.parameters); };
  const auto jacobian = [](const Input& in) { return gradient(in.objective, in.parameters); };
  return serve("lstm", {{"objective", protocol_function(read_input, objective)},
                        {"jacobian", protocol_function(read_input, jacobian)}});
}
