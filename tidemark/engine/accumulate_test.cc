// A batch computed in micro-batches: the numbers of the whole batch, in the memory of a part of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tests/support/sanitized.h"
#include "tidemark/ops/custom/custom.h"
#include "tidemark/optim/optimizers.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using ::testing::HasSubstr;

constexpr Effort little = 0.05;

struct Layers {
  std::vector<Tensor> weights, biases;
  TM_FIELDS(Layers, weights, biases)
};

Layers some_layers(std::int64_t width, int count, std::int64_t seed = 1) {
  Layers layers;
  for (int i = 0; i < count; ++i) {
    layers.weights.push_back(random_normal(key(seed + i), {width, width}, 0, 0.2));
    layers.biases.push_back(random_normal(key(seed + 100 + i), {width}, 0, 0.1));
  }
  return layers;
}

Tensor layers_output(const Layers& layers, Tensor x) {
  for (std::size_t i = 0; i < layers.weights.size(); ++i)
    x = tanh(matmul(x, layers.weights[i]) + layers.biases[i]);
  return x;
}
Tensor layers_loss(const Layers& layers, const Tensor& x, const Tensor& y) {
  return mean(square(layers_output(layers, x) - y));
}

struct TokenModel {
  Tensor table, position, query, out;
  TM_FIELDS(TokenModel, table, position, query, out)
};

struct ConvModel {
  Tensor first, second, gain, bias, head;
  TM_FIELDS(ConvModel, first, second, gain, bias, head)
};

struct AllResults {
  Tensor loss, each, output, turned, largest, best;
  TM_FIELDS(AllResults, loss, each, output, turned, largest, best)
};

// The largest difference relative to the largest number.
double difference(const Tensor& got, const Tensor& want) {
  const std::vector<double> a = got.to_vector(), b = want.to_vector();
  double most = 0, largest = 1e-30;
  for (std::size_t i = 0; i < b.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return a.size() == b.size() ? most / largest : 1e30;
}
template <class Tree>
double tree_difference(const Tree& got, const Tree& want) {
  const std::vector<Tensor> a = tensors_of(got), b = tensors_of(want);
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, difference(a[i], b[i]));
  return most;
}

// Value and gradients in 1, 2, 4 and 8 micro-batches against the whole batch.
template <class Loss, class... Args>
void expect_as_whole(const Loss& loss, const Args&... args) {
  const auto whole = compile(value_and_grad(loss));
  const auto [value, gradients] = whole(args...);
  for (const int count : {1, 2, 4, 8}) {
    SCOPED_TRACE(count);
    const auto step = compile(value_and_grad(loss), {.accumulate = count});
    const auto [got, got_gradients] = step(args...);
    EXPECT_LE(difference(got, value), 1e-6);
    EXPECT_LE(tree_difference(got_gradients, gradients), 1e-6);
    const std::string line = fmt::format("micro-batches     {} of", count);
    if (count > 1) {
      EXPECT_THAT(step.plan().summary(), HasSubstr(line));
    } else {
      EXPECT_THAT(step.plan().summary(), ::testing::Not(HasSubstr("micro-batches")));
    }
  }
}

// The message of an error that names a line of this file.
template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_plan_option) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("accumulate_test.cc:"));
    return error.what();
  }
  return "accepted";
}
template <class Loss, class... Args>
std::string loss_refusal(const Loss& loss, const Args&... args) {
  return refusal([&] { compile(grad(loss), {.accumulate = 4})(args...); });
}

TEST(Accumulate, GradientsOfLayersAreThoseOfTheWholeBatch) {
  expect_as_whole(layers_loss, some_layers(24, 3), random_normal(key(5), {16, 24}),
                  random_normal(key(6), {16, 24}));
}

