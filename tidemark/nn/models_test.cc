#include "tidemark/nn/models.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/tiny_models.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

TEST(Models, TinyOnesLearnAndRepeatBitByBit) {
  for (const tiny::TinyModel& model : tiny::all()) {
    Program program(model.step, {}, default_device());
    std::vector<double> losses = tiny::losses(program, model, 8);
    for (double loss : losses) ASSERT_TRUE(std::isfinite(loss)) << model.name;
    EXPECT_LT(losses.back(), losses.front()) << model.name;
    EXPECT_EQ(program.arena_high_water(), program.plan().arena_bytes) << model.name;
    losses.resize(3);
    EXPECT_EQ(tiny::losses(program, model, 3), losses) << model.name;
  }
}

TEST(Models, GptSeesNoLaterTokensAndVitSeesAllPatches) {
  const Gpt gpt = Gpt::init(key(0), {.layers = 2, .width = 16, .heads = 2, .vocabulary = 11, .context = 8});
  Tensor tokens = tensor(std::vector<std::int32_t>{1, 2, 3, 4, 5}, {1, 5});
  const Tensor before = gpt(tokens);
  tokens.at(0, 4) = 9;
  const Tensor after = gpt(tokens);
  EXPECT_EQ(before.at(all, Range{0, 4}).to_vector(), after.at(all, Range{0, 4}).to_vector());
  EXPECT_NE(before.at(all, 4).to_vector(), after.at(all, 4).to_vector());

  const Vit vit =
      Vit::init(key(0), {.layers = 1, .width = 16, .heads = 2, .patch = 4, .side = 8, .classes = 3});
  const Tensor image = random_normal(key(1), {1, 3, 8, 8});
  Tensor corner = image;
  corner.at(0, 0, 7, 7) = 5;
  EXPECT_NE(vit(image).to_vector(), vit(corner).to_vector());
}

// The loss that a language model says itself against the one through its logits, and their gradients.
template <class Model>
void expect_same_loss(const Model& model, const Tensor& tokens, const Tensor& next, double balance) {
  const auto direct = [](const Model& m, Tensor in, Tensor out) { return m.loss(in, out); };
  const auto through_logits = [&](const Model& m, Tensor in, Tensor out) {
    if constexpr (requires { m(in).balance; }) {
      const auto result = m(in);
      return classification_loss(result.y, out) + result.balance * balance;
    } else {
      return classification_loss(m(in), out);
    }
  };
  const auto [y, dy] = value_and_grad(direct)(model, tokens, next);
  const auto [z, dz] = value_and_grad(through_logits)(model, tokens, next);
  EXPECT_NEAR(y.item(), z.item(), 1e-6 * std::abs(z.item()));
  const std::vector<Tensor> got = tensors_of(dy), expected = tensors_of(dz);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(max(abs(got[i] - expected[i])).item(), 1e-5 * max(abs(expected[i])).item() + 1e-9) << i;
  }
}
TEST(Models, OfLanguageHaveALossWithoutLogits) {
  const Tensor tokens = tiny::random_labels(7, {2, 8}, 64), next = tiny::random_labels(8, {2, 8}, 64);
  expect_same_loss(Gpt::init(key(0), {.layers = 2, .width = 16, .heads = 2, .vocabulary = 64, .context = 8}),
                   tokens, next, 0);
  expect_same_loss(
      Llama::init(key(0),
                  {.layers = 1, .width = 16, .heads = 2, .kv_heads = 1, .hidden = 24, .vocabulary = 64}),
      tokens, next, 0);
  expect_same_loss(Moe::init(key(0), {.layers = 1,
                                      .width = 16,
                                      .heads = 2,
                                      .kv_heads = 2,
                                      .hidden = 24,
                                      .vocabulary = 64,
                                      .experts = 2,
                                      .top = 1}),
                   tokens, next, 0.01);
}

TEST(Models, TrainInBf16WithF32Moments) {
  const GptConfig config{.layers = 2, .width = 32, .heads = 4, .vocabulary = 64, .context = 16};
  const auto loss = [](const Gpt& model, Tensor tokens, Tensor next) {
    return classification_loss(model(tokens), next);
  };
  const optim::AdamW adamw{.lr = 3e-3};
  const Gpt start = map_tree([](const Tensor& w) { return cast(w, DType::bf16); }, Gpt::init(key(0), config));
  const auto train = compile(optim::step(adamw, loss), {.donate = {0}});
  const Tensor tokens = tiny::random_labels(7, {2, 16}, 64), next = tiny::random_labels(8, {2, 16}, 64);
  auto state = adamw.init(start);
  std::vector<double> losses;
  for (int i = 0; i < 8; ++i) {
    auto [after, value] = train(state, tokens, next);
    state = after;
    losses.push_back(value.item());
    ASSERT_TRUE(std::isfinite(losses.back()));
  }
  EXPECT_LT(losses.back(), losses.front() - 0.1);
  EXPECT_EQ(state.parameters.token_table.dtype(), DType::bf16);
}

