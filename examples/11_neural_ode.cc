// A neural ODE: a small net learns the vector field of a damped, nonlinear oscillator from trajectories
// alone. The gradient passes through the integrator in one of three ways; all three lead to the same fit, in
// different memory.
#include <fmt/core.h>

#include "tidemark/tidemark.h"

namespace td = tidemark;

struct Net {
  td::Tensor w1, b1, w2;
  TM_FIELDS(Net, w1, b1, w2)
};

constexpr std::int64_t trajectories = 16, observations = 8, steps = 10;
constexpr double interval = 0.25;  // between observations

td::Tensor truth(td::Tensor, td::Tensor y) {
  const auto x = y.at(td::all, td::Range{0, 1}), v = y.at(td::all, td::Range{1, 2});
  return td::concat({v, -x * x * x - v * 0.2}, 1);
}

// Mean square distance to the observations, each reached from the one before.
td::Tensor loss(const Net& net, td::Tensor start, td::Tensor seen, const td::OdeOptions& options) {
  const auto field = [&](td::Tensor, td::Tensor y) {
    return td::matmul(td::tanh(td::matmul(y, net.w1) + net.b1), net.w2);
  };
  const auto segment = [&](td::Tensor y, td::Tensor target) {
    const auto next = td::odeint(field, y, 0, interval, options);
    return std::pair(next, td::mean(td::square(next - target)));
  };
  return td::mean(td::scan(segment, start, seen).second);
}

// Fits a net and returns the last loss.
double fit(const char* name, const td::OdeOptions& options, const td::Tensor& start, const td::Tensor& seen) {
  const auto keys = td::split_key(td::key(1), 2);
  const td::optim::AdamW adamw{.lr = 0.05, .weight_decay = 0};
  auto state = adamw.init(Net{td::random_normal(keys[0], {2, 16}, 0, 0.7), td::zeros({16}),
                              td::random_normal(keys[1], {16, 2}, 0, 0.3)});
  const auto train = td::compile(
      td::optim::step(adamw, [&](Net n, td::Tensor y, td::Tensor s) { return loss(n, y, s, options); }),
      {.donate = {0}});
  constexpr int rounds = 300;
  double last = 0;
  for (int round = 1; round <= rounds; ++round) {
    const auto [next, value] = train(state, start, seen);
    state = next;
    last = value.item();
    if (round % 15 == 0) {
      fmt::print(stderr, "\r{:<10} [{:<20}] {}/{}  loss {:.5f}  mem {}  ", name,
                 std::string(static_cast<std::size_t>(20 * round / rounds), '='), round, rounds, last,
                 to_string(train.plan().peak()));
    }
  }
  fmt::print(stderr, "\n");
  fmt::print("{:<10}  loss {:.5f}  memory {}\n", name, last, to_string(train.plan().peak()));
  return last;
}

int main() {
  const auto start = td::random_uniform(td::key(7), {trajectories, 2}, -1.2, 1.2);
  std::vector<td::Tensor> seen;
  for (int i = 0; i < observations; ++i)
    seen.push_back(td::odeint(truth, seen.empty() ? start : seen.back(), 0, interval));
  const auto all_seen = td::stack(seen);

  using enum td::OdeMethod;
  using enum td::OdeGradient;
  const double a =
      fit("discrete", {.method = leapfrog, .gradient = discrete, .steps = steps}, start, all_seen);
  const double b = fit("adjoint", {.method = leapfrog, .gradient = adjoint, .steps = steps}, start, all_seen);
  const double c =
      fit("reversible", {.method = leapfrog, .gradient = reversible, .steps = steps}, start, all_seen);
  const bool good = a < 0.01 && b < 0.01 && c < 0.01;
  fmt::print("all three fit: {}\n", good);
  return good ? 0 : 1;
}