TEST(Accumulate, MeansOverWeightsThatDifferBetweenMicroBatches) {
  // Tokens are left out, most of them in the first examples: every micro-batch has another number of them.
  const std::int64_t batch = 16, context = 6, words = 11, width = 8;
  const TokenModel model{random_normal(key(1), {words, width}), random_normal(key(2), {context, width}),
                         random_normal(key(3), {width, 3 * width}, 0, 0.3),
                         random_normal(key(4), {width, words}, 0, 0.3)};
  std::vector<std::int32_t> in, out;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < context; ++t) {
      in.push_back(static_cast<std::int32_t>((b * 7 + t * 3) % words));
      out.push_back(t >= b ? -1 : static_cast<std::int32_t>((b * 5 + t) % words));
    }
  }
  const Tensor tokens = tensor(in, {batch, context}), next = tensor(out, {batch, context});
  const auto loss = [=](const TokenModel& m, const Tensor& x, const Tensor& y) {
    const std::int64_t examples = x.shape()[0];
    Tensor h = embedding(m.table, x) + m.position;
    std::vector<Tensor> qkv = split_evenly(matmul(h, m.query), -1, 3);
    for (Tensor& part : qkv) part = swap_axes(reshape(part, {examples, context, 2, width / 2}), 1, 2);
    const Tensor mixed = attention(qkv[0], qkv[1], qkv[2], {.causal = true});
    h = h + reshape(swap_axes(mixed, 1, 2), {examples, context, width});
    h = layer_norm(h, ones({width}), zeros({width}));
    const Tensor each = cross_entropy(matmul(h, m.out), y, {.ignore = true, .ignore_index = -1});
    return sum(each) / sum(cast(y != -1, DType::f32));
  };
  expect_as_whole(loss, model, tokens, next);
}

TEST(Accumulate, ConvolutionsWithGroupNorm) {
  const ConvModel net{random_normal(key(1), {8, 3, 3, 3}, 0, 0.2),
                      random_normal(key(2), {8, 8, 3, 3}, 0, 0.2), ones({8}), zeros({8}),
                      random_normal(key(3), {8, 5}, 0, 0.3)};
  const auto loss = [](const ConvModel& n, const Tensor& x, const Tensor& labels) {
    const ConvAttrs same{.low = {1, 1}, .high = {1, 1}};
    Tensor h = relu(group_norm(conv(x, n.first, same), n.gain, n.bias, 2));
    h = max_pool(h, {.window = {2, 2}});
    h = avg_pool(relu(conv(h, n.second, same)), {.window = {2, 2}});
    return mean(cross_entropy(matmul(mean(h, {2, 3}), n.head), labels));
  };
  std::vector<std::int32_t> labels(16);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i * 3 % 5);
  expect_as_whole(loss, net, random_normal(key(4), {16, 3, 8, 8}), tensor(labels, {16}));
}

TEST(Accumulate, AnOptimizersStepWithDonatedState) {
  const optim::AdamW adamw{.lr = 1e-2};
  const Tensor x = random_normal(key(5), {16, 12}), y = random_normal(key(6), {16, 12});
  const auto losses = [&](Accumulate accumulate) {
    const auto train = compile(optim::step(adamw, layers_loss), {.donate = {0}, .accumulate = accumulate});
    auto state = adamw.init(some_layers(12, 3));
    std::vector<double> values;
    for (int i = 0; i < 5; ++i) {
      auto [next, value] = train(state, x, y);
      state = next;
      values.push_back(value.item());
    }
    EXPECT_LT(values.back(), values.front());
    return values;
  };
  const std::vector<double> whole = losses(1);
  for (const int count : {2, 4, 8}) {
    const std::vector<double> got = losses(count);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], whole[i], 1e-5 * whole[i]);
  }
}

TEST(Accumulate, LoopsOverStepsOfExamples) {
  // A recurrent network over (B, T, width): its weights get a sum over steps and examples.
  const auto loss = [](const Layers& layers, const Tensor& x) {
    const auto cell = [&](const Tensor& h, const Tensor& in) {
      return tanh(matmul(h, layers.weights[0]) + matmul(in, layers.weights[1]) + layers.biases[0]);
    };
    const Tensor last = scan(cell, zeros({x.shape()[0], 12}), swap_axes(x, 0, 1));
    return mean(square(last));
  };
  expect_as_whole(loss, some_layers(12, 2), random_normal(key(5), {16, 5, 12}));
}

TEST(Accumulate, DropoutDrawsTheNumbersOfTheWholeBatch) {
  const auto loss = [](const Layers& layers, const Tensor& x, const Tensor& k) {
    return mean(square(dropout(layers_output(layers, dropout(x, 0.3, k)), 0.5, fold_in(k, 1))));
  };
  expect_as_whole(loss, some_layers(12, 2), random_normal(key(5), {16, 12}), key(9));
}

