// What reversible blocks save and cost: the gradients of a GPT with reversible blocks, of several depths,
// with everything kept and in the least memory, where blocks are undone; and half-way between.
//
//   reversible [DEEPEST [BATCH [CONTEXT]]]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

#include "tidemark/ir/graph.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace td = tidemark;

namespace {

constexpr int rounds = 4;  // the first round is not counted

td::Tensor loss(const td::nn::Gpt& model, const td::Tensor& tokens, const td::Tensor& next) {
  return td::nn::classification_loss(model(tokens), next);
}

td::Tensor some_tokens(std::int64_t seed, std::int64_t batch, std::int64_t context) {
  return td::cast(td::floor(td::random_uniform(td::key(seed), {batch, context}, 0, 512)), td::DType::i32);
}

int undone(const td::Graph& graph) {
  return static_cast<int>(std::ranges::count_if(graph.nodes(), [](const auto& n) { return n.op->undoes; }));
}

}  // namespace

int main(int count, char** arguments) {
  const std::int64_t deepest = count > 1 ? std::atoll(arguments[1]) : 64;
  const std::int64_t batch = count > 2 ? std::atoll(arguments[2]) : 8;
  const std::int64_t context = count > 3 ? std::atoll(arguments[3]) : 128;
  const td::Tensor x = some_tokens(1, batch, context), y = some_tokens(2, batch, context);
  for (std::int64_t blocks = std::max<std::int64_t>(1, deepest / 8); blocks <= deepest; blocks *= 2) {
    const td::nn::Gpt model = td::nn::Gpt::init(td::key(0), {.layers = blocks,
                                                             .width = 256,
                                                             .heads = 4,
                                                             .vocabulary = 512,
                                                             .context = context,
                                                             .reversible = true});
    const auto kept = td::compile(td::grad(loss));
    const std::int64_t most = kept.prepare(model, x, y).peak().count;
    const std::int64_t least = td::compile(td::grad(loss)).smallest(model, x, y).memory.count;
    const auto tight = td::compile(td::grad(loss), {.memory = td::Bytes(least)});
    const auto between = td::compile(td::grad(loss), {.memory = td::Bytes((least + most) / 2)});
    const decltype(&kept) steps[] = {&kept, &between, &tight};
    double seconds[3];
    std::ranges::fill(seconds, std::numeric_limits<double>::infinity());
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 3; ++i) {
        const auto start = std::chrono::steady_clock::now();
        (void)(*steps[i])(model, x, y);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        if (round > 0) seconds[i] = std::min(seconds[i], taken.count());
      }
    }
    // Parameters and their gradients, which are there whatever is kept.
    std::int64_t parameters = 0;
    for (const td::Input& input : kept.plan().graph.inputs())
      parameters += kept.plan().graph.type(input.value).bytes();
    for (int i = 0; i < 3; ++i) {
      const td::Plan& plan = steps[i]->plan().plan;
      fmt::print(
          "{:>3} blocks {:<8} peak {:>11}, beside parameters and gradients {:>11}; {:>3} sums undone; "
          "{:>8.1f} ms, "
          "{:.3f} of kept, predicted {:.3f}\n",
          blocks,
          i == 0   ? "kept"
          : i == 1 ? "between"
                   : "least",
          to_string(td::Bytes(plan.peak())), to_string(td::Bytes(plan.peak() - 2 * parameters)),
          undone(steps[i]->plan().graph), 1e3 * seconds[i], seconds[i] / seconds[0],
          plan.seconds / kept.plan().plan.seconds);
      std::fflush(stdout);
    }
  }
}
