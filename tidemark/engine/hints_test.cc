// Hints on real programs: the same bits, less memory, and a word about each of them.
#include <gtest/gtest.h>

#include "tidemark/ir/graph.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;

struct Layer {
  Tensor w, b;
  TM_FIELDS(Layer, w, b)
};
struct Net {
  std::vector<Layer> layers;
  TM_FIELDS(Net, layers)
};

Tensor waves(const Shape& shape, double frequency) {
  return sin(reshape(arange(element_count(shape), DType::f32), shape) * frequency);
}
Net net_of(int layers, std::int64_t width = 16) {
  Net net;
  for (int l = 0; l < layers; ++l) {
    net.layers.push_back({waves({width, width}, 0.7 + l) * 0.3, waves({width}, 0.1 * l)});
  }
  return net;
}

using Segment = std::vector<Layer>;
Tensor plain_layers(const Segment& layers, Tensor h) {
  for (const Layer& layer : layers) h = gelu(matmul(h, layer.w) + layer.b);
  return h;
}

// The net in segments, each run by `run`.
template <class Run>
Tensor in_segments(const Net& net, Tensor h, std::size_t segment, const Run& run) {
  for (std::size_t l = 0; l < net.layers.size(); l += segment) {
    const auto first = net.layers.begin() + static_cast<std::ptrdiff_t>(l);
    h = run(Segment(first, first + static_cast<std::ptrdiff_t>(segment)), h);
  }
  return mean(square(h));
}

template <class Tree>
void expect_same_bits(const Tree& a, const Tree& b) {
  const std::vector<Tensor> x = tensors_of(a), y = tensors_of(b);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i].to_vector(), y[i].to_vector()) << i;
}

TEST(CheckpointedNet, HasTheSameGradientsInLessMemory) {
  const Net net = net_of(16);
  const Tensor x = waves({256, 16}, 0.3);
  const auto stored = [](const Net& p, Tensor t) { return in_segments(p, t, 4, plain_layers); };
  const auto hinted = [](const Net& p, Tensor t) {
    return in_segments(p, t, 4, checkpoint(plain_layers, {.name = "segment"}));
  };
  const auto reference = compile(value_and_grad(stored));
  const auto step = compile(value_and_grad(hinted));
  expect_same_bits(step(net, x), reference(net, x));
  expect_same_bits(value_and_grad(hinted)(net, x), reference(net, x));
  const Plan &before = reference.plan().plan, &after = step.plan().plan;
  // Sixteen layers keep at least their input of 16 KiB each; checkpoints keep four, and one segment at a
  // time.
  EXPECT_LT(after.arena_bytes, before.arena_bytes * 0.6) << step.plan().summary();
  EXPECT_EQ(step.arena_high_water().count, after.arena_bytes);
  ASSERT_EQ(after.hints.size(), 4u);
  for (const HintReport& hint : after.hints) {
    EXPECT_TRUE(hint.honoured) << hint.reason;
    EXPECT_GT(hint.runs, 0);
    EXPECT_GT(hint.seconds, 0);
  }
  EXPECT_NE(step.plan().summary().find("checkpoint `segment` (hints_test.cc:"), std::string::npos)
      << step.plan().summary();
}

TEST(CheckpointedNet, MasksOfDerivativeRulesAreInsideToo) {
  // relu's rule reads x > 0, which optimisation computes early: without belonging to the checkpoint it would
  // stay.
  const auto layers = [](const Segment& list, Tensor h) {
    for (const Layer& layer : list) h = relu(matmul(h, layer.w) + layer.b);
    return h;
  };
  const Net net = net_of(16);
  const Tensor x = waves({256, 16}, 0.3);
  const auto hinted = [&](const Net& p, Tensor t) { return in_segments(p, t, 4, checkpoint(layers)); };
  const auto stored = [&](const Net& p, Tensor t) { return in_segments(p, t, 4, layers); };
  const auto step = compile(grad(hinted));
  const auto reference = compile(grad(stored));
  expect_same_bits(step(net, x), reference(net, x));
  EXPECT_LT(step.plan().plan.arena_bytes, reference.plan().plan.arena_bytes * 0.75) << step.plan().summary();
}

TEST(CheckpointedNet, DropoutHasTheSameMaskWhenItRunsAgain) {
  const auto block = [](Tensor h, const Layer& layer, Tensor k) {
    return dropout(tanh(matmul(h, layer.w) + layer.b), 0.4, k);
  };
  const auto loss = [&](const auto& run, const Net& net, Tensor h) {
    const std::vector<Tensor> keys = split_key(key(7), static_cast<std::int64_t>(net.layers.size()));
    for (std::size_t l = 0; l < net.layers.size(); ++l) h = run(h, net.layers[l], keys[l]);
    return sum(h * h);
  };
  const auto hinted = [&](const Net& net, Tensor h) { return loss(checkpoint(block), net, h); };
  const auto stored = [&](const Net& net, Tensor h) { return loss(block, net, h); };
  const Net net = net_of(6);
  const Tensor x = waves({128, 16}, 0.3);
  const auto step = compile(value_and_grad(hinted));
  expect_same_bits(step(net, x), compile(value_and_grad(stored))(net, x));
  int again = 0;
  for (const HintReport& hint : step.plan().plan.hints) again += hint.runs;
  EXPECT_GT(again, 6);
}