TEST(Accumulate, ABatchOf64InTheMemoryOf8) {
  const Layers layers = some_layers(64, 6);
  const auto inputs = [](std::int64_t batch) { return random_normal(key(5), {batch, 32, 64}); };
  const auto loss = [](const Layers& l, const Tensor& x) { return mean(square(layers_output(l, x))); };
  const auto eight = compile(value_and_grad(loss)), whole = compile(value_and_grad(loss));
  const auto split = compile(value_and_grad(loss), {.batch_arguments = {1}, .accumulate = 8});
  const Tensor large = inputs(64);
  const Bytes peak = split.prepare(layers, large).peak(), small = eight.prepare(layers, inputs(8)).peak();
  Bytes sums(0);
  for (const Tensor& t : tensors_of(layers)) sums += Bytes(t.type().bytes());
  EXPECT_LE(peak.count, (small + Bytes(large.type().bytes()) + sums).count + 16384);
  EXPECT_LT(3 * peak.count, whole.prepare(layers, large).peak().count);
  const auto [value, gradients] = split(layers, large);
  EXPECT_EQ(split.arena_high_water().count, split.plan().plan.arena_bytes);
  EXPECT_LE(tree_difference(gradients, whole(layers, large).second), 1e-6);
}

TEST(Accumulate, PlansChooseAsManyAsTheBudgetAsksFor) {
  if (looks_for_races) GTEST_SKIP() << "one thread plans";
  const Layers layers = some_layers(32, 4);
  const Tensor x = random_normal(key(5), {64, 16, 32});
  const auto loss = [](const Layers& l, const Tensor& in) { return mean(square(layers_output(l, in))); };
  const auto free = compile(value_and_grad(loss), {.accumulate = automatic});
  const Bytes top = free.prepare(layers, x).peak();
  EXPECT_THAT(free.plan().summary(), ::testing::Not(HasSubstr("micro-batches")));
  const auto wanted = free(layers, x);
  std::int64_t last = 1;
  for (const double share : {1.0, 0.4, 0.25}) {
    const Bytes budget(static_cast<std::int64_t>(share * static_cast<double>(top.count)));
    const auto step =
        compile(value_and_grad(loss), {.memory = budget, .effort = little, .accumulate = automatic});
    const auto got = step(layers, x);
    EXPECT_LE(step.plan().peak(), budget);
    EXPECT_EQ(step.arena_high_water().count, step.plan().plan.arena_bytes);
    EXPECT_LE(tree_difference(got.second, wanted.second), 1e-6);
    const std::int64_t count = step.plan().program->micro_batches().count;
    EXPECT_GE(count, last) << share;
    last = count;
  }
  EXPECT_GT(last, 1);
  // Less than any number of micro-batches takes.
  const auto none =
      compile(value_and_grad(loss), {.memory = 10_KiB, .effort = little, .accumulate = automatic});
  EXPECT_FALSE(none.try_prepare(layers, x));
}

TEST(Accumulate, TheSameBitsAtEveryBudgetAndFromRunToRun) {
  const Layers layers = some_layers(32, 4);
  const Tensor x = random_normal(key(5), {16, 32, 32});
  const auto loss = [](const Layers& l, const Tensor& in) { return mean(square(layers_output(l, in))); };
  const auto free = compile(grad(loss), {.accumulate = 4});
  const auto wanted = free(layers, x);
  const Bytes top = free.plan().peak(), least = free.smallest(layers, x).memory;
  EXPECT_LT(least, top);
  for (const Bytes budget : {least, Bytes((least.count + top.count) / 2), top}) {
    const auto step = compile(grad(loss), {.memory = budget, .effort = little, .accumulate = 4});
    for (int run = 0; run < 2; ++run) {
      const auto got = step(layers, x);
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(got.weights[i].to_vector(), wanted.weights[i].to_vector());
        EXPECT_EQ(got.biases[i].to_vector(), wanted.biases[i].to_vector());
      }
    }
    EXPECT_LE(step.plan().peak(), budget);
  }
}

