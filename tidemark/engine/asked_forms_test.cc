// Forms that are asked for value by value: a low rank, whose error is measured, and what is not zero,
// which is exact and must not be trusted to be little.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tests/support/errors.h"
#include "tidemark/ops/codec/sparse.h"
#include "tidemark/ops/custom/custom.h"
#include "tidemark/ops/registry.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::code_of;
using ::testing::HasSubstr;

int sparse_values(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes()) {
    count += node.op == &op::from_sparse;
    for (const Graph& region : node.regions) count += sparse_values(region);
  }
  return count;
}

// The share of x's elements that is positive stays in h.
Tensor rectified_loss(Tensor w, Tensor x) {
  const Tensor h = name(compress(relu(x) * 1.5, codec::sparse(0.6)), "h");
  return mean(square(sin(matmul(h, w)) + matmul(square(h), w)));
}
Tensor plain_rectified_loss(Tensor w, Tensor x) {
  const Tensor h = relu(x) * 1.5;
  return mean(square(sin(matmul(h, w)) + matmul(square(h), w)));
}
Tensor signed_batch(double shift = 0, std::int64_t rows = 2048) {
  return random_normal(key(7), {rows, 64}) + shift;
}
Tensor square_weights() { return random_normal(key(8), {64, 64}, 0, 0.2); }

TEST(SparseForm, KeepsTheBitsAtEveryBudgetInFewerBytes) {
  const Tensor w = square_weights(), x = signed_batch();
  const auto plain = compile(grad(plain_rectified_loss)), step = compile(grad(rectified_loss));
  const std::vector<double> exact = plain(w, x).to_vector();
  EXPECT_EQ(step(w, x).to_vector(), exact);
  EXPECT_EQ(sparse_values(step.plan().graph), 1);
  ASSERT_EQ(step.plan().plan.hints.size(), 1u);
  EXPECT_TRUE(step.plan().plan.hints[0].honoured) << step.plan().plan.hints[0].reason;
  EXPECT_GT(step.plan().plan.hints[0].bytes, 2048 * 64 * 4 / 3);
  const Bytes least = step.smallest(w, x).memory;
  for (const double part : {0.0, 0.4, 0.8}) {
    const auto more = static_cast<double>(step.plan().peak().count - least.count) * part;
    const Bytes budget(least.count + static_cast<std::int64_t>(more));
    const auto tight = compile(grad(rectified_loss), {.memory = budget, .effort = 0.1});
    EXPECT_EQ(tight(w, x).to_vector(), exact) << part;
    EXPECT_LE(tight.plan().peak(), budget);
  }
  EXPECT_EQ(step.gradient_error(w, x).largest, 0);
  EXPECT_TRUE(step.gradient_error(w, x).values.empty());
}

TEST(SparseForm, WhatHasNoRoomIsPlannedWithoutItAndComesOutRight) {
  const Tensor w = square_weights(), few = signed_batch(), many = signed_batch(3);
  const auto plain = compile(grad(plain_rectified_loss)), step = compile(grad(rectified_loss));
  (void)step(w, few);
  EXPECT_EQ(sparse_values(step.plan().graph), 1);
  EXPECT_EQ(step(w, many).to_vector(), plain(w, many).to_vector());
  EXPECT_EQ(sparse_values(step.plan().graph), 0);
  EXPECT_EQ(step(w, few).to_vector(), plain(w, few).to_vector());
  EXPECT_EQ(step(w, many).to_vector(), plain(w, many).to_vector());
  EXPECT_EQ(step.gradient_error(w, many).largest, 0);
  // At once, within a budget, and for another batch.
  const auto tight = compile(grad(rectified_loss), {.memory = plain.plan().peak(), .effort = 0.1});
  EXPECT_EQ(tight(w, many).to_vector(), plain(w, many).to_vector());
  EXPECT_LE(tight.plan().peak(), plain.plan().peak());
  const Tensor other = signed_batch(3, 300);
  EXPECT_EQ(tight(w, other).to_vector(), plain(w, other).to_vector());
}

