// Where each optimizer takes the same small network over 100 updates, as text. Beside it
// bench/peers/torch_optimizers.py takes PyTorch's along and compares. One line per optimizer and dtype: its
// name, the dtype and the parameters after every tenth update.
//
//   optimizer_paths [STEPS]
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;

struct Net {
  Tensor weight, bias;
  TM_FIELDS(Net, weight, bias)
};

// The same numbers in both programs: sines in doubles.
Tensor sines(const Shape& shape, double factor, DType dtype) {
  std::vector<double> values(static_cast<std::size_t>(Type{DType::f64, shape}.count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(factor * static_cast<double>(i + 1));
  return cast(tensor(values, shape), dtype);
}

Tensor loss(const Net& net, Tensor x, Tensor y) {
  return mean(square(tanh(matmul(x, net.weight) + net.bias) - y));
}

template <class Tree>
void print(const Tree& tree) {
  for_each_tensor(tree, [](const std::string&, const Tensor& tensor) {
    for (const double value : tensor.to_vector()) fmt::print(" {:.17g}", value);
  });
}

template <class Optimizer>
void path(std::string_view name, const Optimizer& optimizer, int steps) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const auto train = compile(optim::step(optimizer, loss), {.donate = {0}});
    auto state = optimizer.init(Net{sines({5, 3}, 1.3, dtype), sines({3}, 0.7, dtype)});
    const Tensor x = sines({16, 5}, 2.1, dtype), y = sines({16, 3}, 0.9, dtype);
    fmt::print("{} {}", name, name_of(dtype));
    for (int t = 1; t <= steps; ++t) {
      state = train(state, x, y).first;
      if (t % 10 == 0) {
        if constexpr (requires { state.average; }) {
          print(state.average);
        } else {
          print(state.parameters);
        }
      }
    }
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace optim;
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  // PyTorch lets all parameters decay.
  path("sgd", Sgd{.lr = 0.1, .weight_decay = 0.01, .decay_rank = 0}, steps);
  path("momentum", Momentum{.lr = 0.1, .weight_decay = 0.01, .decay_rank = 0}, steps);
  path("nesterov", Momentum{.lr = 0.1, .weight_decay = 0.01, .decay_rank = 0, .nesterov = true}, steps);
  path("rmsprop", RmsProp{.lr = 0.01, .weight_decay = 0.01, .decay_rank = 0}, steps);
  path("rmsprop_momentum", RmsProp{.lr = 0.003, .momentum = 0.9}, steps);
  path("adam", Adam{.lr = 0.01, .weight_decay = 0.01, .decay_rank = 0}, steps);
  path("adamw", AdamW{.lr = 0.01, .weight_decay = 0.1, .decay_rank = 0}, steps);
  path("adafactor", Adafactor{.lr = 0.05, .weight_decay = 0.01, .decay_rank = 0}, steps);
  path("lion", Lion{.lr = 0.003, .weight_decay = 0.1, .decay_rank = 0}, steps);
  path("clip_norm", clip_norm(0.05, Momentum{.lr = 0.1}), steps);
  path("clip_value", clip_value(0.02, Momentum{.lr = 0.1}), steps);
  path("ema", with_ema(0.9, AdamW{.lr = 0.01, .weight_decay = 0}), steps);
  path("groups",
       AdamW{
           .lr = 0.01, .weight_decay = 0.1, .groups = {{.pattern = "bias", .lr = 0.05, .weight_decay = 0.3}}},
       steps);
  path("cosine", Sgd{.lr = cosine({.from = 0.5, .to = 0.01, .steps = 100})}, steps);
  path("linear", Sgd{.lr = linear({.from = 0.5, .to = 0.05, .steps = 60})}, steps);
  path("stairs", Sgd{.lr = stairs({.from = 0.5, .factor = 0.5, .every = 30})}, steps);
  path("one_cycle", Sgd{.lr = one_cycle({.peak = 0.5, .steps = 100})}, steps);
  path("warmup_cosine", Sgd{.lr = warmup(10, cosine({.from = 0.5, .to = 0, .steps = 90}))}, steps);
}
