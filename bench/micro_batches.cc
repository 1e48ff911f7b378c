// What computing a batch in micro-batches saves and costs: the gradients of a GPT for a batch as a whole, in
// 2, 4, 8, … micro-batches, and for a batch of that size alone.
//
//   micro_batches [BATCH [CONTEXT]]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>

#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace td = tidemark;

namespace {

constexpr int runs = 4;  // the first run is not counted

td::Tensor loss(const td::nn::Gpt& model, const td::Tensor& tokens, const td::Tensor& next) {
  return td::nn::classification_loss(model(tokens), next);
}

td::Tensor some_tokens(std::int64_t seed, std::int64_t batch, std::int64_t context) {
  return td::cast(td::floor(td::random_uniform(td::key(seed), {batch, context}, 0, 512)), td::DType::i32);
}

template <class Step>
double seconds_of(const Step& step, const td::nn::Gpt& model, const td::Tensor& x, const td::Tensor& y) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    (void)step(model, x, y);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (run > 0) least = std::min(least, taken.count());
  }
  return least;
}

}  // namespace

int main(int count, char** arguments) {
  const std::int64_t batch = count > 1 ? std::atoll(arguments[1]) : 64;
  const std::int64_t context = count > 2 ? std::atoll(arguments[2]) : 64;
  const td::nn::Gpt model = td::nn::Gpt::init(
      td::key(0), {.layers = 4, .width = 128, .heads = 4, .vocabulary = 512, .context = context});
  const td::Tensor x = some_tokens(1, batch, context), y = some_tokens(2, batch, context);
  double whole = 0, predicted = 0;
  for (std::int64_t parts = 1; parts <= batch && batch % parts == 0; parts *= 2) {
    const auto step = td::compile(td::grad(loss), {.batch_arguments = {1, 2}, .accumulate = parts});
    const double seconds = seconds_of(step, model, x, y);
    if (parts == 1) whole = seconds, predicted = step.plan().plan.seconds;
    const auto small = td::compile(td::grad(loss));
    const std::int64_t examples = batch / parts;
    const td::Bytes alone =
        small.prepare(model, some_tokens(1, examples, context), some_tokens(2, examples, context)).peak();
    fmt::print(
        "{:>3} of {:>3}: {:>12}, a batch of {:>3} alone {:>12}; {:>8.1f} ms, {:.3f} of the whole, predicted "
        "{:.3f}\n",
        parts, examples, to_string(step.plan().peak()), examples, to_string(alone), 1e3 * seconds,
        seconds / whole, step.plan().plan.seconds / predicted);
  }
}
