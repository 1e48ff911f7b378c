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
  const Rows main = input.at("main_params"), more = input.at("extra_params"), state = input.at("state"),
             sequence = input.at("sequence");
  expect(!main.empty() && main.size() % 2 == 0 && !main[0].empty() && main[0].size() % 4 == 0,
         "main_params has not two rows for each layer, of four numbers for each width");
  const std::size_t width = main[0].size() / 4;
  expect_shape(main, main.size(), 4 * width, "main_params");
  expect_shape(more, 3, width, "extra_params");
  expect_shape(state, main.size(), width, "state");
  expect_shape(sequence, sequence.size(), width, "sequence");
  expect(sequence.size() > 1, "sequence has not two characters");
  Input in{{main.size() / 2, width, flattened(state), flattened(sequence)}, flattened(main)};
  const std::vector<double> extra = flattened(more);
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