TEST(Accumulate, TwoThreadsCallTheSameFunction) {
  const Layers layers = some_layers(24, 3);
  const Tensor x = random_normal(key(5), {16, 24}), y = random_normal(key(6), {16, 24});
  for (const std::optional<Bytes> memory : {std::optional<Bytes>(), std::optional<Bytes>(256_KiB)}) {
    const auto step = compile(grad(layers_loss), {.memory = memory, .effort = little, .accumulate = 4});
    const std::vector<double> wanted = step(layers, x, y).weights[0].to_vector();
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) EXPECT_EQ(step(layers, x, y).weights[0].to_vector(), wanted);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(Accumulate, ValuesOfExamplesComeBackForAllOfThem) {
  const Layers layers = some_layers(12, 2);
  const Tensor x = random_normal(key(5), {8, 3, 12});
  const auto f = [](const Layers& l, const Tensor& in) {
    const Tensor out = layers_output(l, in), each = mean(square(out), {1, 2});
    return AllResults{mean(each), each, out, transpose(out, {1, 2, 0}), max(each), argmax(out, -1)};
  };
  const AllResults whole = compile(f)(layers, x), parts = compile(f, {.accumulate = 4})(layers, x);
  EXPECT_LE(difference(parts.loss, whole.loss), 1e-6);
  EXPECT_EQ(parts.each.to_vector(), whole.each.to_vector());
  EXPECT_EQ(parts.output.to_vector(), whole.output.to_vector());
  EXPECT_EQ(parts.turned.to_vector(), whole.turned.to_vector());
  EXPECT_EQ(parts.largest.to_vector(), whole.largest.to_vector());
  EXPECT_EQ(parts.best.to_vector(), whole.best.to_vector());
}

TEST(Accumulate, LossesOfSeveralTermsAndGradientsThatAreClipped) {
  const auto loss = [](const Layers& layers, const Tensor& x, const Tensor& y) {
    const Tensor out = layers_output(layers, x), decay = sum(square(layers.weights[0]));
    return mean(abs(out - y)) + 0.1 * mean(square(out), {0, 1}) + 0.01 * decay + sum(out * y) / 100;
  };
  const Layers layers = some_layers(12, 3);
  const Tensor x = random_normal(key(5), {16, 12}), y = random_normal(key(6), {16, 12});
  expect_as_whole(loss, layers, x, y);
  const auto clipped = [&](const Layers& l, const Tensor& in, const Tensor& out) {
    const Layers gradients = grad(loss)(l, in, out);
    Tensor norm = scalar(0);
    for (const Tensor& g : tensors_of(gradients)) norm = norm + sum(square(g));
    const Tensor scale = minimum(scalar(1), 0.01 / sqrt(norm));
    return map_tree([&](const Tensor& w, const Tensor& g) { return w - 100 * scale * g; }, l, gradients);
  };
  const Layers whole = compile(clipped)(layers, x, y);
  for (const int count : {2, 16})
    EXPECT_LE(tree_difference(compile(clipped, {.accumulate = count})(layers, x, y), whole), 1e-6);
}

TEST(Accumulate, GradientsOfTheBatchItselfAreStacked) {
  const auto loss = [](const Tensor& x, const Layers& layers) {
    return mean(square(layers_output(layers, x)));
  };
  const Layers layers = some_layers(12, 2);
  const Tensor x = random_normal(key(5), {16, 3, 12});
  const Tensor whole = compile(grad(loss))(x, layers);
  for (const int count : {2, 8, 16}) {
    const auto step = compile(grad(loss), {.batch_arguments = {0}, .accumulate = count});
    EXPECT_LE(difference(step(x, layers), whole), 1e-6);
  }
}

TEST(Accumulate, CountsAndCheckpointsAndSixteenBits) {
  const auto loss = [](const Layers& layers, const Tensor& x, const Tensor& labels) {
    const auto block = checkpoint([&](const Tensor& in) { return layers_output(layers, in); });
    const Tensor logits = block(x);
    const Tensor right = sum(cast(argmax(logits, -1) == cast(labels, DType::i64), DType::i32));
    return std::pair(mean(cross_entropy(logits, labels)), right);
  };
  const Layers layers = some_layers(12, 3);
  const Tensor x = random_normal(key(5), {16, 12});
  const Tensor labels = cast(floor(random_uniform(key(6), {16}, 0, 12)), DType::i32);
  const auto whole = compile(value_and_grad(loss))(layers, x, labels);
  const auto parts = compile(value_and_grad(loss), {.accumulate = 4})(layers, x, labels);
  EXPECT_EQ(parts.first.second.item(), whole.first.second.item());
  EXPECT_LE(tree_difference(parts.second, whole.second), 1e-6);

  const auto halves = [](const Layers& l) {
    return map_tree([](const Tensor& t) { return cast(t, DType::bf16); }, l);
  };
  const auto rough =
      compile(value_and_grad(loss), {.accumulate = 4})(halves(layers), cast(x, DType::bf16), labels);
  EXPECT_EQ(rough.second.weights[0].dtype(), DType::bf16);
  EXPECT_LE(tree_difference(rough.second, whole.second), 0.1);
}

TEST(Accumulate, WeightsThatMustBeComputedAreRefused) {
  const Tensor w = random_normal(key(1), {12, 12}, 0, 0.3), x = random_normal(key(5), {16, 12});
  EXPECT_THAT(loss_refusal(
                  [](const Tensor& p, const Tensor& in) {
                    const Tensor out = matmul(in, p), weight = sigmoid(sum(out, {1}));
                    return sum(sum(square(out), {1}) * weight) / sum(weight);
                  },
                  w, x),
              HasSubstr("takes the examples of the batch together"));
  EXPECT_THAT(loss_refusal(
                  [](const Tensor& p, const Tensor& in) {
                    const Tensor each = mean(square(matmul(in, p)), {1});
                    return sum(softmax(each, 0) * each);
                  },
                  w, x),
              HasSubstr("softmax takes the examples of the batch together"));
}

TEST(Accumulate, WhatNeedsAllExamplesIsRefusedByName) {
  const Tensor w = random_normal(key(1), {12, 12}, 0, 0.3), x = random_normal(key(5), {16, 12});
  EXPECT_THAT(loss_refusal(
                  [](const Tensor& p, const Tensor& in) {
                    return mean(square(batch_norm(matmul(in, p), ones({12}), zeros({12})).y));
                  },
                  w, x),
              HasSubstr("batch_norm takes the examples of the batch together"));
  EXPECT_THAT(loss_refusal(
                  [](const Tensor& p, const Tensor& in) {  // contrastive
                    const Tensor z = tanh(matmul(in, p)), alike = matmul(z, transpose(z));
                    return mean(cross_entropy(alike, arange(in.shape()[0])));
                  },
                  w, x),
              HasSubstr("contract takes the examples of the batch together"));
  EXPECT_THAT(
      loss_refusal([](const Tensor& p, const Tensor& in) { return sqrt(mean(square(matmul(in, p)))); }, w, x),
      HasSubstr("takes the examples of the batch together"));
  EXPECT_THAT(loss_refusal([](const Tensor& p, const Tensor& in) { return max(matmul(in, p)); }, w, x),
              HasSubstr("reduce_max takes the examples of the batch together"));
  EXPECT_THAT(
      loss_refusal([](const Tensor& p, const Tensor& in) { return mean(square(cumsum(matmul(in, p), 0))); },
                   w, x),
      HasSubstr("cumsum takes the examples of the batch together"));
}

TEST(Accumulate, EffectsOfExamplesAreRefused) {
  static const Op& shout =
      make_custom_op({.name = "shout",
                      .infer = [](std::span<const Type> in) { return std::vector{in[0]}; },
                      .kernel =
                          [](std::span<const TensorRef> in, std::span<const TensorRef> out) {
                            std::copy_n(in[0].as<const float>(), in[0].count(), out[0].as<float>());
                          },
                      .vjp = [](const RuleCall& rule) { return std::vector{rule.seed[0]}; },
                      .effect = {.domain = "io"}});
  const Tensor w = ones({4}), x = ones({8, 4});
  EXPECT_THAT(
      loss_refusal([](const Tensor& p, const Tensor& in) { return mean(call(shout, {in * p}).front()); }, w,
                   x),
      HasSubstr("shout has an effect"));
  // Of what all examples share, and of the result, they happen once.
  const auto late = [](const Tensor& p, const Tensor& in) {
    return call(shout, {mean(square(in * call(shout, {p}).front()))}).front();
  };
  EXPECT_LE(difference(compile(late, {.accumulate = 4})(w, x), compile(late)(w, x)), 1e-6);
}

TEST(Accumulate, BatchesThatCannotBeCutAreRefused) {
  const Tensor w = ones({4}), x = ones({12, 4});
  const auto loss = [](const Tensor& p, const Tensor& in) { return mean(square(in * p)); };
  const auto with = [&](CompileOptions options, const Tensor& in) {
    return refusal([&] { compile(grad(loss), options)(w, in); });
  };
  const std::string uneven = with({.accumulate = 8}, x);
  EXPECT_THAT(uneven, HasSubstr("a batch of 12 cannot be cut into 8 equal micro-batches"));
  EXPECT_THAT(uneven, HasSubstr("1, 2, 3, 4, 6, 12"));
  EXPECT_THAT(with({.accumulate = 0}, x), HasSubstr("0 micro-batches"));
  EXPECT_THAT(with({.max_batch = 12, .accumulate = automatic}, x), HasSubstr("a largest batch"));
  const auto fixed = [&](const Tensor& p, const Tensor& in) { return mean(square(in * p + x)); };
  EXPECT_THAT(refusal([&] { compile(grad(fixed), {.batch_arguments = {1}, .accumulate = 4})(w, x); }),
              HasSubstr("the function cannot be computed for a micro-batch of 3"));
  EXPECT_THAT(refusal([&] { compile(grad(fixed), {.accumulate = 4})(w, x); }),
              HasSubstr("no argument holds a batch"));
}

TEST(Accumulate, ACapturedTensorOfTheBatchIsNotTakenForTheFirstExample) {
  // With one example to a micro-batch, shapes fit by broadcasting: the result is right still, or refused.
  const Tensor w = random_normal(key(1), {4}), x = random_normal(key(2), {8, 4}),
               fixed = random_normal(key(3), {8, 4});
  const auto f = [&](const Tensor& p, const Tensor& in) { return sum(square(in * p + fixed)); };
  const Tensor whole = compile(f)(w, x);
  try {
    const Tensor parts = compile(f, {.batch_arguments = {1}, .accumulate = 8})(w, x);
    EXPECT_LE(difference(parts, whole), 1e-6);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_plan_option);
  }
}

