#include "tidemark/engine/compile.h"

#include <gtest/gtest.h>

#include "tidemark/tidemark.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

struct Mlp {
  Tensor w1, b1, w2;
  TM_FIELDS(Mlp, w1, b1, w2)
};
Tensor loss(const Mlp& p, Tensor x) { return mean(square(matmul(tanh(matmul(x, p.w1) + p.b1), p.w2))); }
Tensor waves(const Shape& shape, double frequency) {
  return sin(reshape(arange(element_count(shape), DType::f32), shape) * frequency);
}
Mlp mlp() { return {waves({64, 128}, 0.7), waves({128}, 1.3), waves({128, 8}, 0.9)}; }

TEST(Compile, GivesTheBitsOfTheEagerRun) {
  const Mlp p = mlp();
  const Tensor x = waves({32, 64}, 0.3);
  const auto step = compile(value_and_grad(loss));
  const auto [value, gradient] = step(p, x);
  const auto [eager_value, eager_gradient] = value_and_grad(loss)(p, x);
  EXPECT_EQ(value.item(), eager_value.item());
  EXPECT_EQ(gradient.w1.to_vector(), eager_gradient.w1.to_vector());
  EXPECT_EQ(gradient.b1.to_vector(), eager_gradient.b1.to_vector());
  EXPECT_EQ(gradient.w2.to_vector(), eager_gradient.w2.to_vector());
}

TEST(Compile, TheArenasHighWaterMarkIsThePlansHeight) {
  const auto step = compile(value_and_grad(loss));
  step(mlp(), waves({32, 64}, 0.3));
  EXPECT_EQ(step.arena_high_water().count, step.plan().plan.arena_bytes);
  EXPECT_LT(step.plan().plan.peak(), step.plan().plan.store_all_bytes);
}

TEST(Compile, TracesAgainOnlyForOtherTypesAndFixedValues) {
  int traces = 0;
  const auto f = compile([&](Tensor x, double scale) {
    ++traces;
    return x * scale;
  });
  EXPECT_EQ(f(scalar(2), 3.0).item(), 6);
  EXPECT_EQ(f(scalar(5), 3.0).item(), 15);
  EXPECT_EQ(traces, 1);
  EXPECT_EQ(f(scalar(5), 4.0).item(), 20);
  EXPECT_EQ(f(tensor<float>({1, 2}), 4.0).to_vector(), (std::vector<double>{4, 8}));
  EXPECT_EQ(traces, 3);
}

TEST(Compile, FixedTextsNeverPassForOthers) {
  const auto f = compile([](Tensor x, const std::string& a, const std::string& b) {
    return x * static_cast<double>(10 * a.size() + b.size());
  });
  EXPECT_EQ(f(scalar(1), std::string("a;b"), std::string("c")).item(), 31);
  EXPECT_EQ(f(scalar(1), std::string("a"), std::string("b;c")).item(), 13);
  EXPECT_EQ(f(scalar(1), std::string("a;1:b"), std::string("")).item(), 50);
  EXPECT_EQ(f(scalar(1), std::string(""), std::string("a;1:b")).item(), 5);
}

TEST(Compile, ResultsOutliveTheNextCallAndTheFunction) {
  Tensor first, second;
  {
    const auto f = compile([](Tensor x) { return exp(x) + 1; });
    first = f(waves({5000}, 0.1));
    const std::vector<double> before = first.to_vector();
    second = f(waves({5000}, 0.2));
    EXPECT_EQ(first.to_vector(), before);
  }
  EXPECT_EQ(second.to_vector(), (exp(waves({5000}, 0.2)) + 1).to_vector());
}

std::pair<Mlp, Tensor> descend(const Mlp& p, const Tensor& x) {
  const auto [value, g] = value_and_grad(loss)(p, x);
  return {map_tree([](const Tensor& w, const Tensor& d) { return w - d * 0.01; }, p, g), value};
}

