// GPT-2 (Radford et al. 2019): learned positions, pre-norm blocks, the output tied to the token table.
// Its blocks may be reversible: memory then need not grow with their number.
// Dropout, where it is asked for, of embeddings, probabilities and what each half of a block adds.
#pragma once
#include <vector>

#include "tidemark/nn/transformer.h"
#include "tidemark/trace/name_pattern.h"

namespace tidemark::nn {

struct GptConfig {  // the smallest published one, 124 million parameters
  std::int64_t layers = 12, width = 768, heads = 12;
  std::int64_t vocabulary = 50257, context = 1024;
  bool reversible = false;                   // two halves of this width, joined at the end
  Activation activation = Activation::gelu;  // gelu_tanh: what the published weights were trained with
};

struct Gpt {
  Tensor token_table;     // (vocabulary, width), tied with the output
  Tensor position_table;  // (context, width)
  std::vector<TransformerBlock> blocks;
  LayerNorm norm;
  std::int64_t heads = 1;
  bool reversible = false;
  TM_FIELDS(Gpt, token_table, position_table, blocks, norm, heads, reversible)

  static Gpt init(const Tensor& key, const GptConfig& config,
                  SourceLine where = std::source_location::current());
  // (B, T ≤ context) → logits (B, T, vocabulary)
  Tensor operator()(const Operand& tokens, const Dropout& dropout = {}) const;
  // What the logits are made of: (B, T, width).
  Tensor hidden(const Operand& tokens, const Dropout& dropout = {}) const;
  Tensor logits(const Operand& hidden) const;  // (…, width) → (…, vocabulary)

  // One token at a time, or some: a cache for `batch` sequences of at most `capacity` tokens, and what
  // hidden(…) gives for tokens (B, T) behind those read before, beside the cache that knows them. Reading
  // beyond the capacity is an error while running. Not for reversible models.
  LanguageCache cache(std::int64_t batch, SourceLine where = std::source_location::current()) const {
    return cache(batch, position_table.size(0), where);
  }
  LanguageCache cache(std::int64_t batch, std::int64_t capacity,
                      SourceLine where = std::source_location::current()) const;
  std::pair<Tensor, LanguageCache> hidden(const Operand& tokens, const LanguageCache& before) const;

  // The mean cross entropy of the next tokens (B, T), without the logits.
  Tensor loss(const Operand& tokens, const Tensor& next, const Dropout& dropout = {}) const;
};

// For LoadOptions::names: the names that GPT-2's published weights have in files of Hugging Face, whose
// matrices lie as ours do. `tree` stands before the names of the tree ("body."), `file` before those of the
// file ("transformer."). The model's activation is gelu_tanh there.
std::vector<NamePattern> gpt2_names(std::string_view tree = "", std::string_view file = "");

}  // namespace tidemark::nn
