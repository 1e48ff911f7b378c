// The pre-norm transformer block that GPT-2 and ViT are made of: attention, then a feed-forward of four times
// the width.
#pragma once
#include <utility>

#include "tidemark/nn/activations.h"
#include "tidemark/nn/layers.h"

namespace tidemark::nn {

struct TransformerBlock {
  LayerNorm norm1, norm2;
  SelfAttention attention;
  Linear up, down;
  Activation activation = Activation::gelu;
  TM_FIELDS(TransformerBlock, norm1, norm2, attention, up, down, activation)

  static TransformerBlock init(const Tensor& key, std::int64_t width,
                               Activation activation = Activation::gelu,
                               SourceLine where = std::source_location::current());
  // (B, T, width). Dropped: probabilities, and what each half adds to x.
  Tensor operator()(const Operand& x, std::int64_t heads, bool causal = true,
                    const Dropout& dropout = {}) const;
  // Reversible (trace/reversible.h): what attention makes of the one half is added to the other, and what the
  // feed-forward makes of that to the one (Kitaev et al., "Reformer", 2020). Halves are f32 or f64, whatever
  // the parameters are.
  std::pair<Tensor, Tensor> operator()(const Operand& x1, const Tensor& x2, std::int64_t heads,
                                       bool causal = true, const Dropout& dropout = {}) const;
  // Of tokens from `position` on behind those in the cache.
  std::pair<Tensor, KeyValueCache> operator()(const Operand& x, std::int64_t heads,
                                              const KeyValueCache& cache, const Tensor& position) const;

 private:
  Tensor attend(const Tensor& x, std::int64_t heads, bool causal, const Dropout& dropout) const;
  Tensor feed(const Tensor& x, const Dropout& dropout) const;
};

}  // namespace tidemark::nn