TEST(Accumulate, GoesWithALargestBatch) {
  const Layers layers = some_layers(20, 3);
  const auto step = compile(grad(layers_loss), {.max_batch = 32, .accumulate = 4});
  const auto whole = compile(grad(layers_loss));
  for (const std::int64_t batch : {8, 32, 16}) {
    const Tensor x = random_normal(key(5), {batch, 20}), y = random_normal(key(6), {batch, 20});
    EXPECT_LE(tree_difference(step(layers, x, y), whole(layers, x, y)), 1e-6);
  }
}

TEST(Accumulate, ReportsAreOfTheMicroBatches) {
  if (looks_for_races) GTEST_SKIP() << "one thread plans";
  const Layers layers = some_layers(32, 4);
  const Tensor x = random_normal(key(5), {16, 32}), y = random_normal(key(6), {16, 32});
  const auto step = compile(grad(layers_loss), {.effort = little, .accumulate = 4});
  EXPECT_LE(step.smallest(layers, x, y).memory, step.prepare(layers, x, y).peak());
  EXPECT_FALSE(step.frontier(layers, x, y).empty());
  EXPECT_THAT(step.report(layers, x, y), HasSubstr("micro-batches     4 of 4 examples"));
  EXPECT_TRUE(step.footprint(layers, x, y));
}

