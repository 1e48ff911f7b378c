// Image models as a GPU gets them: channels last between the ends, nothing on the host, the same values.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/support/random_programs.h"
#include "tests/support/run_on_device.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cuda/device.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/cuda/target.h"
#include "tidemark/engine/program.h"
#include "tidemark/nn/models.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/normalization/norm_columns.h"
#include "tidemark/ops/registry.h"
#include "tidemark/plan/passes/pipeline.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;

Graph prepared_for(const Graph& graph, const Target& target) {
  return prepare_graph(graph, {}, nullptr, {}, target);
}

template <class Model>
Graph step_of(const std::function<Model()>& init, const Shape& images, const Shape& labels,
              DType dtype = DType::bf16) {
  const nn::LossGraph loss = nn::loss_graph(
      DType::f32, init,
      [=](const Model& model, Tensor in, Tensor label) {
        const Model small = map_tree([=](const Tensor& t) { return cast(t, dtype); }, model);
        return nn::classification_loss(small(cast(in, dtype)), label);
      },
      Tensor::of_type({DType::f32, images}), Tensor::of_type({DType::i32, labels}));
  return nn::training_step(loss, nn::OptimizerKind::adamw);
}
Graph resnet(std::int64_t batch, std::int64_t side, const nn::ResNetConfig& config) {
  return step_of<nn::ResNet>([=] { return nn::ResNet::init(key(0), config); }, {batch, 3, side, side},
                             {batch});
}
Graph unet(std::int64_t batch, std::int64_t side, const nn::UNetConfig& config) {
  return step_of<nn::UNet>([=] { return nn::UNet::init(key(0), config); }, {batch, 3, side, side},
                           {batch, side, side});
}

// Steps of the plan that are a kernel of one op, or run on the host.
std::map<std::string, int> steps_alone(const Graph& graph) {
  const Plan plan = make_plan(graph, cuda_target());
  std::map<std::string, int> counts;
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute) continue;
    const StepCall call(graph, plan, step);
    const Route route = route_of(call);
    if (route == Route::host) ++counts["host"];
    if (step.group < 0) ++counts[std::string(static_cast<const Call&>(call).op->name)];
  }
  return counts;
}

TEST(CudaImages, ResNetStaysOnTheGpuWithChannelsLast) {
  const Graph graph =
      prepared_for(resnet(2, 64, {.depths = {3, 4, 6, 3}, .bottleneck = true}), cuda_target());
  std::map<std::string, int> counts = steps_alone(graph);
  EXPECT_EQ(counts["host"], 0);
  EXPECT_EQ(counts["conv"] + counts["conv_input_grad"] + counts["conv_weight_grad"], 0);
  EXPECT_EQ(counts["conv_last"], 53);
  EXPECT_EQ(counts["conv_last_weight_grad"], 53);
  EXPECT_EQ(counts["conv_last_input_grad"], 52);  // images have none
  EXPECT_EQ(counts["max_pool_grad"], 1);
  EXPECT_EQ(counts["transpose"], 0);  // those of parameters are read as they lie
}

// Sums down the columns are kernels; the rest of norms is in groups: with ReLU and the residual sum, and with
// the mask of ReLU but where a residual sum stands between.
TEST(CudaImages, NormsAreSumsAndStepsOfGroups) {
  const Graph graph =
      prepared_for(resnet(2, 64, {.depths = {3, 4, 6, 3}, .bottleneck = true}), cuda_target());
  std::map<std::string, int> counts, masked;
  for (const Node& node : graph.nodes()) {
    ++counts[std::string(node.op->name)];
    if (node.op == &op::column_slopes) masked["slopes"] += node.operands.size() == masked_slopes_operands;
    if (node.op == &op::normalize_columns_grad)
      masked["grad"] += node.operands.size() == masked_grad_operands;
  }
  EXPECT_EQ(counts["batch_norm"] + counts["batch_norm_grad"] + counts["batch_norm_params"], 0);
  for (const char* const op :
       {"column_statistics", "column_slopes", "normalize_columns", "normalize_columns_grad"})
    EXPECT_EQ(counts[op], 53) << op;
  EXPECT_EQ(masked["slopes"], 33);  // of the first norm and two in each of 16 blocks
  EXPECT_EQ(masked["grad"], 33);
  EXPECT_EQ(counts["relu"], 49);
  EXPECT_EQ(counts["select"], 16);  // behind residual sums
  EXPECT_EQ(steps_alone(graph)["normalize_columns"], 0);
}

