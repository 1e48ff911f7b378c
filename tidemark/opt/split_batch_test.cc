#include "tidemark/opt/split_batch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/graph_text.h"
#include "tests/support/literals.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/indexing/sort.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/batch_norm.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;
using namespace testing;

// A function of x (batch, 3) and w (3, 4), the batch's and the caller's, in a graph for any batch.
using Function = std::function<std::vector<Var>(Builder&, const Var& x, const Var& w)>;

Graph graph_for(const Function& f, std::int64_t batch) {
  Graph graph;
  Builder builder(graph);
  builder.set_where({"train.cpp", 88});
  const Var x = builder.input({DType::f64, {batch, 3}}, "x"), w = builder.input({DType::f64, {3, 4}}, "w");
  for (const Var& v : f(builder, x, w)) graph.add_output(v.id());
  return graph;
}

Graph split_into(const Function& f, std::int64_t batch, std::int64_t count) {
  const Graph full = graph_for(f, batch), small = graph_for(f, batch / count);
  const std::vector<bool> batched = {true, false};
  return split_batch({.full = full, .small = small, .batched = batched, .parts = count, .where = {}},
                     find_op);
}

const Node* loop_of(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op == &op::loop) return &node;
  }
  return nullptr;
}

// The same numbers as the whole batch, in 2, 3 and 6 micro-batches.
void expect_same(const Function& f, double tolerance = 1e-12) {
  ThreadPool pool(1);
  constexpr std::int64_t batch = 6;
  const std::vector<Literal> inputs = {random_literal(DType::f64, {batch, 3}, 1),
                                       random_literal(DType::f64, {3, 4}, 2)};
  const std::vector<Literal> want = interpret(graph_for(f, batch), inputs, pool);
  for (const std::int64_t count : {2, 3, 6}) {
    SCOPED_TRACE(count);
    const std::vector<Literal> got = interpret(split_into(f, batch, count), inputs, pool);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      expect_near(values_of(got[i]), values_of(want[i]), tolerance);
  }
}

std::string refusal(const Function& f, std::int64_t count = 2) {
  try {
    split_into(f, 6, count);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_plan_option);
    EXPECT_THAT(error.what(), HasSubstr("train.cpp:88"));
    return error.what();
  }
  return "accepted";
}

TEST(SplitBatch, MeansAndSumsAreThoseOfTheWholeBatch) {
  expect_same([](Builder&, const Var& x, const Var& w) {
    const Var y = tanh(matmul(x, w));
    return std::vector{reduce_mean(square(y), {0, 1}), reduce_sum(y, {0}), reduce_mean(y, {0}, true),
                       contract(x, y, {{}, {}, {0}, {0}})};
  });
}

TEST(SplitBatch, ProductsAreAddedToTheirSumsInPlace) {
  const Graph graph = split_into(
      [](Builder&, const Var& x, const Var& w) {
        const Var y = matmul(x, w), z = tanh(y);
        const Var one = contract(x, y, {{}, {}, {0}, {0}}), two = contract(x, z, {{}, {}, {0}, {0}});
        return std::vector{one + two};
      },
      6, 3);
  const Node* loop = loop_of(graph);
  ASSERT_TRUE(loop);
  int with_sum = 0, sums = 0;
  for (const Node& node : loop->regions[0].nodes()) {
    if (node.op == &op::contract && node.operands.size() == 3) ++with_sum;
    if (node.op == &op::add) ++sums;
  }
  EXPECT_EQ(with_sum, 2);
  EXPECT_EQ(sums, 0);
  EXPECT_EQ(loop->regions[0].outputs().size(), 1u);
}

TEST(SplitBatch, WhatFollowsFromSumsComesBehindThem) {
  expect_same([](Builder&, const Var& x, const Var& w) {
    const Var loss = reduce_mean(square(matmul(x, w)), {0, 1});
    const Var g = contract(x, matmul(x, w), {{}, {}, {0}, {0}});
    const Var norm = sqrt(reduce_sum(square(g), {0, 1}));
    return std::vector{w - g * 0.1 / norm, log(loss), transpose(g, {1, 0}) * 2 + 1};
  });
}