TEST(Accumulate, AutomaticLeavesRoomForResultsThatAreHeld) {
  if (looks_for_races) GTEST_SKIP() << "one thread plans";
  const Layers layers = some_layers(32, 4);
  const Tensor x = random_normal(key(5), {64, 16, 32});
  const auto loss = [](const Layers& l, const Tensor& in) { return mean(square(layers_output(l, in))); };
  const auto free = compile(grad(loss));
  (void)free.prepare(layers, x);
  const Bytes budget(free.plan().peak().count * 45 / 100);
  const auto step =
      compile(grad(loss), {.memory = budget, .effort = little, .accumulate = automatic, .held_results = 2});
  const auto first = step(layers, x), second = step(layers, x);
  EXPECT_LE(tree_difference(step(layers, x), first), 0);
  EXPECT_LE(tree_difference(second, free(layers, x)), 1e-6);
}

TEST(Accumulate, CodeThatRefusesOtherBatchesIsComputedAsAWhole) {
  const auto picky = [](const Tensor& w, const Tensor& x) {
    if (x.shape()[0] != 16) throw std::invalid_argument("sixteen, please");
    return mean(square(matmul(x, w)));
  };
  const Tensor w = random_normal(key(1), {12, 12}), x = random_normal(key(5), {16, 12});
  const Tensor wanted = compile(grad(picky))(w, x);
  const auto roomy = compile(
      grad(picky), {.memory = 1_GiB, .effort = little, .batch_arguments = {1}, .accumulate = automatic});
  EXPECT_EQ(roomy(w, x).to_vector(), wanted.to_vector());
  EXPECT_FALSE(roomy.report(w, x).empty());
  EXPECT_FALSE(compile(grad(picky), {.memory = 1_KiB, .effort = little}).try_prepare(w, x));
  EXPECT_THAT(refusal([&] { compile(grad(picky), {.batch_arguments = {1}, .accumulate = 4})(w, x); }),
              HasSubstr("sixteen, please"));
}

}  // namespace
}  // namespace tidemark