TEST(CudaImages, UNetStaysOnTheGpuWithChannelsLast) {
  const Graph graph = prepared_for(unet(1, 64, {}), cuda_target());
  std::map<std::string, int> counts = steps_alone(graph);
  EXPECT_EQ(counts["host"], 0);
  EXPECT_EQ(counts["conv"] + counts["conv_input_grad"] + counts["conv_weight_grad"], 0);
  EXPECT_EQ(counts["max_pool_grad"], 4);
  EXPECT_EQ(counts["transpose"], 0);
}

TEST(CudaImages, GraphsForTheCpuStayAsTheyWere) {
  const Graph graph = prepared_for(resnet(2, 32, {.depths = {1, 1}, .width = 8}), cpu_target());
  for (const Node& node : graph.nodes()) EXPECT_FALSE(node.op->name.starts_with("conv_last"));
}

std::vector<Literal> run_on_cpu(const Graph& graph, const std::vector<Literal>& inputs) {
  static ThreadPool pool(1);
  const Graph runnable = expand(
      graph, [](const Node& node) { return node.op->expand && !cpu_target().runs(*node.op); },
      ExpandRegions::inside);
  return interpret(runnable, inputs, pool);
}

// Labels below the classes; everything else small.
std::vector<Literal> inputs_for(const Graph& graph, double classes) {
  std::vector<Literal> inputs;
  std::uint64_t seed = 1;
  for (const Input& input : graph.inputs()) {
    const Type& type = graph.type(input.value);
    const bool whole = !is_float(type.dtype);
    inputs.push_back(
        random_literal(type.dtype, type.shape, seed++, whole ? 0 : 0.01, whole ? classes - 1 : 0.5));
  }
  return inputs;
}

// Of the largest element; moments of 16-bit gradients are compared loosely.
void expect_near(const std::vector<Literal>& got, const std::vector<Literal>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t r = 0; r < got.size(); ++r) {
    const std::vector<double> a = values_of(got[r]), b = values_of(expected[r]);
    double largest = 1e-6, difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_TRUE(std::isfinite(a[i])) << "result " << r;
      largest = std::max(largest, std::abs(b[i]));
      difference = std::max(difference, std::abs(a[i] - b[i]));
    }
    EXPECT_LE(difference / largest, tolerance)
        << "result " << r << " of shape " << to_string(expected[r].shape);
  }
}

// Odd sizes, so that no two dimensions are mistaken for each other.
std::vector<std::pair<Graph, double>> small_models() {
  std::vector<std::pair<Graph, double>> list;
  list.emplace_back(resnet(3, 40, {.depths = {1, 1}, .bottleneck = true, .width = 8, .classes = 5}), 5);
  list.emplace_back(unet(2, 24, {.classes = 3, .width = 6, .levels = 2}), 3);
  return list;
}

TEST(CudaImages, ChannelsLastMeansTheSame) {
  for (const auto& [step, classes] : small_models()) {
    const std::vector<Literal> inputs = inputs_for(step, classes);
    const Graph last = prepared_for(step, cuda_target());
    expect_near(run_on_cpu(last, inputs), run_on_cpu(prepared_for(step, cpu_target()), inputs), 0.1);
  }
}

TEST(CudaImages, TrainingStepsHaveTheValuesOfTheCpu) {
  if (const DeviceList list = devices(); list.devices.empty()) GTEST_SKIP() << list.reason;
  for (const auto& [step, classes] : small_models()) {
    const std::vector<Literal> inputs = inputs_for(step, classes);
    const Graph graph = prepared_for(step, cuda_target());
    const Plan plan = make_plan(graph, cuda_target());
    DeviceRun run(*device(), graph, plan);
    const std::vector<Literal> got = run.run(inputs);
    expect_near(got, run_on_cpu(graph, inputs), 0.1);
    EXPECT_EQ(bit_difference(run.run(inputs), got), "") << "recorded";
    EXPECT_EQ(bit_difference(run.run(inputs), got), "") << "replayed";
  }
}

}  // namespace
}  // namespace tidemark::cuda
