// GradBench's lstm with tensors: a scan over the characters.
#include "bench/gradbench/tensors/support.h"

using namespace tidemark::bench;
namespace td = tidemark;

namespace {

struct Parameters {
  td::Tensor main, extra;  // layers by {weights, biases} by gates by width; {input, output, bias} by width
  TM_FIELDS(Parameters, main, extra)
};

struct Input {
  Parameters parameters;
  td::Tensor state, sequence;
};

Input read_input(const Json& json) {
  const td::Tensor sequence = matrix_of(json.at("sequence"));
  const std::int64_t layers = std::ssize(json.at("main_params")) / 2, width = sequence.shape()[1];
  return {{td::reshape(matrix_of(json.at("main_params")), {layers, 2, 4, width}),
           matrix_of(json.at("extra_params"))},
          td::reshape(matrix_of(json.at("state")), {layers, 2, width}),
          sequence};
}

td::Tensor part(const td::Tensor& x, std::int64_t i) {
  return td::squeeze(td::split_evenly(x, 0, static_cast<int>(x.shape()[0]))[static_cast<std::size_t>(i)], 0);
}

td::Tensor objective(const Parameters& p, const td::Tensor& state, const td::Tensor& sequence) {
  const std::int64_t layers = state.shape()[0], width = state.shape()[2], characters = sequence.shape()[0];
  const auto step = [&](const td::Tensor& before, const td::Tensor& seen) {
    td::Tensor x = seen * part(p.extra, 0);
    std::vector<td::Tensor> after;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const td::Tensor weights = part(part(p.main, layer), 0), biases = part(part(p.main, layer), 1);
      const td::Tensor hidden = part(part(before, layer), 0), cell = part(part(before, layer), 1);
      const td::Tensor gates = td::stack({x, hidden, x, hidden}) * weights + biases;
      const td::Tensor open = td::sigmoid(gates);
      const td::Tensor next = cell * part(open, 0) + part(open, 1) * td::tanh(part(gates, 3));
      x = part(open, 2) * td::tanh(next);
      after.push_back(td::stack({x, next}));
    }
    return std::pair(td::stack(after), x * part(p.extra, 1) + part(p.extra, 2));
  };
  const td::Tensor seen = td::slice(sequence, {0, 0}, {characters - 1, width});
  const td::Tensor wanted = td::slice(sequence, {1, 0}, {characters, width});
  const td::Tensor out = td::scan(step, state, seen).second;
  const td::Tensor norms = td::log(2 + td::sum(td::exp(out), {1}, true));  // 2: as ADBench has it
  return -td::mean(wanted * (out - norms));
}

}  // namespace

int main() {
  const auto value = td::compile(objective);
  const auto slope = td::compile(td::grad(objective));
  const auto evaluate = [=](const Input& in) { return value(in.parameters, in.state, in.sequence).item(); };
  const auto differentiate = [=](const Input& in) {
    const Parameters g = slope(in.parameters, in.state, in.sequence);
    std::vector<double> all = g.main.to_vector();
    const std::vector<double> extra = g.extra.to_vector();
    all.insert(all.end(), extra.begin(), extra.end());
    return all;
  };
  return serve("lstm",
               {{"objective", compiled_function(read_input, evaluate)},
                {"jacobian", compiled_function(read_input, differentiate)}},
               tensor_tool);
}
