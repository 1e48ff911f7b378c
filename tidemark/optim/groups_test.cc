#include "tidemark/optim/groups.h"

#include <gtest/gtest.h>

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

TEST(Groups, AListOfTensorsIsMatchedByPosition) {
  const Sgd sgd{.lr = 1, .groups = {{.pattern = "1", .lr = 0}}};
  const std::vector<Tensor> two = {zeros({}), zeros({})};
  const auto state = step(sgd, [](const std::vector<Tensor>& w) { return w[0] + w[1]; })(sgd.init(two)).first;
  EXPECT_EQ(state.parameters[0].item(), -1);
  EXPECT_EQ(state.parameters[1].item(), 0);
}

}  // namespace
}  // namespace tidemark::optim
