#include "tidemark/nn/zoo.h"
#include "tests/support/test_target.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tidemark/engine/program.h"
#include "tidemark/ir/verify.h"

namespace tidemark::nn {
namespace {

const ZooModel& model(std::string_view name) {
  const ZooModel* found = find_in_zoo(name);
  TM_CHECK(found, "no model {}", name);
  return *found;
}

std::int64_t parameter_count(const ZooModel& model) {
  const Graph graph = model.training_step({.batch = 1, .optimizer = OptimizerKind::none});
  std::int64_t count = -1;  // the loss is among the outputs
  for (ValueId v : graph.outputs()) count += graph.type(v).count();
  return count;
}

std::string refusal(std::string_view name, const ZooOptions& options) {
  try {
    model(name).training_step(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Zoo, ModelsHaveTheirKnownNumberOfParameters) {
  const std::map<std::string_view, std::int64_t> known = {
      {"gpt2", 124'439'808},      {"gpt2-124m", 124'439'808},   {"gpt2-350m", 354'823'168},
      {"gpt2-774m", 774'030'080}, {"gpt2-1.5b", 1'557'611'200}, {"llama-7b", 6'738'415'616},
      {"resnet18", 11'689'512},   {"resnet50", 25'557'032},     {"resnet152", 60'192'808},
      {"vgg16", 138'357'544},     {"vgg19", 143'667'240},       {"mobilenet", 3'504'872},
      {"vit", 86'567'656},        {"unet", 31'037'698},         {"mixtral-8x7b", 46'702'792'704},
      {"moe", 530'541'312},       {"lstm", 19'775'200},
  };
  for (const auto& [name, count] : known) EXPECT_EQ(parameter_count(model(name)), count) << name;
}

TEST(Zoo, ModelsTakeLayersAndWidths) {
  // Two blocks of GPT-2 less, and half its width: tables, blocks of 12 w² + 13 w, the last norm.
  const Graph graph = model("gpt2").training_step(
      {.batch = 1, .context = 8, .layers = 10, .width = 384, .optimizer = OptimizerKind::none});
  std::int64_t count = -1;
  for (ValueId v : graph.outputs()) count += graph.type(v).count();
  EXPECT_EQ(count, (50257 + 1024) * 384 + 10 * (12 * 384 * 384 + 13 * 384) + 2 * 384);
  for (const ZooModel& m : zoo()) {
    ZooOptions options{.batch = 1};
    if (m.layers.exists()) options.layers = m.layers.least;
    if (m.width.exists()) options.width = m.width.multiple_of * 2;
    if (m.context.unit == "steps") options.context = 4;
    EXPECT_NO_THROW(verify(m.training_step(options))) << m.name;
  }
}

TEST(Zoo, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const ZooModel& m : zoo()) EXPECT_TRUE(names.insert(m.name).second) << m.name;
}

TEST(Zoo, StateIsDonatedAndReturnedInItsOrder) {
  const std::map<std::string_view, std::size_t> trees = {{"sgd", 1},  {"momentum", 2},  {"nesterov", 2},
                                                         {"adam", 3}, {"adamw", 3},     {"rmsprop", 3},
                                                         {"lion", 2}, {"adafactor", 3}, {"adamw8bit", 3}};
  for (const std::string_view name : optimizer_names) {
    if (name == "none") continue;
    const Graph graph = model("mlp").training_step({.batch = 2, .optimizer = optimizer_named(name)});
    std::size_t donated = 0;
    for (const Input& input : graph.inputs()) donated += input.donated;
    EXPECT_EQ(donated, 6 * trees.at(name) + 1) << name;
    ASSERT_EQ(graph.outputs().size(), donated + 1);
    for (std::size_t i = 0; i < donated; ++i) {
      EXPECT_TRUE(graph.inputs()[i].donated);
      EXPECT_EQ(graph.type(graph.inputs()[i].value), graph.type(graph.outputs()[i]));
    }
  }
}

TEST(Zoo, InputsKeepTheirPathsInTheModel) {
  const Graph graph = model("mlp").training_step({.batch = 2, .optimizer = OptimizerKind::adamw});
  EXPECT_EQ(graph[graph.inputs()[0].value].name, "parameters.layers.0.weight");
  EXPECT_EQ(graph[graph.inputs()[7].value].name, "mean.layers.0.bias");
  EXPECT_EQ(graph[graph.inputs()[18].value].name, "steps");
  const Graph gradients = model("mlp").training_step({.batch = 2, .optimizer = OptimizerKind::none});
  EXPECT_EQ(gradients[gradients.inputs()[5].value].name, "parameters.layers.2.bias");
}

TEST(Zoo, SixteenBitModelsHaveF32Moments) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Graph graph = model("gpt").training_step(
        {.batch = 1, .context = 16, .dtype = dtype, .optimizer = OptimizerKind::adamw});
    for (const Input& input : graph.inputs()) {
      const Value& value = graph[input.value];
      const bool parameter = value.name.starts_with("parameters."), moment = value.name.starts_with("mean.");
      if (parameter || moment) {
        EXPECT_EQ(value.type.dtype, parameter ? dtype : DType::f32) << value.name;
      }
    }
  }
}

TEST(Zoo, OptionsAModelCannotTakeAreRefusedWithWhatItTakes) {
  EXPECT_THAT(refusal("mlp", {.context = 5}), ::testing::HasSubstr("no context"));
  EXPECT_THAT(refusal("gpt2", {.context = 0}), ::testing::HasSubstr("1 to 1048576 tokens"));
  EXPECT_THAT(refusal("gpt2", {.width = 100}), ::testing::HasSubstr("a multiple of 64"));
  EXPECT_THAT(refusal("gpt2", {.layers = 0}), ::testing::HasSubstr("1 to 512 layers"));
  EXPECT_THAT(refusal("resnet50", {.layers = 3}), ::testing::HasSubstr("no layers"));
  EXPECT_THAT(refusal("vit", {.context = 200}), ::testing::HasSubstr("a multiple of 16"));
  EXPECT_THAT(refusal("resnet50", {.context = 16}), ::testing::HasSubstr("32 to 16384 pixels"));
  EXPECT_THAT(refusal("gpt2", {.batch = 0}), ::testing::HasSubstr("a batch of 0"));
  EXPECT_THAT(refusal("gpt2", {.dtype = DType::f64}), ::testing::HasSubstr("f32, bf16 or f16"));
}

TEST(Zoo, EveryFamilyIsPlanned) {
  for (const char* name : {"mlp", "transformer", "residual", "gpt", "convnet", "gpt2", "resnet50", "vgg16",
                           "unet", "mobilenet", "vit", "moe"}) {
    const Graph graph = prepare_graph(model(name).training_step({.batch = 2}));
    const Plan plan = make_plan(graph, test_target());
    EXPECT_GE(plan.peak(), plan.lower_bound) << name;
    EXPECT_LT(plan.peak(), plan.store_all_bytes) << name;
  }
}

TEST(Zoo, EveryModelHasAGraphInEveryDtype) {
  for (const ZooModel& m : zoo()) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const bool unrolled = m.context.unit == "steps";
      const Graph graph = m.training_step(
          {.batch = 2, .context = unrolled ? std::optional<std::int64_t>(16) : std::nullopt, .dtype = dtype});
      EXPECT_NO_THROW(verify(graph)) << m.name;
    }
  }
}

}  // namespace
}  // namespace tidemark::nn
