// Mutation makes versions, randomness comes from keys: both differentiate and replay exactly.
#include <fmt/format.h>
#include <tidemark/tidemark.h>

namespace td = tidemark;

int main() {
  // Explicit time steps written into one tensor, differentiated through the writes.
  const auto trajectory = [](td::Tensor rate) {
    td::Tensor u = td::zeros({6}, td::DType::f64);
    u.at(0) = 1.0;
    for (int i = 0; i < 5; ++i) u.at(i + 1) = u.at(i) * (1 - rate);
    return u;
  };
  const td::Tensor rate = td::scalar(0.1, td::DType::f64);
  fmt::print("u        {}\n", trajectory(rate));
  fmt::print("du/drate {}\n", td::jacobian(trajectory)(rate));

  // The same key, the same mask: in the forward pass, in the backward pass, and in every replay.
  const auto noisy = [](td::Tensor x) { return td::sum(td::dropout(x * x, 0.5, td::key(42))); };
  const td::Tensor x = td::arange(8, td::DType::f64);
  fmt::print("gradient {}\n", td::grad(noisy)(x));
}
