// Masks and positions that wait for the backward pass in as many bits as they need: where a budget asks
// for it, by themselves, and without a bit of difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/ir/graph.h"
#include "tidemark/ops/registry.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using ::testing::HasSubstr;

struct MaskedNet {
  std::vector<Tensor> weights;
  TM_FIELDS(MaskedNet, weights)
};
MaskedNet masked_net(int layers = 6, std::int64_t width = 64) {
  MaskedNet made;
  for (int i = 0; i < layers; ++i) made.weights.push_back(random_normal(key(i), {width, width}, 0, 0.2));
  return made;
}
Tensor masked_batch(std::int64_t rows = 1024, std::int64_t width = 64) {
  return random_normal(key(99), {rows, width});
}
// The gradient reads where a product is positive, and the product itself nowhere.
Tensor masked_loss(const MaskedNet& net, Tensor x) {
  for (const Tensor& w : net.weights) {
    const Tensor y = matmul(x, w);
    x = select(y > 0, y, y * 0.1);
  }
  return mean(square(x));
}

std::vector<double> all_numbers(const MaskedNet& net) {
  std::vector<double> all;
  for (const Tensor& w : net.weights) {
    const std::vector<double> part = w.to_vector();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}
int unpackings(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes()) {
    count += node.op == &op::unpack_integers;
    for (const Graph& region : node.regions) count += unpackings(region);
  }
  return count;
}

TEST(ExactForms, MasksWaitInBitsWhereNothingElseFits) {
  const MaskedNet net = masked_net();
  const Tensor x = masked_batch();
  const auto free = compile(grad(masked_loss));
  const std::vector<double> exact = all_numbers(free(net, x));
  EXPECT_EQ(unpackings(free.plan().graph), 0) << "without a budget there is nothing to gain";
  const Choices forms{Choice::compress};
  const Bytes kept =
      compile(grad(masked_loss), {.allow = {Choice::keep}, .effort = 0.1}).smallest(net, x).memory;
  const Bytes least = compile(grad(masked_loss), {.allow = forms, .effort = 0.1}).smallest(net, x).memory;
  // Six masks of 64 KiB in an eighth of that.
  EXPECT_LE(least.count, kept.count - 5 * 64 * 1024 * 7 / 8);
  const auto step = compile(grad(masked_loss), {.memory = least, .allow = forms, .effort = 0.1});
  EXPECT_EQ(all_numbers(step(net, x)), exact);
  EXPECT_LE(step.plan().peak(), least);
  EXPECT_EQ(step.arena_high_water().count, step.plan().plan.arena_bytes);
  EXPECT_GT(unpackings(step.plan().graph), 0);
  EXPECT_THAT(step.plan().summary(), HasSubstr("compressed"));
  const GradientError error = step.gradient_error(net, x);
  EXPECT_EQ(error.largest, 0);
  EXPECT_TRUE(error.values.empty());
  EXPECT_THAT(error.text(), HasSubstr("gradients are exact"));
  const auto refused = compile(grad(masked_loss), {.memory = least, .allow = {Choice::keep}, .effort = 0.1});
  EXPECT_FALSE(refused.try_prepare(net, x)) << "a set without compress has no forms";
}

// The gradient reads where each number came from, which takes a while to find out again.
Tensor sorted_loss(const MaskedNet& net, Tensor x) {
  for (const Tensor& w : net.weights) x = sort(matmul(x, w), 1).first * 0.5 + x;
  return mean(square(x));
}

TEST(ExactForms, AreChosenWhereThatIsFasterThanComputingAgain) {
  const MaskedNet net = masked_net(4);
  const Tensor x = masked_batch();
  const auto free = compile(grad(sorted_loss));
  const std::vector<double> exact = all_numbers(free(net, x));
  const std::int64_t saved = 3 * 1024 * 64 * 7;  // of four times i64, the last of which is read at once
  for (const std::int64_t less : {saved / 3, saved * 2 / 3, saved}) {
    const Bytes budget(free.plan().peak().count - less);
    const auto step = compile(grad(sorted_loss), {.memory = budget, .effort = 0.1});
    EXPECT_EQ(all_numbers(step(net, x)), exact);
    EXPECT_LE(step.plan().peak(), budget);
    EXPECT_GT(unpackings(step.plan().graph), 0);
    const auto again =
        compile(grad(sorted_loss), {.memory = budget, .allow = {Choice::recompute}, .effort = 0.1});
    EXPECT_EQ(all_numbers(again(net, x)), exact);
    EXPECT_EQ(unpackings(again.plan().graph), 0);
    EXPECT_LT(step.plan().plan.seconds, 0.9 * again.plan().plan.seconds);
  }
  const auto roomy = compile(grad(sorted_loss), {.memory = free.plan().peak(), .effort = 0.1});
  (void)roomy.prepare(net, x);
  EXPECT_EQ(unpackings(roomy.plan().graph), 0) << "what fits is left alone";
}

// Within what it takes when everything that has a form is in it, and nothing else may be done.
template <class F, class... Args>
std::string form_of_kept(const F& f, const Args&... args) {
  const auto free = compile(grad(f));
  const std::vector<double> exact = free(args...).to_vector();
  const Choices forms{Choice::compress};
  const Bytes least = compile(grad(f), {.allow = forms, .effort = 0.1}).smallest(args...).memory;
  const auto step = compile(grad(f), {.memory = least, .allow = forms, .effort = 0.1});
  EXPECT_EQ(step(args...).to_vector(), exact);
  EXPECT_LE(step.plan().peak(), least);
  for (const Node& node : step.plan().graph.nodes()) {
    if (node.op == &op::unpack_integers)
      return fmt::format("{} → {}", to_string(step.plan().graph.type(node.results[0])),
                         to_string(step.plan().graph.type(node.operands[0])));
  }
  return "none";
}

