// Writing with a language model: read the prompt, then token by token what the model holds likely, each read
// with a cache of what came before. The whole of it is one program: a `scan` whose body is traced once.
#pragma once
#include <optional>

#include "tidemark/nn/key_value_cache.h"
#include "tidemark/trace/control_flow.h"

namespace tidemark::nn {

struct SamplingOptions {
  double temperature = 0;  // 0: always the likeliest; else logits are divided by it and a token is drawn
  std::int64_t top = 0;    // drawn from so many of the likeliest; 0: from all
  std::optional<std::int64_t> end = {};  // what follows this token is this token again
};

// One token for each row of logits (B, vocabulary): i64, (B). The key is read where tokens are drawn.
Tensor sample(const Operand& logits, const Tensor& key, const SamplingOptions& options = {});

// Between two tokens.
struct WritingState {
  LanguageCache cache;
  Tensor token, key;  // (B), the last one written and not yet read; for the tokens to come
  TM_FIELDS(WritingState, cache, token, key)
};

// Throws Error unless a prompt (B, T) can be read and `count` tokens be written.
void check_generation(const Operand& prompt, std::int64_t count);

// The `count` tokens (B, count) that the model writes behind the prompt (B, T), in the prompt's dtype. The
// model is one with cache, hidden and logits, such as Gpt and Llama.
template <class Model>
Tensor generate(const Model& model, const Operand& prompt, std::int64_t count, const Tensor& key,
                const SamplingOptions& options = {}) {
  check_generation(prompt, count);
  const Tensor& given = prompt.tensor();
  const std::int64_t batch = given.size(0), length = given.size(1);
  // To a model of ours the line of the prompt goes along; one of the user's has lines of its own.
  const auto said = [&](const Tensor& t) {
    if constexpr (requires(const Operand& at, const LanguageCache& c) { model.hidden(at, c); }) {
      return Operand(t, prompt.where());
    } else {
      return t;
    }
  };
  const auto next_token = [&](const Tensor& hidden, const Tensor& last, const Tensor& own_key) {
    const Tensor logits = model.logits(said(hidden.at(all, -1)));
    const Tensor token = cast(sample({logits, prompt.where()}, own_key, options), given.dtype());
    if (!options.end) return token;
    const Tensor ended = last == *options.end;
    return select(ended, last, token);
  };
  const auto write = [&](const WritingState& before, const Tensor&) {
    const std::vector<Tensor> keys = split_key(before.key, 2);
    const auto [hidden, cache] = model.hidden(said(reshape(before.token, {batch, 1})), before.cache);
    const WritingState after{cache, next_token(hidden, before.token, keys[0]), keys[1]};
    return std::pair(after, after.token);
  };
  // The last token that is written is not read.
  const std::vector<Tensor> keys = split_key(key, 2);
  const std::int64_t read = length + count - 1;
  const auto empty = [&] {
    if constexpr (requires { model.cache(batch, read, prompt.where()); }) {
      return model.cache(batch, read, prompt.where());  // one that is too small is the caller's mistake
    } else {
      return model.cache(batch, read);
    }
  };
  const auto [hidden, cache] = model.hidden(said(given), empty());
  const WritingState start{cache, next_token(hidden, given.at(all, -1), keys[0]), keys[1]};
  const auto [end, written] = scan(write, start, arange(count - 1));
  return concat({reshape(start.token, {batch, 1}), transpose(written)}, 1);
}

}  // namespace tidemark::nn
