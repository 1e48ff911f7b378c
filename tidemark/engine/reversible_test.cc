// Reversible blocks as a user has them: the same gradients at every budget, memory that does not grow with
// depth, calls that cannot be undone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "tests/support/errors.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::code_of;

struct RevNet {
  std::vector<Tensor> f, g;
  TM_FIELDS(RevNet, f, g)

  static RevNet init(int blocks, std::int64_t width = 16, DType dtype = DType::f32) {
    RevNet net;
    for (int i = 0; i < blocks; ++i) {
      net.f.push_back(cast(random_normal(key(2 * i), {width, width}, 0, 0.2), dtype));
      net.g.push_back(cast(random_normal(key(2 * i + 1), {width, width}, 0, 0.2), dtype));
    }
    return net;
  }
};
Tensor rev_branch(const Tensor& x, const Tensor& w) { return tanh(matmul(gelu(matmul(x, w)), w)); }

Tensor rev_loss(const RevNet& net, const Tensor& x) {
  Tensor x1 = x, x2 = x * 0.5;
  for (std::size_t i = 0; i < net.f.size(); ++i) {
    std::tie(x1, x2) = reversible([&](const Tensor& h) { return rev_branch(h, net.f[i]); },
                                  [&](const Tensor& h) { return rev_branch(h, net.g[i]); })(x1, x2);
  }
  return mean(square(x1)) + mean(sin(x2));
}
Tensor rev_batch(std::int64_t rows = 512, std::int64_t width = 16, DType dtype = DType::f32) {
  return cast(random_normal(key(99), {rows, width}), dtype);
}

std::vector<double> rev_joined(const RevNet& net) {
  std::vector<double> all;
  for (const auto* list : {&net.f, &net.g}) {
    for (const Tensor& w : *list) {
      const std::vector<double> part = w.to_vector();
      all.insert(all.end(), part.begin(), part.end());
    }
  }
  return all;
}
int undone(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.op->undoes;
  return count;
}

TEST(Reversible, GradientsHaveTheSameBitsAtEveryBudget) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const RevNet net = RevNet::init(8, 16, dtype);
    const Tensor x = rev_batch(512, 16, dtype);
    const auto free = compile(value_and_grad(rev_loss));
    const auto [value, gradient] = free(net, x);
    EXPECT_EQ(undone(free.plan().graph), 0) << "without a budget there is no reason to";
    const std::int64_t least =
        compile(value_and_grad(rev_loss), {.effort = 0.1}).smallest(net, x).memory.count;
    int most = 0;
    for (const double share : {0.0, 0.1, 0.5}) {
      const Bytes budget(least + static_cast<std::int64_t>(share * double(free.plan().peak().count - least)));
      const auto step = compile(value_and_grad(rev_loss), {.memory = budget, .effort = 0.1});
      const auto [same, gradients] = step(net, x);
      EXPECT_EQ(same.to_vector(), value.to_vector());
      EXPECT_EQ(rev_joined(gradients), rev_joined(gradient)) << share << "\n" << step.plan().summary();
      EXPECT_LE(step.plan().peak(), budget);
      EXPECT_EQ(step.arena_high_water().count, step.plan().plan.arena_bytes);
      most = std::max(most, undone(step.plan().graph));
    }
    EXPECT_GT(most, 0);
  }
}

TEST(Reversible, MemoryDoesNotGrowWithDepth) {
  const Tensor x = rev_batch(4096);
  const auto beside_parameters = [&](int blocks) {
    const RevNet net = RevNet::init(blocks);
    const auto step = compile(grad(rev_loss), {.effort = 0.1});
    const std::int64_t parameters = 2 * blocks * 16 * 16 * 4;
    return step.smallest(net, x).memory.count - 2 * parameters;  // and their gradients
  };
  const std::int64_t shallow = beside_parameters(10), deep = beside_parameters(30);
  EXPECT_LE(deep, shallow + shallow / 50);
}

TEST(Reversible, TheSummaryAndThePlanTellWhatIsUndone) {
  const RevNet net = RevNet::init(8);
  const Tensor x = rev_batch(2048);
  const Bytes least = compile(grad(rev_loss), {.effort = 0.1}).smallest(net, x).memory;
  const auto step = compile(grad(rev_loss), {.memory = least, .effort = 0.1});
  (void)step(net, x);
  ASSERT_GT(undone(step.plan().graph), 0);
  EXPECT_THAT(step.plan().summary(),
              ::testing::HasSubstr(fmt::format("inverted          {} calls", undone(step.plan().graph))));
  EXPECT_GT(step.plan().plan.extra_time(), 0.05) << "undoing takes time, and counts as such";
}

