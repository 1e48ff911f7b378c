// A recurrent net over a sequence of 100,000, trained in a few megabytes. A plain tape would keep what every
// step computed; here the loop keeps as many states as fit in the budget and computes the others again, as
// few as possible.
#include <fmt/core.h>

#include "tidemark/tidemark.h"

namespace td = tidemark;
using namespace td::literals;

constexpr std::int64_t steps = 100'000, hidden = 8;

struct Cell {
  td::Tensor w, u, b, out;
  TM_FIELDS(Cell, w, u, b, out)
};

// The net sees a wave and says, at every step, what it believes comes next.
td::Tensor loss(const Cell& p, td::Tensor xs, td::Tensor targets) {
  const auto body = [&](std::pair<td::Tensor, td::Tensor> carry, std::pair<td::Tensor, td::Tensor> now) {
    const auto& [h, error] = carry;
    const auto& [x, target] = now;
    const td::Tensor next = td::tanh(td::matmul(h, p.w) + x * p.u + p.b);  // (1, hidden)
    const td::Tensor miss = td::matmul(next, p.out) - target;              // (1, 1)
    return std::pair(next, error + td::sum(miss * miss));
  };
  const auto start = std::pair(td::zeros({1, hidden}), td::scalar(0));
  return td::scan(body, start, std::pair(xs, targets)).second / static_cast<double>(steps);
}

void show_progress(int done, int all, td::Bytes memory, double loss) {
  constexpr int width = 30;
  const int filled = width * done / all;
  fmt::print(stderr, "\r[{:=<{}}{:{}}] {}/{}  loss {:.5f}  mem {}  ", "", filled, "", width - filled, done,
             all, loss, to_string(memory));
  if (done == all) fmt::print(stderr, "\n");
}

int main() {
  const auto keys = td::split_key(td::key(3), 3);
  Cell cell{td::random_normal(keys[0], {hidden, hidden}, 0, 0.3),
            td::random_normal(keys[1], {1, hidden}, 0, 0.5), td::zeros({1, hidden}),
            td::random_normal(keys[2], {hidden, 1}, 0, 0.3)};
  const auto t = td::arange(steps + 1, td::DType::f32) * 0.05;
  const auto wave = td::sin(t) * 0.7 + td::sin(t * 2.3) * 0.3;
  const auto xs = wave.at(td::Range{0, steps}), targets = wave.at(td::Range{1, steps + 1});

  const auto gradient = td::value_and_grad(loss);
  const auto free = td::compile(gradient);
  const auto tight = td::compile(gradient, {.memory = 1_MiB});
  const auto free_plan = free.prepare(td::types_of(cell), td::types_of(xs), td::types_of(targets));
  const auto plan = tight.prepare(cell, xs, targets);
  fmt::print("everything kept   {}\n", to_string(free_plan.peak()));
  fmt::print("within 1 MiB      {}, {:.2f} times the predicted time\n", to_string(plan.peak()),
             plan.plan.seconds / free_plan.plan.seconds);
  for (const td::LoopForecast& loop : plan.loops())
    fmt::print("states kept       {} of {}: {} forward steps\n", loop.slots, loop.trips, loop.forward_steps);

  constexpr int epochs = 4;
  double first = 0, last = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const auto [value, slope] = tight(cell, xs, targets);
    last = value.item();
    if (epoch == 0) first = last;
    cell = td::map_tree([](const td::Tensor& p, const td::Tensor& g) { return p - g * 0.1; }, cell, slope);
    show_progress(epoch + 1, epochs, tight.plan().peak(), last);
  }
  fmt::print("the loss fell     {}\n", last < first);
  fmt::print("run as planned    {}\n", tight.arena_high_water().count == plan.plan.arena_bytes);
  return last < first ? 0 : 1;
}
