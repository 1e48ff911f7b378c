#include "tidemark/optim/groups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tidemark/tidemark.h"

namespace tidemark::optim {
namespace {

struct Layer {
  Tensor weight, bias;
  TM_FIELDS(Layer, weight, bias)
};
struct Model {
  Tensor embedding;
  std::vector<Layer> layers;
  Tensor bias;
  TM_FIELDS(Model, embedding, layers, bias)
};

Model model() { return {ones({4, 2}), {{ones({2, 2}), ones({2})}, {ones({2, 2}), ones({2})}}, ones({2})}; }

// Its gradient is 1 for every number.
Tensor total(const Model& m) {
  Tensor value = scalar(0);
  for_each_tensor(m, [&](const std::string&, const Tensor& x) { value = value + sum(x); });
  return value;
}

TEST(Groups, HaveTheirOwnRateAndDecayAndTheLastOneCounts) {
  const Sgd sgd{.lr = 0.5,
                .weight_decay = 0.5,
                .groups = {{.pattern = "*.bias", .lr = 0.25, .weight_decay = 1},
                           {.pattern = "layers.1.*", .lr = linear({.from = 0.125, .to = 0, .steps = 10})},
                           {.pattern = "embedding", .frozen = true}}};
  const auto train = compile(step(sgd, total), {.donate = {0}});
  const Model after = train(sgd.init(model())).first.parameters;
  EXPECT_EQ(after.embedding.to_vector()[0], 1);
  EXPECT_EQ(after.layers[0].weight.to_vector()[0], 1 - 0.5 * 1.5);
  EXPECT_EQ(after.layers[0].bias.to_vector()[0], 1 - 0.25 * 2);
  EXPECT_EQ(after.layers[1].weight.to_vector()[0], 1 - 0.125 * 1.5);
  EXPECT_EQ(after.layers[1].bias.to_vector()[0], 1 - 0.125 * 2);
  EXPECT_EQ(after.bias.to_vector()[0], 1 - 0.25 * 2);
}

TEST(Groups, WhatIsFrozenKeepsItsMomentsToo) {
  const AdamW adamw{.lr = 0.5, .groups = {{.pattern = "layers.*", .frozen = true}}};
  const auto state = step(adamw, total)(adamw.init(model())).first;
  EXPECT_EQ(state.mean.layers[0].weight.to_vector()[0], 0);
  EXPECT_EQ(state.parameters.layers[0].weight.to_vector()[0], 1);
  EXPECT_LT(state.parameters.bias.to_vector()[0], 1);
}

TEST(Groups, APatternThatMatchesNothingIsAnErrorThatListsTheNames) {
  const AdamW adamw{.groups = {{.pattern = "layer.*", .weight_decay = 0}}};
  try {
    step(adamw, total)(adamw.init(model()));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_attribute);
    EXPECT_EQ(error.where().file, SourceLine(std::source_location::current()).file);
    EXPECT_NE(error.parts().what.find("'layer.*'"), std::string::npos);
    EXPECT_NE(error.parts().expected.find("embedding, layers.0.weight, layers.0.bias"), std::string::npos);
  }
}

struct Tuned {
  Tensor body, head;
  TM_FIELDS(Tuned, body, head)
};
const Groups frozen_body = {{.pattern = "body", .frozen = true}};

TEST(Groups, WhatOneFreezesALaterOneMayTrainAgain) {
  const Sgd sgd{.lr = 1, .groups = {{.pattern = "*", .frozen = true}, {.pattern = "head", .frozen = false}}};
  const auto loss = [](const Tuned& p) { return sum(p.body) + sum(p.head); };
  const Tuned after = step(sgd, loss)(sgd.init(Tuned{ones({2}), ones({2})})).first.parameters;
  EXPECT_EQ(after.body.to_vector(), (std::vector<double>{1, 1}));
  EXPECT_EQ(after.head.to_vector(), (std::vector<double>{0, 0}));
}

TEST(Groups, FrozenGradientsDoNotCountInTheNormOfAll) {
  const auto optimizer = clip_norm(1.0, Sgd{.lr = 1, .groups = frozen_body});
  const auto loss = [](const Tuned& p) { return sum(p.body * 1000) + sum(p.head); };
  const auto begin = optimizer.init(Tuned{ones({2}), ones({2})});
  EXPECT_NEAR(step(optimizer, loss)(begin).first.parameters.head.to_vector()[0], 1 - std::sqrt(0.5), 1e-6);
  // Nor where somebody else has computed them.
  const Tuned gradients = grad(loss)(begin.parameters);
  EXPECT_EQ(gradients.body.to_vector()[0], 1000);
  EXPECT_NEAR(optimizer.update(begin, gradients).parameters.head.to_vector()[0], 1 - std::sqrt(0.5), 1e-6);
}

TEST(Groups, AFrozenGradientThatIsNotFiniteSkipsNoUpdate) {
  const auto optimizer = scale_loss(with_ema(0.5, Sgd{.lr = 1, .groups = frozen_body}), {.first = 4});
  const double infinity = std::numeric_limits<double>::infinity();
  const auto loss = [&](const Tuned& p) { return sum(p.body * infinity) * 0 + sum(p.head); };
  const auto begin = optimizer.init(Tuned{ones({2}), ones({2})});
  const auto after = step(optimizer, loss)(begin).first;
  EXPECT_EQ(after.steps.item(), 1);
  EXPECT_EQ(after.scale.item(), 4);
  EXPECT_EQ(after.parameters.head.to_vector()[0], 0);
  const Tuned given{full({2}, infinity), full({2}, 4.0)};
  EXPECT_EQ(optimizer.update(begin, given).parameters.head.to_vector()[0], 0);
}

// The gradient of the body would be a megabyte that waits for the norm.
TEST(Groups, FrozenGradientsAreNotComputed) {
  const auto loss = [](const Tuned& p, Tensor x) { return sum(matmul(tanh(matmul(x, p.body)), p.head)); };
  const auto arena = [&](const Groups& groups) {
    const auto optimizer = clip_norm(1.0, Sgd{.lr = 1, .groups = groups});
    const auto train = compile(step(optimizer, loss), {.donate = {0}});
    train(optimizer.init(Tuned{ones({512, 512}), ones({512, 1})}), ones({8, 512}));
    return train.plan().plan.arena_bytes;
  };
  EXPECT_LT(arena(frozen_body), arena({}) / 4);
}

TEST(Groups, EverythingMayBeFrozen) {
  const AdamW adamw{.groups = {{.pattern = "*", .frozen = true}}};
  const auto [state, value] = step(clip_norm(1, adamw), total)(adamw.init(model()));
  EXPECT_EQ(value.item(), 22);
  EXPECT_EQ(state.parameters.bias.to_vector()[0], 1);
}

struct WithIndices {
  Tensor table, indices;
  TM_FIELDS(WithIndices, table, indices)
};
Tensor taken(const WithIndices& p) { return sum(take(p.table, p.indices, 0)); }
WithIndices with_indices() { return {ones({3, 2}), tensor<std::int64_t>({2, 0, 0})}; }
const Groups frozen_indices = {{.pattern = "indices", .frozen = true}};

template <class Optimizer>
void expect_indices_kept(const Optimizer& optimizer) {
  const auto train = compile(step(optimizer, taken), {.donate = {0}});
  auto state = optimizer.init(with_indices());
  for (int i = 0; i < 2; ++i) state = train(state).first;
  EXPECT_EQ(state.parameters.indices.dtype(), DType::i64);
  EXPECT_EQ(state.parameters.indices.to_vector(), (std::vector<double>{2, 0, 0}));
  EXPECT_LT(state.parameters.table.to_vector()[0], 1);
  EXPECT_EQ(state.steps.item(), 2);
}

TEST(Groups, IntegersThatAreFrozenPassThroughEveryOptimizer) {
  expect_indices_kept(Sgd{.groups = frozen_indices});
  expect_indices_kept(Momentum{.groups = frozen_indices});
  expect_indices_kept(RmsProp{.momentum = 0.5, .groups = frozen_indices});
  expect_indices_kept(Adam{.groups = frozen_indices});
  expect_indices_kept(AdamW8bit{.groups = frozen_indices});
  expect_indices_kept(Lion{.groups = frozen_indices});
  expect_indices_kept(Adafactor{.groups = frozen_indices});
  expect_indices_kept(scale_loss(with_ema(0.9, clip_norm(1.0, AdamW{.groups = frozen_indices}))));
  expect_indices_kept(clip_value(1.0, AdamW{.groups = frozen_indices}));
}

TEST(Groups, IntegersThatAreNotFrozenAreAnErrorThatSaysHow) {
  try {
    step(AdamW{}, taken)(AdamW{}.init(with_indices()));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_differentiable);
    EXPECT_EQ(error.where().file, SourceLine(std::source_location::current()).file);
    EXPECT_NE(error.parts().what.find("`indices` is i64[3]"), std::string::npos) << error.what();
    EXPECT_NE(error.parts().help.find(".pattern = \"indices\", .frozen = true"), std::string::npos)
        << error.what();
  }
}

TEST(Groups, AListOfTensorsIsMatchedByPosition) {
  const Sgd sgd{.lr = 1, .groups = {{.pattern = "1", .lr = 0}}};
  const std::vector<Tensor> two = {zeros({}), zeros({})};
  const auto state = step(sgd, [](const std::vector<Tensor>& w) { return w[0] + w[1]; })(sgd.init(two)).first;
  EXPECT_EQ(state.parameters[0].item(), -1);
  EXPECT_EQ(state.parameters[1].item(), 0);
}

}  // namespace
}  // namespace tidemark::optim
