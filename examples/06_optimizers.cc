// A network and an optimizer: the state holds the parameters and their moments, and is updated in place.
#include <fmt/format.h>
#include <tidemark/nn/mlp.h>
#include <tidemark/tidemark.h>

namespace td = tidemark;

td::Tensor loss(const td::nn::Mlp& net, td::Tensor x, td::Tensor y) {
  return td::mean(td::square(net(x) - y));
}

int main() {
  const td::Tensor x = td::reshape(td::linspace(-3, 3, 512), {512, 1});
  const td::Tensor y = td::sin(2 * x);
  const td::optim::AdamW adamw{.lr = 1e-2};
  auto state = adamw.init(td::nn::Mlp::init(td::key(0), {1, 32, 32, 1}));
  const auto train = td::compile(td::optim::step(adamw, loss), {.donate = {0}});
  for (int i = 1; i <= 400; ++i) {
    auto [next, value] = train(state, x, y);
    state = next;
    if (i % 100 == 0) fmt::print("step {:3}  loss {:.2e}\n", i, value.item());
  }
  fmt::print("{}", train.plan().summary());
}