TEST(SplitBatch, WeightsAreSummedBeforeTheFirstMicroBatch) {
  // A mean over weights that differ from micro-batch to micro-batch, and its gradient by hand.
  const Function weighted = [](Builder&, const Var& x, const Var& w) {
    const Var weight = reshape(slice_axis(x, 1, 0, 1), {x.shape()[0]});
    const Var positive = cast(greater(weight, constant_like(weight, 0)), DType::f64);
    const Var count = maximum(reduce_sum(positive, {0}), constant_like(weight, 1));
    const Var y = matmul(x, w);
    const Var loss = reduce_sum(reduce_sum(square(y), {1}) * positive, {0}) / count;
    const Var seed = constant_like(weight, 2) / count;
    const Var dy = y * reshape(broadcast(seed, positive.shape()) * positive, {x.shape()[0], 1});
    return std::vector{loss, contract(x, dy, {{}, {}, {0}, {0}})};
  };
  expect_same(weighted);
  const Graph graph = split_into(weighted, 6, 3);
  ASSERT_TRUE(loop_of(graph));
  EXPECT_EQ(loop_of(graph)->regions[0].outputs().size(), 2u) << "the count is no sum of the loop's";
}

TEST(SplitBatch, ValuesOfExamplesAreStackedInTheirOrder) {
  expect_same([](Builder&, const Var& x, const Var& w) {
    const Var y = matmul(x, w);
    return std::vector{y,
                       transpose(y, {1, 0}),
                       reduce_sum(y, {1}),
                       argmax(y, 1),
                       reshape(transpose(y, {1, 0}), {4 * y.shape()[0]}),
                       x};
  });
}

TEST(SplitBatch, TheBatchMayLieInsideOfAnAxis) {
  expect_same([](Builder&, const Var& x, const Var& w) {
    const std::int64_t batch = x.shape()[0];
    const Var turned = reshape(transpose(x, {1, 0}), {3 * batch});  // 3 rows of examples
    const Var back = transpose(reshape(tanh(turned), {3, batch}), {1, 0});
    return std::vector{reduce_sum(turned * turned, {0}), matmul(back, w)};
  });
}

TEST(SplitBatch, IndicesAndSortsWithinExamples) {
  expect_same([](Builder& b, const Var& x, const Var& w) {
    const Var order = argsort(x, 1);
    const Var rows = take(w, reshape(slice_axis(order, 1, 0, 1), {x.shape()[0]}), 0);
    const Var back = take_add(rows, reshape(slice_axis(order, 1, 1, 2), {x.shape()[0]}), 0, 3);
    const Var places = iota(b, DType::f64, {x.shape()[0], 3}, 1);
    return std::vector{rows,         back,       gather(x, order, 1),
                       cumsum(x, 1), x * places, one_hot(argmax(x, 1), 3, DType::f64)};
  });
}

TEST(SplitBatch, NumbersByExampleAreThoseOfTheWholeBatch) {
  // Counted or drawn along the batch: a micro-batch gets its own, not the first ones again.
  expect_same(
      [](Builder& b, const Var& x, const Var&) {
        const std::int64_t batch = x.shape()[0];
        const Var key = random_key(b, 7);
        const Var noise = random_normal(key, {.dtype = DType::f64, .shape = {batch, 3}});
        const Var kept = random_bernoulli(key, {.shape = {batch, 3}, .p = 0.5});
        const Var across = random_uniform(key, {.dtype = DType::f64, .shape = {3, batch}});
        const Var place = iota(b, DType::f64, {batch, 1}, 0);
        return std::vector{x + noise, select(kept, x, zeros_like(x)), transpose(across, {1, 0}) * x,
                           x * place};
      },
      0);
}

