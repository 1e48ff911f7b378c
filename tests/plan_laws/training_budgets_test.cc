// A GPT trained with dropout, AdamW and a schedule of rates over 100 steps: whatever the budget, every loss,
// every parameter and every moment is the same to the bit.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "tests/support/tiny_models.h"

namespace tidemark {
namespace {

constexpr nn::GptConfig tiny_config{.layers = 2, .width = 16, .heads = 2, .vocabulary = 32, .context = 12};
constexpr std::int64_t tiny_batch = 3;
constexpr int training_steps = 100;

using GptState = optim::AdamState<nn::Gpt>;

const optim::AdamW scheduled{.lr = optim::warmup(10, optim::cosine({.from = 1e-2, .to = 1e-4, .steps = 90}))};

GptState first_state() { return scheduled.init(nn::Gpt::init(key(0), tiny_config)); }
Tensor tokens_of(std::int64_t step) {
  return tiny::random_labels(step % 7, {tiny_batch, tiny_config.context}, tiny_config.vocabulary);
}
Tensor dropped_loss(const nn::Gpt& model, const Tensor& tokens, const Tensor& next, const Tensor& drop) {
  return model.loss(tokens, next, {.rate = 0.2, .key = drop});
}
auto train_step(const CompileOptions& options) {
  return compile(optim::step(scheduled, dropped_loss), options);
}
CompileOptions options_for(std::optional<std::int64_t> memory = {}) {
  CompileOptions options{.donate = {0}, .effort = Effort::quick};
  if (memory) options.memory = Bytes(*memory);
  return options;
}

// The bits of every loss, then of parameters, moments and the number of steps.
std::vector<std::byte> trained(const CompileOptions& options) {
  const auto step = train_step(options);
  std::vector<std::byte> bits;
  const auto append = [&](const Tensor& t) {
    bits.insert(bits.end(), t.bytes(), t.bytes() + t.type().bytes());
  };
  GptState state = first_state();
  for (int i = 0; i < training_steps; ++i) {
    auto [next, loss] = step(state, tokens_of(i), tokens_of(i + 1), fold_in(key(9), i));
    state = next;
    append(loss);
  }
  for (const Tensor& t : tensors_of(state)) append(t);
  return bits;
}

TEST(TrainingWithDropout, HasTheSameBitsAtFiveBudgetsFromTheLeastToNone) {
  const auto free = train_step(options_for());
  const std::int64_t most = free.prepare(first_state(), tokens_of(0), tokens_of(1), key(9)).peak().count;
  const std::int64_t least = free.smallest(first_state(), tokens_of(0), tokens_of(1), key(9)).memory.count;
  ASSERT_LT(least, most);
  const std::vector<std::byte> expected = trained(options_for());
  float first = 0, last = 0;
  std::memcpy(&first, expected.data(), 4);
  std::memcpy(&last, expected.data() + 4 * (training_steps - 1), 4);
  EXPECT_LT(last, first);

  // Budgets that ask for something: plans differ, bits do not.
  std::set<double> seconds;
  for (const std::int64_t quarter : {0, 1, 2, 3}) {
    const std::int64_t memory = least + (most - least) * quarter / 4;
    const PlannedGraph plan =
        train_step(options_for(memory)).prepare(first_state(), tokens_of(0), tokens_of(1), key(9));
    EXPECT_LE(plan.peak().count, memory);
    seconds.insert(plan.plan.seconds);
    EXPECT_TRUE(trained(options_for(memory)) == expected) << memory << " bytes, of " << most;
  }
  EXPECT_GE(seconds.size(), 3u) << "the budgets hardly differ";

  // Nor do they depend on the passes that let gradients go early and add products in place.
  CompileOptions plain = options_for(least + (most - least) / 2);
  plain.program.plan.skip = {"release"};
  plain.program.skip_optimisations = {"accumulate"};
  EXPECT_TRUE(trained(plain) == expected) << "without release and accumulate";
}

}  // namespace
}  // namespace tidemark
