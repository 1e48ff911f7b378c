#include "tidemark/optim/ema.h"

#include <gtest/gtest.h>

#include "tidemark/tidemark.h"

namespace tidemark::optim {
namespace {

struct Pair {
  Tensor a, b;
  TM_FIELDS(Pair, a, b)
};
Tensor loss(const Pair& p) { return sum(square(p.a)) + sum(square(cast(p.b, DType::f32))); }

TEST(Ema, AveragesTheParametersBehindEachUpdateInMemoryOfItsOwn) {
  const auto optimizer = with_ema(0.75, Momentum{.lr = 0.1});
  const auto train = compile(step(optimizer, loss), {.donate = {0}});
  auto state = optimizer.init(Pair{tensor<float>({1, -2}), cast(tensor<float>({4}), DType::bf16)});
  EXPECT_EQ(state.average.b.dtype(), DType::f32);
  std::vector<double> average = {1, -2, 4};
  for (int t = 0; t < 10; ++t) {
    state = train(state).first;
    const std::vector<double> a = state.parameters.a.to_vector(), b = state.parameters.b.to_vector();
    const double now[] = {a[0], a[1], b[0]};
    for (std::size_t i = 0; i < 3; ++i) average[i] = 0.75 * average[i] + 0.25 * now[i];
    EXPECT_NEAR(state.average.a.to_vector()[0], average[0], 1e-6);
    EXPECT_NEAR(state.average.a.to_vector()[1], average[1], 1e-6);
    EXPECT_NEAR(state.average.b.to_vector()[0], average[2], 1e-6);
  }
  EXPECT_EQ(state.steps.item(), 10);
}

TEST(Ema, GoesAroundWhatClips) {
  const auto optimizer = with_ema(0.5, clip_norm(1.0, AdamW{.lr = 0.1}));
  const auto state = step(optimizer, loss)(optimizer.init(Pair{ones({2}), ones({1})})).first;
  EXPECT_NEAR(state.average.a.to_vector()[0], 0.95, 1e-3);
  EXPECT_NE(state.mean.a.to_vector()[0], 0);
}

TEST(Ema, ADecayThatIsNoneIsRefused) {
  for (const double decay : {1.0, -0.5, 2.0}) EXPECT_THROW(with_ema(decay, Sgd{}), Error);
}

}  // namespace
}  // namespace tidemark::optim
