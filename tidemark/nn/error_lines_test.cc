// Every layer, loss and model, given what it cannot take: the error names a line of this file, not one of the
// library's, at once and while a function is traced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

void expect_own_line(const char* mistake, const std::function<void()>& make) {
  const auto expect = [&](const char* how, const std::function<void()>& run) {
    try {
      run();
      ADD_FAILURE() << mistake << ", " << how << ": no error";
    } catch (const Error& error) {
      EXPECT_THAT(std::string(error.where().file), EndsWith("error_lines_test.cc"))
          << mistake << ", " << how << ": " << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << mistake << ", " << how << ": " << error.what();
    }
  };
  expect("at once", make);
  expect("traced", [&] {
    compile([&](Tensor x) {
      make();
      return x;
    })(ones({1}));
  });
}
#define EXPECT_OWN_LINE(...) expect_own_line(#__VA_ARGS__, [&] { (void)(__VA_ARGS__); })

Tensor floats(const Shape& shape) { return ones(shape); }
Tensor integers(const Shape& shape) { return zeros(shape, DType::i32); }

// What every call of these must refuse: another width, another rank, another dtype.
#define EXPECT_REFUSED(layer, ...)                               \
  for (const Tensor& given : std::vector<Tensor>{__VA_ARGS__}) { \
    SCOPED_TRACE(to_string(given.type()));                       \
    EXPECT_OWN_LINE(layer);                                      \
  }

TEST(ErrorLines, OfLayers) {
  const Linear linear = Linear::init(key(0), 4, 3);
  EXPECT_REFUSED(linear(given), floats({2, 5}), floats({}), integers({2, 4}));
  const Conv2d conv2d = Conv2d::init(key(0), 3, 4, 3);
  EXPECT_REFUSED(conv2d(given), floats({2, 4, 8, 8}), floats({2, 3}), integers({2, 3, 8, 8}));
  const ConvNorm conv_norm = ConvNorm::init(key(0), 3, 4, 3);
  EXPECT_REFUSED(conv_norm(given), floats({2, 4, 8, 8}), floats({2, 3}), integers({2, 3, 8, 8}));
  const UpConv2d up = UpConv2d::init(key(0), 3, 4, 2);
  EXPECT_REFUSED(up(given), floats({2, 4, 8, 8}), floats({2, 3}), integers({2, 3, 8, 8}));
  const Convolution one_d = Convolution::init(key(0), 3, 4, {3});
  EXPECT_REFUSED(one_d(given), floats({2, 4, 8}), floats({2, 3, 8, 8}), integers({2, 3, 8}));
  const TransposedConvolution wide = TransposedConvolution::init(key(0), 3, 4, {3, 3});
  EXPECT_REFUSED(wide(given), floats({2, 4, 8, 8}), floats({2, 3, 8}), integers({2, 3, 8, 8}));
  const Embedding table = Embedding::init(key(0), 10, 4, 0);
  EXPECT_REFUSED(table(given), floats({2, 5}));
  const LayerNorm layer_norm = LayerNorm::init(4);
  EXPECT_REFUSED(layer_norm(given), floats({2, 5}), floats({}), integers({2, 4}));
  const RmsNorm rms = RmsNorm::init(4);
  EXPECT_REFUSED(rms(given), floats({2, 5}), floats({}), integers({2, 4}));
  const GroupNorm group = GroupNorm::init(4, 2);
  EXPECT_REFUSED(group(given), floats({2, 6, 3}), floats({4}), integers({2, 4, 3}));
  const InstanceNorm instance = InstanceNorm::init(4);
  EXPECT_REFUSED(instance(given), floats({2, 6, 3}), floats({4}), integers({2, 4, 3}));
  const BatchNorm2d batch = BatchNorm2d::init(4);
  const NormStatistics fresh = fresh_statistics({batch});
  EXPECT_REFUSED(batch(given), floats({2, 5}), floats({4}), integers({2, 4}));
  EXPECT_REFUSED(batch.train(given, fresh[0]), floats({2, 5}), floats({4}), integers({2, 4}));
  EXPECT_REFUSED(batch.infer(given, fresh[0]), floats({2, 5}), floats({4}));
  const LstmLayer lstm = LstmLayer::init(key(0), 3, 4);
  EXPECT_REFUSED(lstm(given), floats({5, 2, 4}), floats({5, 3}), integers({5, 2, 3}));
  EXPECT_REFUSED(lstm.scanned(given, lstm.start(2)), floats({5, 2, 4}), floats({5, 3}), floats({5, 1, 3}),
                 integers({5, 2, 3}));
  const GruLayer gru = GruLayer::init(key(0), 3, 4);
  EXPECT_REFUSED(gru.scanned(given, gru.start(2)), floats({5, 2, 4}), floats({5, 3}), floats({5, 1, 3}),
                 integers({5, 2, 3}));
  const auto both = Bidirectional<LstmLayer>::init(key(0), 3, 4);
  EXPECT_REFUSED(both(given), floats({5, 2, 4}), floats({5}), integers({5, 2, 3}));
  EXPECT_OWN_LINE(Dropout{0.5}.use(1));
  EXPECT_OWN_LINE(Dropout{0.5}(floats({2})));
  EXPECT_OWN_LINE(lstm.start(-1));
  EXPECT_OWN_LINE(gru.start(-1));
}

