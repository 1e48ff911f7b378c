// Which convolutions cuDNN takes on our terms, where there are a GPU and the library.
#include "tidemark/cuda/dnn.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/scratch_folder.h"
#include "tidemark/cuda/target.h"
#include "tidemark/engine/program.h"
#include "tidemark/nn/zoo.h"

#ifdef TIDEMARK_HAS_CUDNN

namespace tidemark::cuda {
namespace {

std::string text_of(const ConvForm& form) {
  std::string text =
      fmt::format("part {} of {}{}, {} groups", static_cast<int>(form.part), name_of(form.dtype),
                  form.channels_last ? " with channels last" : "", form.groups);
  for (const ConvTensor* tensor : {&form.x, &form.w, &form.y})
    text += fmt::format(", ({})", fmt::join(tensor->size, ", "));
  return text;
}

// The forms of a model's training step.
std::vector<ConvForm> forms_of(std::string_view model, const nn::ZooOptions& options) {
  const Graph graph =
      prepare_graph(nn::find_in_zoo(model)->training_step(options), {}, nullptr, {}, cuda_target());
  std::vector<ConvForm> forms;
  for (const Node& node : graph.nodes()) {
    if (auto form = conv_form(NodeCall(graph, node))) forms.push_back(*form);
  }
  return forms;
}

TEST(Dnn, TakesTheConvolutionsOfImageModels) {
  if (const DeviceList list = devices(); list.devices.empty()) GTEST_SKIP() << list.reason;
  if (!dnn_functions()) GTEST_SKIP() << dnn_functions().error();
  const Context context(0);
  context.use();
  const Stream stream(context);
  const std::unique_ptr<Dnn> dnn = Dnn::open(stream);
  ASSERT_TRUE(dnn);
  for (const DType dtype : {DType::bf16, DType::f32}) {
    for (const auto& [model, side] : {std::pair("resnet50", 224), std::pair("unet", 256)}) {
      for (const ConvForm& form : forms_of(model, {.batch = 8, .context = side, .dtype = dtype}))
        EXPECT_TRUE(dnn->engine(form, 16)) << model << ": " << text_of(form);
    }
  }
}

TEST(Dnn, KeepsAnEngineForEachFormThatWasTimed) {
  if (const DeviceList list = devices(); list.devices.empty()) GTEST_SKIP() << list.reason;
  if (!dnn_functions()) GTEST_SKIP() << dnn_functions().error();
  const testing::ScratchFolder folder;
  const char* const before = std::getenv("TIDEMARK_CUDA_CACHE");
  const std::string old = before ? before : "";
  ::setenv("TIDEMARK_CUDA_CACHE", folder.path().c_str(), 1);
  const Context context(0);
  context.use();
  const Stream stream(context);
  std::vector<ConvForm> forms = forms_of("resnet50", {.batch = 2, .context = 64, .dtype = DType::bf16});
  std::ranges::sort(forms);
  forms.erase(std::ranges::unique(forms).begin(), forms.end());
  forms.resize(std::min<std::size_t>(forms.size(), 6));
  for (const char* const timing : {"1", "0"}) {
    ::setenv("TIDEMARK_CUDA_TIMING", timing, 1);
    const std::unique_ptr<Dnn> dnn = Dnn::open(stream);
    ASSERT_TRUE(dnn);
    for (const ConvForm& form : forms) EXPECT_TRUE(dnn->engine(form, Dnn::timed_alignment)) << text_of(form);
  }
  ::unsetenv("TIDEMARK_CUDA_TIMING");
  before ? ::setenv("TIDEMARK_CUDA_CACHE", old.c_str(), 1) : ::unsetenv("TIDEMARK_CUDA_CACHE");
  const Result<Folder, std::string> kept = Folder::open(folder.path());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept.value().files().size(), forms.size());
}

TEST(ConvForms, HaveTheSizesAndStridesOfEitherOrder) {
  const std::vector<ConvForm> forms = forms_of("resnet50", {.batch = 2, .context = 64, .dtype = DType::bf16});
  ASSERT_FALSE(forms.empty());
  for (const ConvForm& form : forms) {
    EXPECT_TRUE(form.channels_last);
    EXPECT_EQ(form.x.stride[1], 1);
    EXPECT_EQ(form.w.stride[1], 1);
    EXPECT_EQ(form.x.stride[0], form.x.count() / form.x.size[0]);
    EXPECT_LE(form.workspace_bytes, std::int64_t{128} << 20);
  }
  for (const ConvForm& form : forms_of("resnet50", {.batch = 2, .context = 64, .dtype = DType::f32})) {
    EXPECT_FALSE(form.channels_last);
    EXPECT_EQ(form.x.stride[4], 1);
  }
}

}  // namespace
}  // namespace tidemark::cuda

#endif
