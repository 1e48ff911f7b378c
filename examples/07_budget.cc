// A network trained inside a budget: what it may hold is said at compile, and planned before anything runs.
// What does not fit is computed again; not a bit of the result changes.
#include <fmt/core.h>

#include "tidemark/tidemark.h"

namespace td = tidemark;
using namespace td::literals;

struct Net {
  std::vector<td::Tensor> weights;
  TM_FIELDS(Net, weights)
};

td::Tensor loss(const Net& net, td::Tensor x, td::Tensor y) {
  for (const td::Tensor& w : net.weights) x = td::tanh(td::matmul(x, w));
  return td::mean(td::square(x - y));
}

int main() {
  const auto keys = td::split_key(td::key(0), 10);
  Net net;
  for (int i = 0; i < 6; ++i)
    net.weights.push_back(td::random_normal(keys[static_cast<std::size_t>(i)], {32, 32}, 0, 0.2));
  const auto x = td::random_normal(keys[8], {1024, 32}), y = td::random_normal(keys[9], {1024, 32});

  const auto free = td::compile(td::value_and_grad(loss));
  const auto [value, gradient] = free(net, x, y);

  const auto step = td::compile(td::value_and_grad(loss), {.memory = 1_MiB, .effort = 0.02});
  const auto [same_value, same_gradient] = step(net, x, y);
  fmt::print("without a budget   {}\n", to_string(free.plan().peak()));
  fmt::print("within 1 MiB       {}, {:+.0f}% predicted time\n", to_string(step.plan().peak()),
             100 * step.plan().plan.extra_time());
  fmt::print("the same bits      {}\n",
             value.item() == same_value.item() &&
                 gradient.weights[0].to_vector() == same_gradient.weights[0].to_vector());

  const auto tight = td::compile(td::value_and_grad(loss), {.memory = 400_KiB, .effort = 0.02});
  const auto planned = tight.try_prepare(td::types_of(net), td::types_of(x), td::types_of(y));
  if (!planned) fmt::print("\n{}\n", planned.error().what());
}