TEST(Models, GptReadsTheNamesOfPublishedWeights) {
  const testing::ScratchFolder folder;
  const std::string path = folder.path("model.safetensors");
  const GptConfig config{.layers = 2,
                         .width = 8,
                         .heads = 2,
                         .vocabulary = 11,
                         .context = 6,
                         .activation = Activation::gelu_tanh};
  const Gpt published = Gpt::init(key(3), config);
  std::map<std::string, Tensor> file;
  const auto put = [&](const std::string& name, const Tensor& weight) {
    file["transformer." + name] = weight;
  };
  put("wte.weight", published.token_table);
  put("wpe.weight", published.position_table);
  put("ln_f.weight", published.norm.gain);
  put("ln_f.bias", published.norm.bias);
  for (std::size_t i = 0; i < 2; ++i) {
    const TransformerBlock& block = published.blocks[i];
    const std::string h = fmt::format("h.{}.", i);
    put(h + "ln_1.weight", block.norm1.gain);
    put(h + "ln_1.bias", block.norm1.bias);
    put(h + "attn.c_attn.weight", block.attention.qkv.weight);
    put(h + "attn.c_attn.bias", block.attention.qkv.bias);
    put(h + "attn.c_proj.weight", block.attention.out.weight);
    put(h + "attn.c_proj.bias", block.attention.out.bias);
    put(h + "ln_2.weight", block.norm2.gain);
    put(h + "ln_2.bias", block.norm2.bias);
    put(h + "mlp.c_fc.weight", block.up.weight);
    put(h + "mlp.c_fc.bias", block.up.bias);
    put(h + "mlp.c_proj.weight", block.down.weight);
    put(h + "mlp.c_proj.bias", block.down.bias);
    put(h + "attn.bias", ones({1, 1, 6, 6}));  // a mask, which some files have beside the weights
  }
  save(path, file);
  std::pair<Gpt, Linear> mine{Gpt::init(key(0), config), Linear::init(key(1), 8, 2)};
  const LoadOptions options{.strict = false, .skip = {"1.*"}, .names = gpt2_names("0.", "transformer.")};
  const LoadReport report = load(path, mine, options);
  EXPECT_TRUE(report.missing.empty()) << to_string(report);
  const Tensor tokens = tensor(std::vector<std::int32_t>{1, 2, 3, 4, 10}, {1, 5});
  EXPECT_EQ(mine.first(tokens).to_vector(), published(tokens).to_vector());
  Gpt exact = published;
  for (TransformerBlock& block : exact.blocks) block.activation = Activation::gelu;
  EXPECT_NE(exact(tokens).to_vector(), published(tokens).to_vector());
}

TEST(Models, OfImagesRefuseOtherChannels) {
  const Tensor images = ones({2, 6, 8, 8});
  const ResNet resnet = ResNet::init(key(0), {.depths = {1}, .width = 6, .classes = 2, .small_images = true});
  EXPECT_EQ(testing::code_of([&] { resnet(images); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { resnet.infer(images, fresh_statistics(resnet)); }),
            ErrorCode::shape_mismatch);
  const UNet unet = UNet::init(key(0), {.channels = 1, .classes = 2, .width = 6, .levels = 1});
  EXPECT_EQ(testing::code_of([&] { unet(images); }), ErrorCode::shape_mismatch);
  const MobileNet mobile =
      MobileNet::init(key(0), {.stem = 8, .last = 16, .classes = 3, .stages = {{1, 8, 1, 1}}});
  EXPECT_EQ(testing::code_of([&] { mobile(images, key(1)); }), ErrorCode::shape_mismatch);
  std::uint32_t line = 0;
  try {
    line = __LINE__, resnet(images);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.parts().where.line, line) << error.what();
  }
}

TEST(Models, OfAttentionRefuseHeadsThatDoNotDivideTheWidth) {
  for (const std::int64_t heads : {-1, 0, 2, 18}) {
    EXPECT_EQ(testing::code_of([&] {
                Gpt::init(key(0), {.layers = 1, .width = 9, .heads = heads, .vocabulary = 5, .context = 4});
              }),
              ErrorCode::bad_attribute)
        << heads;
    EXPECT_EQ(testing::code_of([&] {
                Vit::init(key(0),
                          {.layers = 1, .width = 9, .heads = heads, .patch = 4, .side = 8, .classes = 3});
              }),
              ErrorCode::bad_attribute)
        << heads;
  }
  EXPECT_EQ(testing::code_of([&] { Vit::init(key(0), {.layers = 1, .width = 8, .heads = 2, .patch = 0}); }),
            ErrorCode::bad_attribute);
  const LlamaConfig shared{.layers = 1, .width = 12, .heads = 3, .kv_heads = 2, .hidden = 8, .vocabulary = 5};
  std::uint32_t line = 0;
  try {
    line = __LINE__, Llama::init(key(0), shared);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_attribute);
    EXPECT_EQ(error.parts().where.line, line) << error.what();
  }
}

}  // namespace
}  // namespace tidemark::nn
