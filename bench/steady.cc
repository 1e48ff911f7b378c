// Whether a step stays what it is: a small GPT trained for 1,000 steps through compile(). Prints the median
// time of the first and of the last hundred steps, and how often anything was allocated inside the executor
// and around it.
//
//   steady [--steps N] [--threads N]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/support/tiny_models.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/cpu/device.h"
#include "tidemark/ir/graph.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/trace/storage.h"

namespace {
std::atomic<std::int64_t> allocations{0};
}  // namespace

// Not inlined: compilers take free() of what an inlined operator new gives for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace tidemark;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 1000, threads = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    (std::string(argv[i]) == "--steps" ? steps : threads) = std::atoi(argv[i + 1]);
  }
  set_threads(threads);
  const nn::GptConfig config{.layers = 2, .width = 128, .heads = 4, .vocabulary = 256, .context = 64};
  const auto loss = [](const nn::Gpt& model, Tensor in, Tensor out) {
    return nn::classification_loss(model(in), out);
  };
  const optim::AdamW adamw;
  const Tensor in = tiny::random_labels(7, {8, 64}, 256), out = tiny::random_labels(8, {8, 64}, 256);
  auto state = adamw.init(nn::Gpt::init(key(0), config));
  const auto train = compile(optim::step(adamw, loss), {.donate = {0}});
  train.prepare(state, in, out);
  std::vector<double> times(static_cast<std::size_t>(steps));
  double first = 0, last = 0;
  std::int64_t around = 0;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t before = allocations;
    const Stopwatch watch;
    auto [next, value] = train(state, in, out);
    state = next;
    last = value.item();
    times[static_cast<std::size_t>(i)] = watch.seconds();
    around = allocations - before;
    if (i == 0) first = last;
  }

  // The same plan under a bare executor: what a run itself allocates.
  const PlannedGraph planned = train.plan();
  Arena arena(*default_device(), planned.plan.arena_bytes);
  Executor executor(planned.graph, verified(planned.graph, planned.plan, cpu_target()), *default_device(),
                    arena);
  std::vector<std::byte*> memory;
  for (const Tensor& t : tensors_of(state)) memory.push_back(t.storage()->data());
  for (const Tensor& t : {in, out}) memory.push_back(t.storage()->data());
  const std::int64_t before = allocations;
  const std::vector<Address> addresses = host_addresses(memory);
  for (int i = 0; i < 10; ++i) executor.run(addresses);
  const std::int64_t inside = allocations - before;

  const std::size_t hundred = std::min<std::size_t>(100, times.size());
  const double begin = median({times.begin(), times.begin() + static_cast<std::ptrdiff_t>(hundred)});
  const double end = median({times.end() - static_cast<std::ptrdiff_t>(hundred), times.end()});
  fmt::print(
      "{} steps of {} nodes: first {} {:.3f} ms, last {} {:.3f} ms, ratio {:.3f}; loss {:.4f} to {:.4f}\n",
      steps, planned.graph.nodes().size(), hundred, 1e3 * begin, hundred, 1e3 * end, end / begin, first,
      last);
  fmt::print(
      "allocations: {} in ten runs of the executor; {} in a call of the compiled function (its results and "
      "the "
      "tree around them)\n",
      inside, around);
}
