// Models of the zoo hold parameters, moments and one layer's gradient; those that take long to plan are in
// learned_memory_slow_test.cc.
#include "tests/support/learned_memory.h"
#include "tests/support/sanitized.h"

namespace tidemark {
namespace {

using enum nn::OptimizerKind;

class LearnedMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "the same plans, tens of times as slowly";
  }
};

TEST_F(LearnedMemory, IsThreeTimesTheParametersAndALayersGradientWithAdamW) {
  for (const char* name : {"mlp", "transformer", "residual", "gpt", "convnet", "gpt2", "gpt2-350m",
                           "resnet18", "resnet50", "vgg16", "unet", "mobilenet", "vit", "moe"}) {
    expect_one_layers_gradient(name, adamw, Budget::none);
  }
}
TEST_F(LearnedMemory, IsSixteenTenthsOfTheParametersAndALayersGradientWithEightBits) {
  for (const char* name :
       {"mlp", "transformer", "residual", "gpt", "convnet", "gpt2", "resnet18", "vgg16", "unet", "vit"}) {
    expect_one_layers_gradient(name, adamw8bit, Budget::none);
  }
}
TEST_F(LearnedMemory, IsNoMoreWithOtherOptimizers) {
  for (const nn::OptimizerKind optimizer : {sgd, momentum, lion}) {
    for (const char* name : {"gpt", "resnet18", "vit"})
      expect_one_layers_gradient(name, optimizer, Budget::none);
  }
}
TEST_F(LearnedMemory, IsNoMoreInTheLeastMemory) {
  for (const char* name : {"mlp", "transformer", "residual"}) {
    for (const nn::OptimizerKind optimizer : {adamw, adamw8bit})
      expect_one_layers_gradient(name, optimizer, Budget::least, 0.02);
  }
  for (const char* name : {"gpt", "resnet18"}) expect_one_layers_gradient(name, adamw, Budget::least, 0.02);
}

}  // namespace
}  // namespace tidemark