TEST(CheckpointedNet, NestsAndKeepsAndRecomputes) {
  const auto pair = [](const Segment& list, Tensor h) {
    for (const Layer& layer : list) h = tanh(keep(matmul(h, layer.w)) + layer.b);
    return h;
  };
  const auto outer = [&](const Segment& list, Tensor h) {
    for (std::size_t l = 0; l < list.size(); l += 2) h = checkpoint(pair)(Segment{list[l], list[l + 1]}, h);
    return recompute(h * 1.5);
  };
  const auto bare = [](const Segment& list, Tensor h) {
    for (const Layer& layer : list) h = tanh(matmul(h, layer.w) + layer.b);
    return h * 1.5;
  };
  const Net net = net_of(12);
  const Tensor x = waves({64, 16}, 0.3);
  const auto hinted = [&](const Net& p, Tensor t) { return in_segments(p, t, 4, checkpoint(outer)); };
  const auto stored = [&](const Net& p, Tensor t) { return in_segments(p, t, 4, bare); };
  expect_same_bits(compile(value_and_grad(hinted))(net, x), compile(value_and_grad(stored))(net, x));
}

TEST(CheckpointedNet, GoesThroughSecondDerivatives) {
  const Net net = net_of(6), direction = map_tree([](const Tensor&t) { return t * 0.5 + 0.1; }, net);
  const Tensor x = waves({64, 16}, 0.3);
  const auto product = [&](const auto& run) {
    return compile([&run](const Net& p, const Net& v, Tensor t) {
      return hvp([&](const Net& q) { return in_segments(q, t, 2, run); }, p, v);
    });
  };
  const auto run = checkpoint(plain_layers);
  const auto hinted = product(run);
  const auto stored = product(plain_layers);
  expect_same_bits(hinted(net, direction, x), stored(net, direction, x));
  EXPECT_LT(hinted.plan().plan.arena_bytes, stored.plan().plan.arena_bytes);

  const auto twice = [&](const auto& segment) {
    return compile(grad([&segment](Tensor t, const Net& p) {
      return sum(square(grad([&](Tensor u) { return in_segments(p, u, 2, segment); })(t)));
    }));
  };
  expect_same_bits(twice(run)(x, net), twice(plain_layers)(x, net));
}

TEST(CheckpointedNet, DonatedWeightsAreUpdatedInPlace) {
  const auto train = [](const auto& run) {
    return [run](const Net& p, Tensor t) {
      const auto g = grad([&](const Net& q) { return in_segments(q, t, 2, run); })(p);
      return map_tree([](const Tensor& w, const Tensor& d) { return w - d * 0.01; }, p, g);
    };
  };
  const Tensor x = waves({64, 16}, 0.3);
  const auto hinted = compile(train(checkpoint(plain_layers)), {.donate = {0}});
  const auto stored = compile(train(&plain_layers), {.donate = {0}});
  Net a = net_of(8), b = net_of(8);
  for (int i = 0; i < 3; ++i) {
    a = hinted(a, x);
    b = stored(b, x);
  }
  expect_same_bits(a, b);
  EXPECT_LT(hinted.plan().plan.arena_bytes, stored.plan().plan.arena_bytes);
}

TEST(CheckpointedNet, ItsMemoryBuysTheCostliestValuesBack) {
  const Net net = net_of(8);
  const Tensor x = waves({256, 16}, 0.3);
  std::int64_t last_runs = 1 << 20;
  for (const Bytes memory : {Bytes(0), 40_KiB, 100_KiB, 1_MiB}) {
    const auto step = compile(grad([memory](const Net& p, Tensor t) {
      return in_segments(p, t, 4, checkpoint(plain_layers, {.name = "half", .memory = memory}));
    }));
    step(net, x);
    std::int64_t runs = 0;
    for (const HintReport& hint : step.plan().plan.hints) {
      runs += hint.runs;
      EXPECT_LE(hint.kept_bytes, memory.count);
    }
    EXPECT_LE(runs, last_runs) << memory.count;
    last_runs = runs;
  }
  EXPECT_EQ(last_runs, 0);
}

TEST(Names, ShowInThePlan) {
  const auto step = compile(grad([](Tensor x) { return sum(exp(name(sin(x) * x, "hidden state"))); }));
  step(waves({4096}, 0.1));
  const Graph& graph = step.plan().graph;
  EXPECT_TRUE(std::ranges::any_of(graph.values(), [](const Value& v) { return v.name == "hidden state"; }));
}

}  // namespace
}  // namespace tidemark
