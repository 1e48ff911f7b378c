// A function with a derivative of its own: here a gradient that is clipped on its way back.
#include <fmt/format.h>
#include <tidemark/tidemark.h>

namespace td = tidemark;

int main() {
  const auto clip_gradient =
      td::custom_vjp([](td::Tensor x) { return x; },
                     [](td::Tensor, td::Tensor, td::Tensor seed) { return td::clamp(seed, -1, 1); });
  const auto f = [&](td::Tensor x) { return td::sum(clip_gradient(x) * x * 10); };
  const td::Tensor x = td::tensor<float>({-1, 0.05f, 2});
  fmt::print("gradient {}\n", td::to_string(td::grad(f)(x)));
}
