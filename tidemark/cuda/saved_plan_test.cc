// Plans that were saved, where there is a GPU: a training step of a ResNet, by the same engines and
// algorithms, where the cache knows of no choice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/scratch_folder.h"
#include "tidemark/cuda/device.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/nn/models.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/tidemark.h"

namespace tidemark::cuda {
namespace {

using namespace literals;
using testing::ScratchFolder;

// TIDEMARK_CUDA_CACHE is another folder while it lives.
class OtherCache {
 public:
  OtherCache() {
    const char* const before = std::getenv("TIDEMARK_CUDA_CACHE");
    if (before) before_ = before;
    ::setenv("TIDEMARK_CUDA_CACHE", folder_.path().c_str(), 1);
  }
  ~OtherCache() {
    before_ ? ::setenv("TIDEMARK_CUDA_CACHE", before_->c_str(), 1) : ::unsetenv("TIDEMARK_CUDA_CACHE");
  }

 private:
  const ScratchFolder folder_;
  std::optional<std::string> before_;
};

template <class Tree>
std::vector<double> numbers_of(const Tree& tree) {
  std::vector<double> all;
  for (const Tensor& t : tensors_of(tree)) {
    const std::vector<double> part = t.to_vector();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(SavedPlanOnGpu, TrainsAResNetByTheSameEnginesOrSaysWhyNot) {
  if (const DeviceList list = devices(); list.devices.empty()) GTEST_SKIP() << list.reason;
  const ScratchFolder plans;
  const auto loss = [](const nn::ResNet& model, Tensor in, Tensor label) {
    const nn::ResNet small = map_tree([](const Tensor& t) { return cast(t, DType::bf16); }, model);
    return nn::classification_loss(small(cast(in, DType::bf16)), label);
  };
  const nn::ResNet model = nn::ResNet::init(key(0), {.depths = {1, 1, 1, 1}, .classes = 10});
  const Tensor images = random_normal(key(1), {8, 3, 64, 64}), labels = cast(arange(8), DType::i32);
  const auto f = value_and_grad(loss);
  CompileOptions options{.device = device()};
  std::vector<double> expected;
  {
    const OtherCache timed;
    ::setenv("TIDEMARK_CUDA_TIMING", "1", 1);
    const auto first = compile(f, options);
    expected = numbers_of(first(model, images, labels));
    ::unsetenv("TIDEMARK_CUDA_TIMING");
    first.save_plan(plans.path("plan.json"));
  }
  const OtherCache empty;
  int searched = 0;
  options.progress = [&](const PlanProgress&) { return ++searched > 0; };
  options.plans = {plans.path("plan.json")};
  const auto again = compile(f, options);
  for (int run = 0; run < 3; ++run) EXPECT_EQ(numbers_of(again(model, images, labels)), expected);
  EXPECT_EQ(searched, 0);
  const PlannedAlgorithms recorded = plan_from_json(plans.read("plan.json")).algorithms;
  EXPECT_EQ(plan_from_json(again.plan().to_json()).algorithms, recorded);
  const auto by_engines = std::ranges::count_if(
      recorded.entries, [](const auto& entry) { return entry.algorithm.starts_with("cuDNN"); });
  EXPECT_GT(by_engines, 8) << "the convolutions of a ResNet";

  std::string other = plans.read("plan.json");
  for (std::size_t at = 0; (at = other.find("\"cuDNN ", at)) != std::string::npos; at += 9)
    other.insert(at + 7, "1");
  options.plans = {plans.write("other.json", other)};
  try {
    compile(f, options)(model, images, labels);
    FAIL() << "engines of another version ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_kernel);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("for `convolution"));
  }
}

TEST(SavedPlanOnGpu, KeepsValuesOnTheHostWhereTheyWere) {
  if (const DeviceList list = devices(); list.devices.empty()) GTEST_SKIP() << list.reason;
  const ScratchFolder plans;
  const auto loss = [](Tensor w, Tensor x) {
    for (int i = 0; i < 12; ++i) x = tanh(matmul(x, w));
    return mean(square(x));
  };
  const Tensor w = random_normal(key(1), {512, 512}, 0, 0.05), x = random_normal(key(2), {8192, 512});
  const CompileOptions options{.memory = 100_MiB, .host = 1_GiB, .allow = {Choice::host}, .device = device()};
  const auto first = compile(grad(loss), options);
  const std::vector<double> expected = first(w, x).to_vector();
  ASSERT_FALSE(first.plan().plan.further.empty());
  first.save_plan(plans.path("plan.json"));
  CompileOptions from_file = options;
  from_file.plans = {plans.path("plan.json")};
  const auto again = compile(grad(loss), from_file);
  for (int run = 0; run < 3; ++run) EXPECT_EQ(again(w, x).to_vector(), expected);
  EXPECT_EQ(again.plan().to_json(), first.plan().to_json());
}

}  // namespace
}  // namespace tidemark::cuda
