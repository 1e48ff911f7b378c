#include "tidemark/nn/generate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/tiny_models.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace tidemark::nn {
namespace {

const GptConfig gpt_config{.layers = 2, .width = 16, .heads = 4, .vocabulary = 23, .context = 12};
const LlamaConfig llama_config{
    .layers = 2, .width = 16, .heads = 4, .kv_heads = 2, .hidden = 24, .vocabulary = 23};

Gpt little_gpt() { return Gpt::init(key(0), gpt_config); }
Llama little_llama() { return Llama::init(key(0), llama_config); }

double distance(const Tensor& x, const Tensor& y) { return max(abs(x - y)).item(); }

// Reads 5 tokens, then 3, then one at a time, by one compiled function.
template <class Model>
void expect_cache_to_agree(const Model& model) {
  const Tensor tokens = tiny::random_labels(3, {2, 12}, 23), full = model(tokens);
  const auto read = compile([](const Model& m, const Tensor& part, const LanguageCache& before) {
    auto [hidden, after] = m.hidden(part, before);
    return std::pair(m.logits(hidden), after);
  });
  LanguageCache cache = model.cache(2, 12);
  const std::vector<std::int64_t> ends = {5, 8, 9, 10, 11, 12};
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    const auto [logits, after] = read(model, tokens.at(all, Range{begin, end}), cache);
    EXPECT_LT(distance(logits, full.at(all, Range{begin, end})), 1e-5) << begin;
    cache = after;
    begin = end;
  }
  EXPECT_EQ(cache.position.item(), 12);
  EXPECT_EQ(testing::code_of([&] {
              read(model, tokens.at(all, Range{0, 1}), cache);
            }),
            ErrorCode::index_out_of_range);
}
TEST(LanguageCache, GivesWhatReadingAllAgainGives) {
  expect_cache_to_agree(little_gpt());
  expect_cache_to_agree(little_llama());
}

TEST(LanguageCache, ServesEveryPositionByOneProgram) {
  const Gpt gpt = little_gpt();
  int traced = 0;
  const auto read = compile([&](const Gpt& m, const Tensor& token, const LanguageCache& before) {
    ++traced;
    return m.hidden(token, before);
  });
  LanguageCache cache = gpt.cache(1);
  for (int i = 0; i < 12; ++i) cache = read(gpt, tensor(std::vector<std::int32_t>{i}, {1, 1}), cache).second;
  EXPECT_EQ(traced, 1);
}

TEST(LanguageCache, ForgetsWhatIsWrittenOver) {
  const Gpt gpt = little_gpt();
  const Tensor tokens = tiny::random_labels(3, {1, 6}, 23), other = tiny::random_labels(4, {1, 6}, 23);
  const LanguageCache cache = gpt.hidden(other, gpt.cache(1)).second;
  const LanguageCache rewound{cache.blocks, scalar(0, DType::i64)};
  EXPECT_LT(distance(gpt.hidden(tokens, rewound).first, gpt.hidden(tokens)), 1e-5);
}

// By reading everything again for each token.
template <class Model>
Tensor written_slowly(const Model& model, Tensor tokens, int count) {
  const std::int64_t length = tokens.size(1);
  for (int i = 0; i < count; ++i) {
    const Tensor next = argmax(model(tokens).at(all, -1), -1);
    tokens = concat({tokens, cast(reshape(next, {tokens.size(0), 1}), tokens.dtype())}, 1);
  }
  return tokens.at(all, Range{length, to_the_end});
}
TEST(Generate, WritesTheLikeliestTokens) {
  const Tensor prompt = tiny::random_labels(5, {3, 4}, 23);
  const Gpt gpt = little_gpt();
  const Llama llama = little_llama();
  EXPECT_EQ(generate(gpt, prompt, 8, key(1)).to_vector(), written_slowly(gpt, prompt, 8).to_vector());
  EXPECT_EQ(generate(llama, prompt, 9, key(1)).to_vector(), written_slowly(llama, prompt, 9).to_vector());
  EXPECT_EQ(generate(gpt, prompt, 1, key(1)).to_vector(), written_slowly(gpt, prompt, 1).to_vector());
  const auto compiled = compile(
      [](const Gpt& m, const Tensor& text, const Tensor& seed) { return generate(m, text, 8, seed); });
  EXPECT_EQ(compiled(gpt, prompt, key(1)).to_vector(), written_slowly(gpt, prompt, 8).to_vector());
  EXPECT_EQ(generate(gpt, prompt, 2, key(1)).dtype(), DType::i32);
}