TEST(Compile, DonatedStateIsUpdatedInPlace) {
  const auto step = compile(descend, {.donate = {0}});
  Mlp state = mlp(), reference = mlp();
  const Tensor x = waves({32, 64}, 0.3);
  const std::byte* memory = state.w1.storage()->data();
  const Mlp old = state;
  for (int i = 0; i < 5; ++i) {
    const auto [next, value] = step(state, x);
    const auto [eager_next, eager_value] = descend(reference, x);
    EXPECT_EQ(value.item(), eager_value.item());
    state = next;
    reference = eager_next;
  }
  EXPECT_EQ(state.w1.to_vector(), reference.w1.to_vector());
  EXPECT_EQ(state.w1.storage()->data(), memory) << "the update was not in place";
  EXPECT_THROW(old.w1.item(), Error);
  try {
    (void)(old.b1 + 1);
    FAIL() << "a donated tensor was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("donated: compile_test.cc:"), std::string::npos) << error.what();
  }
}

TEST(Compile, RefusesATensorThatIsDonatedAndPassedTwice) {
  const auto f = compile([](Tensor x, Tensor y) { return x + y; }, {.donate = {0}});
  const Tensor x = waves({10}, 0.1);
  EXPECT_THROW(f(x, x), Error);
  EXPECT_EQ(f(waves({10}, 0.2), x).count(), 10) << "the failed call lost nothing";
}

TEST(Compile, InsideAnotherTraceItIsJustTheFunction) {
  const auto f = compile([](Tensor x) { return x * x; });
  EXPECT_EQ(grad([&](Tensor x) { return f(x) * 3; })(scalar(2)).item(), 12);
}

TEST(Compile, TheSameBitsOnOneAndTwoThreads) {
  const Mlp p = mlp();
  const Tensor x = waves({32, 64}, 0.3);
  set_threads(1);
  const Mlp one = compile(grad(loss))(p, x);
  set_threads(2);
  const Mlp two = compile(grad(loss))(p, x);
  set_threads(0);
  EXPECT_EQ(one.w1.to_vector(), two.w1.to_vector());
  EXPECT_EQ(one.w2.to_vector(), two.w2.to_vector());
}

TEST(Compile, InputsReturnedAsTheyAreStayTheCallers) {
  const auto f = compile([](Tensor x, Tensor y) { return std::pair(x, y + 1); });
  const Tensor x = waves({2000}, 0.1);
  const auto [same, more] = f(x, x);
  EXPECT_EQ(same.to_vector(), x.to_vector());
  EXPECT_EQ(more.to_vector(), (x + 1).to_vector());
}

TEST(Compile, AResultNeverOverwritesWhatItsOwnStepStillReads) {
  // Each has one operand it may overwrite and reads that operand a second time, through a window or as it is.
  const auto compare = [](const auto& f, const Tensor& x) {
    EXPECT_EQ(compile(f)(x).to_vector(), f(x).to_vector());
  };
  const Tensor x = waves({64, 64}, 0.37);
  compare(
      [](Tensor t) {
        t = t * 2;
        return t + transpose(t);
      },
      x);
  compare(
      [](Tensor t) {
        t = t * 2;
        return t * flip(t, {1});
      },
      x);
  compare(
      [](Tensor t) {
        t = t * 2;
        return scatter_add(t, cast(t * 0 + 3, DType::i64), t, 0);
      },
      x);
  compare(
      [](Tensor t) {
        t = t * 2;
        t.at(Range{1, 64}) = t.at(Range{0, 63});
        return t;
      },
      x);
}

TEST(Compile, AskingForAPlanTooEarlyIsAnError) {
  const auto f = compile([](Tensor x) { return x; });
  EXPECT_THROW(f.plan(), Error);
  EXPECT_GT(f.prepare(zeros({100})).plan.peak(), 0);
}

}  // namespace
}  // namespace tidemark