// Halves swap, pass through transposes, reshapes and flips, are joined and cut between blocks.
TEST(Reversible, WhatOnlyMovesBetweenBlocksIsUndoneToo) {
  const RevNet net = RevNet::init(12);
  const auto loss = [](const RevNet& n, const Tensor& x) {
    Tensor x1 = x, x2 = x * 0.5;
    for (std::size_t i = 0; i < n.f.size(); ++i) {
      std::tie(x1, x2) = reversible([&](const Tensor& h) { return rev_branch(h, n.f[i]); },
                                    [&](const Tensor& h) { return rev_branch(h, n.g[i]); })(x1, x2);
      if (i % 3 == 0) std::swap(x1, x2);
      if (i % 3 == 1) {
        const Tensor both = concat({x1, x2}, 1);
        const std::vector<Tensor> halves = split(flip(both, {1}), 1, {16, 16});
        x1 = halves[0], x2 = halves[1];
      }
      if (i % 3 == 2) {
        const Shape shape = x1.shape();
        x1 = reshape(transpose(reshape(x1, {shape[0] / 4, 4, shape[1]}), {1, 0, 2}), shape);
      }
    }
    return mean(square(x1 - x2));
  };
  const Tensor x = rev_batch(2048);
  const auto free = compile(grad(loss));
  const std::vector<double> exact = rev_joined(free(net, x));
  const Bytes least = compile(grad(loss), {.effort = 0.1}).smallest(net, x).memory;
  const auto tight = compile(grad(loss), {.memory = least, .effort = 0.1});
  EXPECT_EQ(rev_joined(tight(net, x)), exact);
  EXPECT_GE(undone(tight.plan().graph), 20) << tight.plan().summary();
  EXPECT_LT(least.count, free.plan().peak().count / 4);
}

TEST(Reversible, DropoutDrawsTheSameNumbersAgain) {
  const RevNet net = RevNet::init(6);
  const auto loss = [](const RevNet& n, const Tensor& x) {
    Tensor x1 = x, x2 = x;
    for (std::size_t i = 0; i < n.f.size(); ++i) {
      const auto dropped = [&](const Tensor& h, const Tensor& w, int stream) {
        const Tensor kept =
            random_uniform(fold_in(key(5), static_cast<std::int64_t>(2 * i) + stream), h.shape()) < 0.8;
        return select(kept, rev_branch(h, w), zeros_like(h));
      };
      std::tie(x1, x2) = reversible([&](const Tensor& h) { return dropped(h, n.f[i], 0); },
                                    [&](const Tensor& h) { return dropped(h, n.g[i], 1); })(x1, x2);
    }
    return sum(x1 * x2);
  };
  const Tensor x = rev_batch(1024);
  const auto free = compile(grad(loss));
  const std::vector<double> exact = rev_joined(free(net, x));
  const Bytes least = compile(grad(loss), {.effort = 0.1}).smallest(net, x).memory;
  const auto tight = compile(grad(loss), {.memory = least, .effort = 0.1});
  EXPECT_EQ(rev_joined(tight(net, x)), exact);
  EXPECT_GT(undone(tight.plan().graph), 0);
}

TEST(Reversible, ASumThatCannotBeUndoneIsAnErrorAndLeavesStateAlone) {
  const auto step = [](const Tensor& w, const Tensor& x) {
    const auto [y1, y2] =
        reversible([&](const Tensor& h) { return h * w; }, [&](const Tensor& h) { return h * 0.5; })(x, x);
    return w - 0.1 * mean(y1 + y2);
  };
  Tensor w = full({64}, 2.0);
  const auto compiled = compile(step, {.donate = {0}});
  const auto message = [&](double value) -> std::string {
    try {
      (void)compiled(w, full({64}, value));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::numeric);
      EXPECT_TRUE(error.where().known());
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(1e6 + 0.25),
              ::testing::AllOf(::testing::HasSubstr("cannot be undone"), ::testing::HasSubstr("±1024"),
                               ::testing::HasSubstr("reversible_test.cc")));
  EXPECT_THAT(message(std::numeric_limits<double>::quiet_NaN()), ::testing::HasSubstr("nan"));
  EXPECT_THAT(message(std::numeric_limits<double>::infinity()), ::testing::HasSubstr("inf"));
  EXPECT_EQ(w.to_vector(), std::vector<double>(64, 2.0));
  EXPECT_EQ(message(1.0), "");
}

TEST(Reversible, ARangeOfOnesOwnAndBadOnes) {
  const auto run = [](double range, double value) {
    const Tensor x = full({4}, value);
    const auto same = [](const Tensor& h) { return h; };
    return reversible(same, same, {.range = range})(x, x).first.to_vector().front();
  };
  EXPECT_EQ(code_of([&] { (void)run(1024, 3000.3); }), ErrorCode::numeric);
  EXPECT_NEAR(run(65536, 3000.3), 6000.6, 65536 * 0x1p-22);
  for (const double bad : {0.0, -1024.0, 1000.0, 1e300, 1e-30, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(code_of([&] { (void)run(bad, 1); }), ErrorCode::bad_attribute) << bad;
  }
}

TEST(Reversible, HalvesOfDifferentTypesAreRefusedWithTheLine) {
  const auto same = [](const Tensor& h) { return h; };
  const auto block = reversible(same, same);
  EXPECT_EQ(code_of([&] { (void)block(ones({4}), ones({5})); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)block(ones({4}), cast(ones({4}), DType::f64)); }), ErrorCode::dtype_mismatch);
  const Tensor narrow = cast(ones({4}), DType::bf16);
  EXPECT_EQ(code_of([&] { (void)block(narrow, narrow); }), ErrorCode::dtype_mismatch);
}