TEST(SplitBatch, WhatIsReadOfTheWholeBatchAtTheEndMayBeAnything) {
  expect_same([](Builder&, const Var& x, const Var& w) {
    const Var y = reduce_sum(matmul(x, w), {1});
    return std::vector{reduce_max(y, {0}), reduce_logsumexp(y, {0}), slice_axis(y, 0, 0, 1),
                       reduce_var(y, {0})};
  });
}

TEST(SplitBatch, SixteenBitSumsAreCarriedInThirtyTwo) {
  const Graph graph = split_into(
      [](Builder&, const Var& x, const Var& w) {
        const Var y = matmul(cast(x, DType::bf16), cast(w, DType::bf16));
        return std::vector{reduce_sum(y, {0}), reduce_mean(y, {0, 1})};
      },
      6, 3);
  const Node* loop = loop_of(graph);
  ASSERT_TRUE(loop);
  for (ValueId v : loop->results) EXPECT_EQ(graph.type(v).dtype, DType::f32);
  for (ValueId v : graph.outputs()) EXPECT_EQ(graph.type(v).dtype, DType::bf16);
}

TEST(SplitBatch, RefusesWhatNeedsAllExamplesAtOnce) {
  EXPECT_THAT(refusal([](Builder&, const Var& x, const Var&) {
                const Var gain = reshape(constant_like(x, 1), {1}), gains = broadcast(gain, {3});
                return std::vector{batch_norm(x, gains, gains, 1e-5).y};
              }),
              HasSubstr("batch_norm takes the examples of the batch together"));
  EXPECT_THAT(
      refusal([](Builder&, const Var& x, const Var& w) {
        const Var y = matmul(x, w);
        return std::vector{y - reduce_mean(y, {0}, true)};
      }),
      HasSubstr("reduce_mean takes the examples of the batch together, and sub goes on with single ones"));
  EXPECT_THAT(refusal([](Builder&, const Var& x, const Var& w) {  // a contrastive loss
                const Var z = tanh(matmul(x, w));
                return std::vector{reduce_sum(contract(z, z, {{}, {}, {1}, {1}}), {0, 1})};
              }),
              HasSubstr("contract takes the examples of the batch together"));
  for (const auto& [name, f] : std::initializer_list<std::pair<std::string, Function>>{
           {"cumsum", [](Builder&, const Var&x, const Var&) { return std::vector{cumsum(x, 0)}; }},
           {"sort", [](Builder&, const Var&x, const Var&) { return std::vector{sort(x, 0).values}; }},
           {"flip", [](Builder&, const Var&x, const Var&) { return std::vector{flip(x, {0})}; }},
           {"take",
            [](Builder&, const Var&x, const Var&) {
              return std::vector{take(x, argmax(x, 1), 0)};  // examples by number
            }},
           {"concat",
            [](Builder&, const Var&x, const Var&) {
              const Var both[] = {x, x};
              return std::vector{concat(both, 0)};
            }},
       }) {
    EXPECT_THAT(refusal(f), HasSubstr(name + " takes the examples of the batch together"));
  }
}

TEST(SplitBatch, RefusesAnotherGraphForTheMicroBatch) {
  EXPECT_THAT(refusal([](Builder&, const Var& x, const Var&) {
                return std::vector{x.shape()[0] > 3 ? exp(x) : sin(x)};
              }),
              HasSubstr("with a smaller batch the function does something else, beginning with exp"));
}

TEST(SplitBatch, NumbersOfTheWholeBatchAreKept) {
  expect_same([](Builder&, const Var& x, const Var& w) {
    const double share = 1.0 / static_cast<double>(x.shape()[0]);
    return std::vector{reduce_sum(square(matmul(x, w)) * share, {0, 1}), clamp(x, -share, share)};
  });
}

}  // namespace
}  // namespace tidemark
