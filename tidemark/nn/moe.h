// A sparse mixture of experts in the style of Mixtral (Jiang et al. 2024): a Llama whose feed-forwards are
// experts, of which each token visits the `top` best. Routing has a fixed capacity (Lepikhin et al. 2021), so
// that all shapes are known when the graph is made:
//
//   each expert takes the first `capacity` tokens sent to it, first choices before second ones; what comes
//   later is
//   dropped (the residual carries it past the layer). Tokens are gathered into (experts, capacity, width),
//   the experts
//   run as one batched product, and the results are gathered back and weighed by the router.
#pragma once
#include <vector>

#include "tidemark/nn/llama.h"

namespace tidemark::nn {

struct MoeConfig {
  std::int64_t layers = 12, width = 768, heads = 12, kv_heads = 12;
  std::int64_t hidden = 2048, vocabulary = 32000;
  std::int64_t experts = 8, top = 2;
  double capacity = 1.25;  // times an even share of the tokens
};

struct SparseExperts {
  Tensor router;    // (width, experts)
  Tensor gate, up;  // (experts, width, hidden)
  Tensor down;      // (experts, hidden, width)
  std::int64_t top = 1;
  double capacity = 1;
  TM_FIELDS(SparseExperts, router, gate, up, down, top, capacity)

  struct Result {
    Tensor y;        // (tokens, width)
    Tensor balance;  // f32, 1 when all experts get as many tokens (Fedus et al. 2022, eq. 4, without alpha)
  };

  static SparseExperts init(const Tensor& key, const MoeConfig& config,
                            SourceLine where = std::source_location::current());
  Result operator()(const Operand& x) const;  // (tokens, width)
};

struct MoeBlock {
  RmsNorm norm1, norm2;
  RotaryAttention attention;
  SparseExperts experts;
  TM_FIELDS(MoeBlock, norm1, norm2, attention, experts)

  static MoeBlock init(const Tensor& key, const MoeConfig& config,
                       SourceLine where = std::source_location::current());
  SparseExperts::Result operator()(const Operand& x, const Rotary& rotary) const;  // (B, T, width)
};

struct Moe {
  Tensor token_table;  // (vocabulary, width)
  std::vector<MoeBlock> blocks;
  RmsNorm norm;
  Tensor head;  // (width, vocabulary)
  TM_FIELDS(Moe, token_table, blocks, norm, head)

  struct Result {
    Tensor y;        // (B, T, vocabulary), or of `hidden` (B, T, width)
    Tensor balance;  // mean over the layers
  };

  static Moe init(const Tensor& key, const MoeConfig& config,
                  SourceLine where = std::source_location::current());
  Result operator()(const Operand& tokens) const;  // (B, T) → logits
  Result hidden(const Operand& tokens) const;      // what they are made of
  // The mean cross entropy of the next tokens (B, T), without the logits, and a little of the balance, which
  // keeps the router from sending all tokens to one expert.
  Tensor loss(const Operand& tokens, const Tensor& next) const;
};

}  // namespace tidemark::nn