TEST(Reversible, MixesWithLossyCopiesAndMicroBatches) {
  const RevNet net = RevNet::init(8);
  const Tensor x = rev_batch(1024);
  const auto free = compile(grad(rev_loss));
  const std::vector<double> exact = rev_joined(free(net, x));
  const Bytes least =
      compile(grad(rev_loss), {.lossy = Lossy{.error = 4e-3}, .effort = 0.1}).smallest(net, x).memory;
  const auto lossy = compile(grad(rev_loss), {.memory = least, .lossy = Lossy{.error = 4e-3}, .effort = 0.1});
  (void)lossy(net, x);
  EXPECT_LE(lossy.gradient_error(net, x).largest, 0.05);
  const auto parts = compile(grad(rev_loss), {.effort = 0.1, .accumulate = 4});
  const std::vector<double> summed = rev_joined(parts(net, x));
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(summed[i], exact[i], 1e-6);
}

TEST(Reversible, WorksInsideALoopWhereNothingIsUndone) {
  const RevNet net = RevNet::init(1);
  const auto loss = [](const RevNet& n, const Tensor& x) {
    const auto step = [&](const std::pair<Tensor, Tensor>& halves) {
      return reversible([&](const Tensor& h) { return rev_branch(h, n.f[0]); },
                        [&](const Tensor& h) { return rev_branch(h, n.g[0]); })(halves.first, halves.second);
    };
    const auto [x1, x2] = repeat(6, step, std::pair(x, x));
    return mean(square(x1 - 2 * x2));
  };
  const Tensor x = rev_batch(256);
  const auto free = compile(grad(loss));
  const std::vector<double> exact = rev_joined(free(net, x));
  const Bytes least = compile(grad(loss), {.effort = 0.1}).smallest(net, x).memory;
  const auto tight = compile(grad(loss), {.memory = least, .effort = 0.1});
  EXPECT_EQ(rev_joined(tight(net, x)), exact);
}

TEST(Reversible, AValueReadElsewhereToo) {
  const RevNet net = RevNet::init(8);
  const auto loss = [](const RevNet& n, const Tensor& x) {
    Tensor x1 = x, x2 = x * 0.5, extra = sum(x) * 0;
    for (std::size_t i = 0; i < n.f.size(); ++i) {
      std::tie(x1, x2) = reversible([&](const Tensor& h) { return rev_branch(h, n.f[i]); },
                                    [&](const Tensor& h) { return rev_branch(h, n.g[i]); })(x1, x2);
      if (i % 2 == 1) extra = extra + mean(exp(x1 * 0.1) * x2);
    }
    return mean(square(x1)) + extra;
  };
  const Tensor x = rev_batch(1024);
  const auto free = compile(value_and_grad(loss));
  const auto [value, gradient] = free(net, x);
  const Bytes least = compile(value_and_grad(loss), {.effort = 0.1}).smallest(net, x).memory;
  const auto tight = compile(value_and_grad(loss), {.memory = least, .effort = 0.1});
  const auto [same, gradients] = tight(net, x);
  EXPECT_EQ(value.to_vector(), same.to_vector());
  EXPECT_EQ(rev_joined(gradient), rev_joined(gradients));
  EXPECT_GT(undone(tight.plan().graph), 0);
}

TEST(Reversible, SecondDerivativesAndThreads) {
  const RevNet net = RevNet::init(3, 8);
  const Tensor x = rev_batch(32, 8);
  const auto squared = [](const RevNet& n, const Tensor& in) {
    const RevNet first = grad(rev_loss)(n, in);
    Tensor total = sum(square(first.f[0]));
    for (std::size_t i = 1; i < first.f.size(); ++i) total = total + sum(square(first.f[i]));
    return total;
  };
  const auto free = compile(grad(squared));
  const std::vector<double> exact = rev_joined(free(net, x));
  const Bytes least = compile(grad(squared), {.effort = 0.1}).smallest(net, x).memory;
  const auto tight = compile(grad(squared), {.memory = least, .effort = 0.1});
  std::vector<std::vector<double>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& own : found) threads.emplace_back([&] { own = rev_joined(tight(net, x)); });
  }
  for (const auto& own : found) EXPECT_EQ(own, exact);
}

}  // namespace
}  // namespace tidemark