TEST(SparseForm, WhereNothingFitsWithoutItTheErrorTellsTheShare) {
  const auto kept = [](Tensor w, Tensor x) {
    for (int i = 0; i < 4; ++i) {
      const Tensor h = name(compress(relu(x), codec::sparse(0.6)), "activations");
      x = matmul(h, w) + x;
    }
    return mean(square(x));
  };
  const Tensor w = square_weights(), few = signed_batch(), many = signed_batch(3);
  const Bytes least = compile(grad(kept), {.allow = {Choice::keep}, .effort = 0.1}).smallest(w, few).memory;
  const auto step = compile(grad(kept), {.memory = least, .allow = {Choice::keep}, .effort = 0.1});
  const std::vector<double> right = step(w, few).to_vector();
  try {
    (void)step(w, many);
    FAIL() << "it had no room";
  } catch (const SparseOverflow& error) {
    EXPECT_THAT(error.what(), HasSubstr("room for 60.0%"));
    EXPECT_THAT(error.what(), HasSubstr("99."));
    EXPECT_THAT(error.what(), HasSubstr("activations"));
    EXPECT_THAT(error.what(), HasSubstr("without that form nothing fits"));
    EXPECT_THAT(error.what(), HasSubstr("asked_forms_test.cc"));
  }
  EXPECT_EQ(step(w, few).to_vector(), right) << "the form is still there";
}

TEST(SparseForm, DonatedStateIsThereForTheSecondTry) {
  const auto update = [](Tensor w, Tensor x) { return w - 0.1 * grad(rectified_loss)(w, x); };
  const auto plain = [](Tensor w, Tensor x) { return w - 0.1 * grad(plain_rectified_loss)(w, x); };
  const Tensor many = signed_batch(3);
  const std::vector<double> right = compile(plain)(square_weights(), many).to_vector();
  const auto step = compile(update, {.donate = {0}});
  EXPECT_EQ(step(square_weights(), many).to_vector(), right);
}

TEST(SparseForm, WhatHappensOnceIsNotRepeated) {
  static int calls = 0;
  static const Op& counting =
      make_custom_op({.name = "counting_calls",
                      .infer = [](std::span<const Type>) { return std::vector<Type>{}; },
                      .kernel = [](std::span<const TensorRef>, std::span<const TensorRef>) { ++calls; },
                      .effect = {.domain = "io"},
                      .derivative = Derivative::zero});
  const auto f = [](Tensor w, Tensor x) {
    call(counting, {w});
    return rectified_loss(w, x);
  };
  const auto step = compile(grad(f));
  calls = 0;
  EXPECT_EQ(code_of([&] { (void)step(square_weights(), signed_batch(3)); }), ErrorCode::numeric);
  EXPECT_EQ(calls, 1);
  (void)step(square_weights(), signed_batch());
  EXPECT_EQ(calls, 2);
}

TEST(SparseForm, LoopsKeepItForEveryStep) {
  const auto with = [](bool sparse) {
    return [=](Tensor w, Tensor xs) {
      const auto body = [&](Tensor h, Tensor x) {
        const Tensor y = relu(matmul(h, w) + x);
        return tanh(matmul(sparse ? compress(y, codec::sparse(0.7)) : y, w)) * y;
      };
      return mean(square(scan(body, zeros({64, 64}), xs)));
    };
  };
  const Tensor w = square_weights(), xs = random_normal(key(9), {16, 64, 64});
  const auto plain = compile(grad(with(false))), step = compile(grad(with(true)));
  EXPECT_EQ(step(w, xs).to_vector(), plain(w, xs).to_vector());
  EXPECT_GT(sparse_values(step.plan().graph), 0);
  const Tensor dense = xs + 4;
  EXPECT_EQ(step(w, dense).to_vector(), plain(w, dense).to_vector());
  EXPECT_EQ(sparse_values(step.plan().graph), 0);
}

TEST(SparseForm, ThreadsThatHaveNoRoomAtOnceAllComeOutRight) {
  const Tensor w = square_weights(), many = signed_batch(3, 256);
  const std::vector<double> right = compile(grad(plain_rectified_loss))(w, many).to_vector();
  const auto step = compile(grad(rectified_loss));
  std::vector<int> wrong(3, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] { wrong[t] += step(w, many).to_vector() != right; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::vector<int>{0, 0, 0}));
}