TEST(ErrorLines, OfAttention) {
  const SelfAttention self = SelfAttention::init(key(0), 8);
  EXPECT_REFUSED(self(given, 2, true), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  EXPECT_OWN_LINE(self(floats({2, 5, 8}), 3, true));
  const KeyValueCache cache = KeyValueCache::init(2, 2, 10, 4, DType::f32);
  const Tensor position = scalar(0, DType::i64);
  EXPECT_REFUSED(self(given, 2, cache, position), floats({2, 5, 6}), floats({3, 5, 8}), integers({2, 5, 8}));
  const MultiHeadAttention multi = MultiHeadAttention::init(key(0), 8, 2);
  EXPECT_REFUSED(multi(given), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  EXPECT_REFUSED(multi(floats({2, 5, 8}), given), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  EXPECT_REFUSED(multi(given, cache, position), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  EXPECT_OWN_LINE(multi(floats({2, 5, 8}), {.mask = floats({2, 2, 5, 5})}));
  EXPECT_OWN_LINE(multi(floats({2, 5, 8}), {.key_mask = floats({2, 4}) > 0}));
  const Rotary rotary = Rotary::of(5, 4, DType::f32);
  EXPECT_OWN_LINE(Rotary::of(5, 3, DType::f32));
  EXPECT_REFUSED(rotary(given), floats({2, 2, 5, 6}), floats({2, 2, 4, 4}), floats({}));
  EXPECT_OWN_LINE(rotary.at(floats({2})));
  const RotaryAttention turned = RotaryAttention::init(key(0), 8, 2, 2);
  EXPECT_REFUSED(turned(given, rotary), floats({2, 5, 6}), floats({2, 4, 8}), floats({5, 8}),
                 integers({2, 5, 8}));
  EXPECT_REFUSED(turned(given, rotary, cache, position), floats({2, 5, 6}), floats({5, 8}));
  EXPECT_OWN_LINE(attend(floats({2, 2, 5, 3}), floats({2, 2, 5, 3}), floats({2, 2, 5, 3}), cache, position));
}

TEST(ErrorLines, OfBlocks) {
  const TransformerBlock block = TransformerBlock::init(key(0), 8);
  const Rotary rotary = Rotary::of(5, 4, DType::f32);
  const KeyValueCache cache = KeyValueCache::init(2, 2, 10, 4, DType::f32);
  const Tensor position = scalar(0, DType::i64);
  EXPECT_REFUSED(block(given, 2), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  EXPECT_REFUSED(block(given, 2, cache, position), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  EXPECT_REFUSED(block(given, given, 2), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  const FeedForward feed = FeedForward::init(key(0), 8, 16);
  EXPECT_REFUSED(feed(given), floats({2, 6}), floats({}), integers({2, 8}));
  const TransformerConfig config{.layers = 1, .width = 8, .heads = 2, .hidden = 16};
  const EncoderLayer encoder = EncoderLayer::init(key(0), config);
  EXPECT_REFUSED(encoder(given), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  const DecoderLayer decoder = DecoderLayer::init(key(0), config);
  EXPECT_REFUSED(decoder(given, floats({2, 3, 8})), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  EXPECT_REFUSED(decoder(floats({2, 5, 8}), given), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  const TransformerEncoder encoders = TransformerEncoder::init(key(0), config);
  EXPECT_REFUSED(encoders(given), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  const TransformerDecoder decoders = TransformerDecoder::init(key(0), config);
  EXPECT_REFUSED(decoders(given, floats({2, 3, 8})), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  const SwiGlu gated = SwiGlu::init(key(0), 8, 16);
  EXPECT_REFUSED(gated(given), floats({2, 6}), floats({}), integers({2, 8}));
  const LlamaBlock llama = LlamaBlock::init(key(0), {.layers = 1, .width = 8, .heads = 2, .kv_heads = 2});
  EXPECT_REFUSED(llama(given, rotary), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  const MoeConfig moe{.layers = 1, .width = 8, .heads = 2, .kv_heads = 2, .hidden = 8, .experts = 2};
  const SparseExperts experts = SparseExperts::init(key(0), moe);
  EXPECT_REFUSED(experts(given), floats({5, 6}), floats({2, 5, 8}), integers({5, 8}));
  const MoeBlock mixture = MoeBlock::init(key(0), moe);
  EXPECT_REFUSED(mixture(given, rotary), floats({2, 5, 6}), floats({5, 8}), integers({2, 5, 8}));
  const ResidualBlock residual = ResidualBlock::init(key(0), 4);
  EXPECT_REFUSED(residual(given), floats({2, 3, 8, 8}), floats({2, 4}), integers({2, 4, 8, 8}));
  NormPass pass;
  const ResNetBlock resnet = ResNetBlock::init(key(0), 4, 4, 1, false);
  EXPECT_REFUSED(resnet(given, pass), floats({2, 3, 8, 8}), floats({2, 4}), integers({2, 4, 8, 8}));
  const InvertedResidual inverted = InvertedResidual::init(key(0), 4, 4, 1, 2);
  EXPECT_REFUSED(inverted(given, pass), floats({2, 3, 8, 8}), floats({2, 4}), integers({2, 4, 8, 8}));
  const DoubleConv twice = DoubleConv::init(key(0), 4, 4);
  EXPECT_REFUSED(twice(given, pass), floats({2, 3, 8, 8}), floats({2, 4}), integers({2, 4, 8, 8}));
}

TEST(ErrorLines, OfImageModels) {
  const ResNet resnet = ResNet::init(key(0), {.depths = {1}, .width = 4, .classes = 3, .small_images = true});
  const NormStatistics of_resnet = fresh_statistics(resnet);
  EXPECT_REFUSED(resnet(given), floats({2, 1, 8, 8}), floats({2, 8, 8}), integers({2, 3, 8, 8}));
  EXPECT_REFUSED(resnet.train(given, of_resnet), floats({2, 1, 8, 8}), integers({2, 3, 8, 8}));
  EXPECT_REFUSED(resnet.infer(given, of_resnet), floats({2, 1, 8, 8}), integers({2, 3, 8, 8}));
  const UNet unet = UNet::init(key(0), {.channels = 1, .classes = 2, .width = 2, .levels = 2});
  const NormStatistics of_unet = fresh_statistics(unet);
  EXPECT_REFUSED(unet(given), floats({2, 3, 8, 8}), floats({2, 1, 8}), floats({2, 1, 10, 8}),
                 integers({2, 1, 8, 8}));
  EXPECT_REFUSED(unet.train(given, of_unet), floats({2, 3, 8, 8}), floats({2, 1, 10, 8}));
  EXPECT_REFUSED(unet.infer(given, of_unet), floats({2, 3, 8, 8}), floats({2, 1, 10, 8}));
  const VggConfig vgg_config{.depths = {1, 1}, .width = 2, .hidden = 4, .classes = 3, .side = 8};
  const Vgg vgg = Vgg::init(key(0), vgg_config);
  EXPECT_REFUSED(vgg(given, key(1)), floats({2, 1, 8, 8}), floats({2, 3, 16, 16}), floats({2, 8, 8}),
                 integers({2, 3, 8, 8}));
  const MobileNet mobile = MobileNet::init(key(0), {.stem = 4, .last = 4, .classes = 3, .stages = {}});
  const NormStatistics of_mobile = fresh_statistics(mobile);
  EXPECT_REFUSED(mobile(given, key(1)), floats({2, 1, 8, 8}), floats({2, 8, 8}), integers({2, 3, 8, 8}));
  EXPECT_REFUSED(mobile.train(given, key(1), of_mobile), floats({2, 1, 8, 8}), integers({2, 3, 8, 8}));
  EXPECT_REFUSED(mobile.infer(given, of_mobile), floats({2, 1, 8, 8}), integers({2, 3, 8, 8}));
  const VitConfig vit_config{.layers = 1, .width = 8, .heads = 2, .patch = 4, .side = 8, .classes = 3};
  const Vit vit = Vit::init(key(0), vit_config);
  EXPECT_REFUSED(vit(given), floats({2, 1, 8, 8}), floats({2, 3, 12, 8}), floats({2, 3, 10, 10}),
                 floats({2, 8, 8}), integers({2, 3, 8, 8}));
  const ConvNet net = ConvNet::init(key(0), 1, 4, 3);
  EXPECT_REFUSED(net(given), floats({2, 1, 8, 8}), floats({2, 8, 8}), integers({2, 3, 8, 8}));
  const Mlp mlp = Mlp::init(key(0), {4, 3});
  EXPECT_REFUSED(mlp(given), floats({2, 5}), floats({}), integers({2, 4}));
}

TEST(ErrorLines, OfLanguageModels) {
  const GptConfig gpt_config{.layers = 1, .width = 8, .heads = 2, .vocabulary = 10, .context = 6};
  const Gpt gpt = Gpt::init(key(0), gpt_config);
  GptConfig halves = gpt_config;
  halves.reversible = true;
  const Gpt reversible = Gpt::init(key(0), halves);
  const Tensor good = integers({2, 5});
  EXPECT_REFUSED(gpt(given), integers({2, 7}), integers({5}), floats({2, 5}));
  EXPECT_REFUSED(reversible(given), integers({2, 7}), integers({5}), floats({2, 5}));
  EXPECT_REFUSED(gpt.hidden(given), integers({2, 7}), integers({5}), floats({2, 5}));
  EXPECT_REFUSED(gpt.logits(given), floats({2, 5}), floats({}), integers({2, 8}));
  EXPECT_REFUSED(gpt.loss(given, good), integers({2, 7}), integers({3, 5}), floats({2, 5}));
  EXPECT_REFUSED(gpt.loss(good, given), integers({2, 4}), floats({2, 5}));
  EXPECT_REFUSED(gpt.hidden(given, gpt.cache(2, 4)), integers({2, 5}), integers({3, 2}), floats({2, 2}));
  EXPECT_OWN_LINE(gpt.hidden(integers({2, 2}), LanguageCache{}));
  EXPECT_OWN_LINE(gpt.cache(2, 7));
  EXPECT_OWN_LINE(generate(gpt, integers({1, 3}), 9, key(0)));
  EXPECT_OWN_LINE(generate(gpt, floats({1, 3}), 2, key(0)));
  EXPECT_OWN_LINE(generate(gpt, integers({1, 3}), 2, key(0), {.temperature = 1, .top = 11}));
  const LlamaConfig llama_config{
      .layers = 1, .width = 8, .heads = 2, .kv_heads = 2, .hidden = 8, .vocabulary = 10};
  const Llama llama = Llama::init(key(0), llama_config);
  EXPECT_REFUSED(llama(given), integers({5}), floats({2, 5}));
  EXPECT_REFUSED(llama.loss(given, good), integers({3, 5}), floats({2, 5}));
  EXPECT_REFUSED(llama.loss(good, given), integers({2, 4}), floats({2, 5}));
  EXPECT_REFUSED(llama.logits(given), floats({2, 5}), floats({}), integers({2, 8}));
  EXPECT_REFUSED(llama.hidden(given, llama.cache(2, 4)), integers({2, 5}), integers({3, 2}), floats({2, 2}));
  EXPECT_OWN_LINE(llama.cache(-2, 4));
  const MoeConfig moe_config{.layers = 1,
                             .width = 8,
                             .heads = 2,
                             .kv_heads = 2,
                             .hidden = 8,
                             .vocabulary = 10,
                             .experts = 2,
                             .top = 1};
  const Moe moe = Moe::init(key(0), moe_config);
  EXPECT_REFUSED(moe(given), integers({5}), floats({2, 5}));
  EXPECT_REFUSED(moe.loss(good, given), integers({2, 4}), floats({2, 5}));
  const Lstm lstm = Lstm::init(key(0), {.layers = 1, .width = 4, .vocabulary = 10});
  EXPECT_REFUSED(lstm(given), integers({5}), floats({2, 5}));
}

TEST(ErrorLines, OfInit) {
  const Tensor no_key = floats({2});
  EXPECT_OWN_LINE(Linear::init(no_key, 4, 3));
  EXPECT_OWN_LINE(Linear::init(key(0), -4, 3));
  EXPECT_OWN_LINE(Conv2d::init(no_key, 3, 4, 3));
  EXPECT_OWN_LINE(ConvNorm::init(no_key, 3, 4, 3));
  EXPECT_OWN_LINE(UpConv2d::init(no_key, 3, 4, 3));
  EXPECT_OWN_LINE(Convolution::init(no_key, 3, 4, {3}));
  EXPECT_OWN_LINE(Convolution::init(key(0), 3, -4, {3}));
  EXPECT_OWN_LINE(TransposedConvolution::init(no_key, 3, 4, {3}));
  EXPECT_OWN_LINE(Embedding::init(no_key, 3, 4));
  EXPECT_OWN_LINE(LayerNorm::init(-1));
  EXPECT_OWN_LINE(RmsNorm::init(-1));
  EXPECT_OWN_LINE(GroupNorm::init(4, 3));
  EXPECT_OWN_LINE(InstanceNorm::init(-1));
  EXPECT_OWN_LINE(BatchNorm2d::init(-1));
  EXPECT_OWN_LINE(LstmLayer::init(no_key, 3, 4));
  EXPECT_OWN_LINE(LstmLayer::init(key(0), 3, -4));
  EXPECT_OWN_LINE(GruLayer::init(no_key, 3, 4));
  EXPECT_OWN_LINE(Bidirectional<GruLayer>::init(no_key, 3, 4));
  EXPECT_OWN_LINE(SelfAttention::init(no_key, 8));
  EXPECT_OWN_LINE(MultiHeadAttention::init(no_key, 8, 2));
  EXPECT_OWN_LINE(MultiHeadAttention::init(key(0), 8, 3));
  EXPECT_OWN_LINE(RotaryAttention::init(no_key, 8, 2, 2));
  EXPECT_OWN_LINE(SwiGlu::init(no_key, 8, 2));
  EXPECT_OWN_LINE(TransformerBlock::init(no_key, 8));
  EXPECT_OWN_LINE(FeedForward::init(no_key, 8, 8));
  EXPECT_OWN_LINE(EncoderLayer::init(no_key, {}));
  EXPECT_OWN_LINE(DecoderLayer::init(no_key, {}));
  EXPECT_OWN_LINE(TransformerEncoder::init(no_key, {}));
  EXPECT_OWN_LINE(TransformerDecoder::init(no_key, {}));
  EXPECT_OWN_LINE(LlamaBlock::init(no_key, {}));
  EXPECT_OWN_LINE(Llama::init(no_key, {}));
  EXPECT_OWN_LINE(SparseExperts::init(no_key, {}));
  EXPECT_OWN_LINE(SparseExperts::init(key(0), {.experts = 2, .top = 3}));
  EXPECT_OWN_LINE(MoeBlock::init(no_key, {}));
  EXPECT_OWN_LINE(Moe::init(no_key, {}));
  EXPECT_OWN_LINE(Gpt::init(no_key, {}));
  EXPECT_OWN_LINE(Lstm::init(no_key, {}));
  EXPECT_OWN_LINE(Mlp::init(no_key, {2, 3}));
  EXPECT_OWN_LINE(Mlp::init(key(0), {2, -3}));
  EXPECT_OWN_LINE(ResidualBlock::init(no_key, 4));
  EXPECT_OWN_LINE(ConvNet::init(no_key, 1, 4, 3));
  EXPECT_OWN_LINE(ResNetBlock::init(no_key, 4, 4, 1, false));
  EXPECT_OWN_LINE(ResNet::init(no_key, {}));
  EXPECT_OWN_LINE(DoubleConv::init(no_key, 4, 4));
  EXPECT_OWN_LINE(UNet::init(no_key, {}));
  EXPECT_OWN_LINE(Vgg::init(no_key, {}));
  EXPECT_OWN_LINE(Vgg::init(key(0), {.side = 16}));
  EXPECT_OWN_LINE(InvertedResidual::init(no_key, 4, 4, 1, 2));
  EXPECT_OWN_LINE(MobileNet::init(no_key, {}));
  EXPECT_OWN_LINE(Vit::init(no_key, {}));
}

TEST(ErrorLines, OfLossesAndActivations) {
  const Tensor x = floats({2, 3}), other = floats({2, 4}), labels = integers({2});
  EXPECT_OWN_LINE(classification_loss(x, integers({3})));
  EXPECT_OWN_LINE(classification_loss(x, floats({2})));
  EXPECT_OWN_LINE(classification_loss(integers({2, 3}), labels));
  EXPECT_OWN_LINE(classification_loss(x, labels, {.weights = floats({4})}));
  EXPECT_OWN_LINE(nll_loss(x, integers({3})));
  EXPECT_OWN_LINE(nll_loss(x, floats({2})));
  EXPECT_OWN_LINE(binary_loss(x, other));
  EXPECT_OWN_LINE(binary_loss(integers({2}), labels));
  EXPECT_OWN_LINE(binary_logits_loss(x, other));
  EXPECT_OWN_LINE(binary_logits_loss(integers({2}), labels));
  EXPECT_OWN_LINE(squared_error(x, other));
  EXPECT_OWN_LINE(squared_error(x, integers({2, 3})));
  EXPECT_OWN_LINE(absolute_error(x, other));
  EXPECT_OWN_LINE(absolute_error(x, integers({2, 3})));
  EXPECT_OWN_LINE(huber_loss(x, other));
  EXPECT_OWN_LINE(huber_loss(integers({2}), labels));
  EXPECT_OWN_LINE(smooth_absolute_error(x, other));
  EXPECT_OWN_LINE(divergence_loss(x, other));
  EXPECT_OWN_LINE(divergence_loss(integers({2}), labels));
  EXPECT_OWN_LINE(cosine_loss(x, other, labels));
  EXPECT_OWN_LINE(cosine_loss(x, x, integers({3})));
  EXPECT_OWN_LINE(cosine_loss(integers({2, 3}), integers({2, 3}), labels));
  EXPECT_OWN_LINE(ctc_loss(floats({4, 2, 3}), integers({2, 2}), labels, integers({3})));
  EXPECT_OWN_LINE(ctc_loss(floats({4, 2, 3}), floats({2, 2}), labels, labels));
  EXPECT_OWN_LINE(ctc_loss(integers({4, 2, 3}), integers({2, 2}), labels, labels));
  for (const auto activation :
       {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::tanh}) {
    if (activation == Activation::relu) continue;  // of integers, too
    EXPECT_OWN_LINE(activate(labels, activation));
  }
  EXPECT_OWN_LINE(elu(labels));
  EXPECT_OWN_LINE(celu(labels));
  EXPECT_OWN_LINE(selu(labels));
  EXPECT_OWN_LINE(mish(labels));
  EXPECT_OWN_LINE(hardsigmoid(floats({2}) > 0));
  EXPECT_OWN_LINE(hardswish(floats({2}) > 0));
  EXPECT_OWN_LINE(logsigmoid(labels));
  EXPECT_OWN_LINE(softsign(floats({2}) > 0));
  EXPECT_OWN_LINE(tanhshrink(labels));
  EXPECT_OWN_LINE(softshrink(labels));
  EXPECT_OWN_LINE(hardshrink(floats({2}) > 0));
  EXPECT_OWN_LINE(glu(floats({2, 3})));
  EXPECT_OWN_LINE(prelu(floats({2, 3, 4}), floats({5})));
  EXPECT_OWN_LINE(sample(floats({2, 3}), key(0), {.top = 4}));
}

// What only the run of a compiled function finds out: a token or a label that there is none of.
TEST(ErrorLines, OfTokensWhileRunning) {
  const Gpt gpt = Gpt::init(key(0), {.layers = 1, .width = 8, .heads = 2, .vocabulary = 10, .context = 6});
  const Llama llama = Llama::init(
      key(0), {.layers = 1, .width = 8, .heads = 2, .kv_heads = 2, .hidden = 8, .vocabulary = 10});
  const Lstm lstm = Lstm::init(key(0), {.layers = 1, .width = 4, .vocabulary = 10});
  const Embedding table = Embedding::init(key(0), 10, 4, 0);
  const auto expect = [](const auto& model) {
    const Tensor tokens = full({2, 3}, 10, DType::i32);
    for (const auto& run :
         std::vector<std::function<void()>>{[&] { model(tokens); }, [&] { compile(model)(tokens); }}) {
      try {
        run();
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::index_out_of_range);
        EXPECT_THAT(std::string(error.where().file), EndsWith("error_lines_test.cc")) << error.what();
      }
    }
  };
  expect([&](Tensor tokens) { return gpt(tokens); });
  expect([&](Tensor tokens) { return gpt.loss(tokens, tokens); });
  expect([&](Tensor tokens) { return gpt.loss(zeros_like(tokens), tokens); });
  expect([&](Tensor tokens) { return llama(tokens); });
  expect([&](Tensor tokens) { return llama.loss(zeros_like(tokens), tokens); });
  expect([&](Tensor tokens) { return lstm(tokens); });
  expect([&](Tensor tokens) { return table(tokens); });
  expect([&](Tensor tokens) { return classification_loss(ones({2, 3, 4}), tokens); });
  expect([&](Tensor tokens) { return nll_loss(ones({2, 3, 4}), tokens); });
  expect([&](Tensor tokens) { return generate(gpt, tokens, 2, key(0)); });
}

TEST(ErrorLines, AModelSaysWhatItTakes) {
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const Gpt gpt = Gpt::init(key(0), {.layers = 1, .width = 8, .heads = 2, .vocabulary = 10, .context = 6});
  EXPECT_THAT(message([&] { gpt(integers({2, 7})); }), HasSubstr("tokens (B, T), integers, T at most 6"));
  const VitConfig odd{.layers = 1, .width = 8, .heads = 2, .patch = 4, .side = 10, .classes = 3};
  EXPECT_THAT(message([&] { Vit::init(key(0), odd); }), HasSubstr("side is a multiple of the patches'"));
  VitConfig even = odd;
  even.side = 8;
  const Vit vit = Vit::init(key(0), even);
  EXPECT_THAT(message([&] { vit(ones({1, 3, 10, 10})); }), HasSubstr("H and W multiples of 4"));
  EXPECT_THAT(message([&] { vit(ones({1, 3, 12, 12})); }), HasSubstr("the 4 patches that it has positions"));
  EXPECT_EQ(vit(ones({1, 3, 8, 8})).shape(), (Shape{1, 3}));
  EXPECT_EQ(vit(ones({1, 3, 4, 16})).shape(), (Shape{1, 3})) << "as many patches, another form";
}

}  // namespace
}  // namespace tidemark::nn