TEST(Generate, DrawsTheSameByTheSameKey) {
  const Tensor prompt = tiny::random_labels(5, {8, 2}, 23);
  const Gpt gpt = little_gpt();
  const SamplingOptions hot{.temperature = 5};
  const Tensor one = generate(gpt, prompt, 6, key(1), hot);
  EXPECT_EQ(one.to_vector(), generate(gpt, prompt, 6, key(1), hot).to_vector());
  EXPECT_NE(one.to_vector(), generate(gpt, prompt, 6, key(2), hot).to_vector());
  const SamplingOptions sure{.temperature = 5, .top = 1};
  EXPECT_EQ(generate(gpt, prompt, 6, key(1), sure).to_vector(), generate(gpt, prompt, 6, key(1)).to_vector());
}

TEST(Generate, GoesOnWithTheEndBehindTheEnd) {
  const Tensor prompt = tiny::random_labels(5, {8, 2}, 23);
  const Gpt gpt = little_gpt();
  const Tensor tokens = generate(gpt, prompt, 10, key(1), {.temperature = 20, .end = 7});
  const std::vector<double> t = tokens.to_vector();
  int ended = 0;
  for (int row = 0; row < 8; ++row) {
    for (int i = 1; i < 10; ++i) {
      if (t[row * 10 + i - 1] != 7) continue;
      EXPECT_EQ(t[row * 10 + i], 7);
      ++ended;
    }
  }
  EXPECT_GT(ended, 0);
}

TEST(Sample, DrawsAsOftenAsProbabilitiesSay) {
  constexpr std::int64_t draws = 20000;
  const Tensor logits = broadcast(tensor({0.0f, 1.0f, 2.0f, -50.0f}), {draws, 4});
  const auto share = [&](const SamplingOptions& options, int token) {
    return mean(cast(sample(logits, key(3), options) == token, DType::f64)).item();
  };
  const std::vector<double> expected = softmax(tensor({0.0, 0.5, 1.0, -25.0})).to_vector();
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(share({.temperature = 2}, i), expected[i], 0.015);
  EXPECT_EQ(share({.temperature = 2, .top = 2}, 0), 0);
  EXPECT_NEAR(share({.temperature = 1, .top = 2}, 2), 1 / (1 + std::exp(-1.0)), 0.015);
  EXPECT_EQ(share({}, 2), 1);
}

TEST(Generate, TellsWhatIsWrong) {
  const Gpt gpt = little_gpt();
  const Tensor prompt = zeros({1, 4}, DType::i32);
  EXPECT_EQ(testing::code_of([&] { generate(gpt, zeros({4}, DType::i32), 3, key(1)); }),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] {
              generate(gpt, zeros({1, 0}, DType::i32), 3, key(1));
            }),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(testing::code_of([&] { generate(gpt, prompt, 0, key(1)); }), ErrorCode::bad_attribute);
  EXPECT_EQ(testing::code_of([&] { generate(gpt, prompt, 10, key(1)); }), ErrorCode::bad_attribute);
  EXPECT_EQ(testing::code_of([&] {
              sample(ones({2, 4}), key(1), {.temperature = -1});
            }),
            ErrorCode::bad_attribute);
  EXPECT_EQ(testing::code_of([&] {
              sample(ones({2, 4}), key(1), {.temperature = 1, .top = 5});
            }),
            ErrorCode::bad_attribute);
  const Gpt reversible = Gpt::init(
      key(0), {.layers = 1, .width = 8, .heads = 2, .vocabulary = 5, .context = 4, .reversible = true});
  EXPECT_EQ(testing::code_of([&] { reversible.cache(1); }), ErrorCode::bad_attribute);
  std::uint32_t line = 0;
  try {
    line = __LINE__, generate(reversible, zeros({1, 2}, DType::i32), 2, key(0));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_attribute);
    EXPECT_EQ(error.parts().where.line, line) << error.what();
  }
}

}  // namespace
}  // namespace tidemark::nn
