// What a disk saves: a training step of a deep network in a part of its memory, with what does not fit
// computed again, and with a disk to wait on, both against the step with all the memory it likes.
//
//   disk FOLDER [LAYERS [ROWS]]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>

#include "tidemark/tidemark.h"

namespace td = tidemark;
using namespace td::literals;

namespace {

constexpr int width = 1024, runs = 4;  // the first run is not counted

struct Net {
  std::vector<td::Tensor> weights;
  TM_FIELDS(Net, weights)
};
td::Tensor loss(const Net& net, td::Tensor x) {
  for (const td::Tensor& w : net.weights) x = td::tanh(td::matmul(x, w));
  return td::mean(td::square(x));
}

template <class Step>
double seconds_of(const Step& step, const Net& net, const td::Tensor& x) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    (void)step(net, x);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (run > 0) least = std::min(least, taken.count());
  }
  return least;
}

template <class Step>
void report(const std::string& name, const Step& step, const Net& net, const td::Tensor& x, double free) {
  const double measured = seconds_of(step, net, x), predicted = step.plan().plan.seconds;
  fmt::print("{:<16} {:>10} {:>8.0f} ms {:>7.3f} of free, predicted / measured {:.3f}, on disk {}\n", name,
             to_string(step.plan().peak()), 1e3 * measured, measured / free, predicted / measured,
             to_string(step.memory_report().disk));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    fmt::print(stderr, "usage: disk FOLDER [LAYERS [ROWS]]\n");
    return 2;
  }
  const int layers = count > 2 ? std::atoi(arguments[2]) : 12,
            rows = count > 3 ? std::atoi(arguments[3]) : 4096;
  Net net;
  for (int i = 0; i < layers; ++i)
    net.weights.push_back(td::random_normal(td::key(i), {width, width}, 0, 0.03));
  const td::Tensor x = td::random_normal(td::key(layers), {rows, width});
  const auto free = td::compile(td::grad(loss));
  const double seconds = seconds_of(free, net, x);
  report("free", free, net, x, seconds);
  const td::Plan& plan = free.plan().plan;
  for (const std::int64_t percent : {60, 45}) {
    const td::Bytes memory(plan.input_bytes + plan.arena_bytes * percent / 100);
    report(fmt::format("{}% recomputing", percent), td::compile(td::grad(loss), {.memory = memory}), net, x,
           seconds);
    report(fmt::format("{}% disk", percent),
           td::compile(td::grad(loss), {.memory = memory, .disk = {{arguments[1], 64_GiB}}}), net, x,
           seconds);
  }
}