// Activations of few directions: a thin layer before a wide one.
Tensor thin_loss(Tensor w, Tensor x, bool low) {
  const Tensor h = matmul(matmul(x, w.at(Range{0, 64}, Range{0, 8})), w.at(Range{0, 8}));
  const Tensor seen = low ? compress(h, codec::low_rank(8)) : h;
  return mean(square(sin(matmul(seen, w)))) + mean(tanh(seen));
}

TEST(LowRankForm, IsCloseWhereTheRankIsLowAndSaysHowClose) {
  const Tensor w = square_weights(), x = signed_batch();
  const auto exact = compile(value_and_grad([](Tensor a, Tensor b) { return thin_loss(a, b, false); }));
  const auto step = compile(value_and_grad([](Tensor a, Tensor b) { return thin_loss(a, b, true); }));
  const auto [value, right] = exact(w, x);
  const auto [same, close] = step(w, x);
  EXPECT_EQ(value.to_vector(), same.to_vector()) << "the forward pass is not touched";
  const GradientError error = step.gradient_error(w, x);
  EXPECT_LT(error.largest, 1e-4);
  ASSERT_EQ(error.values.size(), 1u);
  EXPECT_EQ(error.values[0].form, Form(LowRank{8}));
  EXPECT_TRUE(std::isinf(error.values[0].bound));
  ASSERT_TRUE(error.values[0].measured);
  EXPECT_LT(*error.values[0].measured, 1e-5);
  EXPECT_EQ(error.values[0].small.count, 8 * (2048 + 64) * 4);
  EXPECT_THAT(error.text(), HasSubstr("low_rank(8)"));
  EXPECT_THAT(error.text(), ::testing::Not(HasSubstr("inf")));
  for (const double part : {0.0, 0.5}) {
    const Bytes least = step.smallest(w, x).memory;
    const auto more = static_cast<double>(step.plan().peak().count - least.count) * part;
    const auto tight =
        compile(value_and_grad([](Tensor a, Tensor b) { return thin_loss(a, b, true); }),
                {.memory = Bytes(least.count + static_cast<std::int64_t>(more)), .effort = 0.1});
    EXPECT_EQ(tight(w, x).second.to_vector(), close.to_vector()) << "the same bits at every budget";
  }
}

TEST(LowRankForm, SaysHowFarOffItIsWhereTheRankIsNotLow) {
  const Tensor w = square_weights(), x = signed_batch();
  const auto f = [](Tensor a, Tensor b) {
    return mean(square(matmul(compress(sin(b), codec::low_rank(4)), a)));
  };
  const GradientError error = compile(grad(f)).gradient_error(w, x);
  ASSERT_EQ(error.values.size(), 1u);
  EXPECT_GT(*error.values[0].measured, 0.1);
  EXPECT_GT(error.largest, 0.01);
}

TEST(AskedForms, AFormThatIsNoSmallerIsLeftOutAndSaidSo) {
  const Tensor w = square_weights(), x = random_normal(key(3), {16, 64});
  const auto f = [](Tensor a, Tensor b) {
    return mean(square(matmul(compress(sin(b), codec::low_rank(32)), a) +
                       matmul(compress(cos(b), codec::sparse(0.99)), a)));
  };
  const auto step = compile(grad(f));
  (void)step(w, x);
  ASSERT_EQ(step.plan().plan.hints.size(), 2u);
  for (const HintReport& report : step.plan().plan.hints) {
    EXPECT_FALSE(report.honoured);
    EXPECT_THAT(report.reason, HasSubstr("smaller"));
  }
}

TEST(AskedForms, WhatIsNoFormIsRefusedAtTheCall) {
  const Tensor x = signed_batch();
  const auto with = [&](const Form& form) {
    return [&x, form] { (void)grad([form](Tensor in) { return sum(square(compress(sin(in), form))); })(x); };
  };
  EXPECT_EQ(code_of(with(codec::low_rank(0))), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of(with(codec::sparse(0))), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of(with(codec::sparse(1.5))), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of(with(codec::sparse(std::nan("")))), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of(with(codec::sparse(1))), ErrorCode{0});
}

}  // namespace
}  // namespace tidemark