// Some work behind a value, so that more than it is alive when it waits.
Tensor worked(Tensor h) {
  for (int i = 0; i < 4; ++i) h = sin(h) * cos(h * 0.5) + tanh(h);
  return sum(h);
}

TEST(ExactForms, PositionsWaitInTheBytesTheyNeed) {
  const Tensor x = random_normal(key(1), {64, 512}), image = random_normal(key(2), {8, 8, 32, 32});
  EXPECT_EQ(form_of_kept([](Tensor in) { return worked(sort(sin(in), 1).first); }, x),
            "i64[64, 512] → u8[65536]");
  EXPECT_EQ(form_of_kept([](Tensor in) { return worked(sort(sin(in), 0).first); }, x),
            "i64[64, 512] → u8[32768]");
  EXPECT_EQ(form_of_kept(
                [](Tensor in) {
                  return worked(max_pool(sin(in), {.window = {2, 2}}));
                },
                image),
            "i32[8, 8, 16, 16] → u8[32768]");
}

TEST(ExactForms, OneHotRowsAndMasksOfAnyDtypeWaitInBits) {
  const Tensor x = random_normal(key(1), {256, 128});
  EXPECT_EQ(form_of_kept(
                [](Tensor in) {
                  const Tensor table = sin(in);
                  return worked(one_hot(argmax(in, 1), 128) * table);
                },
                x),
            "f32[256, 128] → u8[4096]");
  EXPECT_EQ(form_of_kept([](Tensor in) { return worked(cast(in > 0.5, DType::f32) * sin(in)); }, x),
            "f32[256, 128] → u8[4096]");
}

TEST(ExactForms, NumbersThatOnlyLookSmallAreLeftAlone) {
  const Tensor x = random_normal(key(1), {256, 128});
  EXPECT_EQ(form_of_kept([](Tensor in) { return worked(floor(in * 3) * sin(in)); }, x), "none");
}

TEST(ExactForms, LoopsKeepBitsOfEveryStep) {
  const Tensor w = random_normal(key(3), {64, 64}, 0, 0.15), xs = random_normal(key(4), {48, 256, 64});
  const auto f = [](Tensor weights, Tensor inputs) {
    const auto step = [&](Tensor h, Tensor in) {
      const Tensor y = matmul(h, weights) + in;
      return select(y > 0, y, y * 0.1);
    };
    return mean(square(scan(step, zeros({256, 64}), inputs)));
  };
  const auto free = compile(grad(f));
  const std::vector<double> exact = free(w, xs).to_vector();
  const Choices forms{Choice::compress};
  const Bytes kept = compile(grad(f), {.allow = {Choice::keep}, .effort = 0.1}).smallest(w, xs).memory;
  const Bytes least = compile(grad(f), {.allow = forms, .effort = 0.1}).smallest(w, xs).memory;
  EXPECT_LT(least.count, kept.count - 47 * 16384 * 3 / 4);
  const auto step = compile(grad(f), {.memory = least, .allow = forms, .effort = 0.1});
  EXPECT_EQ(step(w, xs).to_vector(), exact);
  EXPECT_LE(step.plan().peak(), least);
}

TEST(ExactForms, SmallerBatchesMicroBatchesAndLossyFormsGoAlong) {
  const MaskedNet net = masked_net(4);
  const auto free = compile(grad(masked_loss));
  (void)free.prepare(net, masked_batch());
  const Bytes budget(free.plan().peak().count * 85 / 100);
  const auto largest = compile(grad(masked_loss), {.memory = budget, .effort = 0.1, .max_batch = 1024});
  for (const std::int64_t rows : {1024, 1, 96, 1000})
    EXPECT_EQ(all_numbers(largest(net, masked_batch(rows))), all_numbers(free(net, masked_batch(rows))))
        << rows;
  const auto cut = compile(grad(masked_loss), {.effort = 0.1, .accumulate = 4});
  const auto tight =
      compile(grad(masked_loss),
              {.memory = cut.smallest(net, masked_batch()).memory, .effort = 0.1, .accumulate = 4});
  EXPECT_EQ(all_numbers(tight(net, masked_batch())), all_numbers(cut(net, masked_batch())));
  const auto lossy =
      compile(grad(masked_loss), {.memory = budget, .lossy = Lossy{.error = 4e-3}, .effort = 0.1});
  const auto exact = compile(grad(masked_loss), {.memory = budget, .effort = 0.1});
  (void)lossy(net, masked_batch());
  (void)exact(net, masked_batch());
  EXPECT_LE(lossy.plan().plan.seconds, exact.plan().plan.seconds * (1 + 1e-4));
}

TEST(ExactForms, SecondDerivativesPassThroughThem) {
  const Tensor x = random_normal(key(5), {128, 64}), v = random_normal(key(6), {128, 64});
  const auto g = [](Tensor in) { return sum(sin(select(in > 0, in * 2.0, in * in))); };
  const auto h = [&](Tensor at, Tensor along) { return hvp(g, at, along); };
  const auto free = compile(h);
  const std::vector<double> exact = free(x, v).to_vector();
  const Bytes least = compile(h, {.effort = 0.1}).smallest(x, v).memory;
  EXPECT_EQ(compile(h, {.memory = least, .effort = 0.1})(x, v).to_vector(), exact);
}

}  // namespace
}  // namespace tidemark
