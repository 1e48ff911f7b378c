// Layers as plain structs of parameters (trees) and plain functions over them. `init` draws parameters from a
// key.
#pragma once
#include "tidemark/nn/batch_norm.h"
#include "tidemark/nn/key_value_cache.h"
#include "tidemark/nn/norms.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/model_functions.h"
#include "tidemark/trace/tree.h"

namespace tidemark::nn {

struct Linear {
  Tensor weight;  // (in, out)
  Tensor bias;    // (out)
  TM_FIELDS(Linear, weight, bias)

  static Linear init(const Tensor& key, std::int64_t in, std::int64_t out,
                     SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x) const;  // (…, in) → (…, out)
};

struct Conv2d {
  Tensor weight;  // (out, in, k, k)
  Tensor bias;    // (out)
  TM_FIELDS(Conv2d, weight, bias)

  static Conv2d init(const Tensor& key, std::int64_t in, std::int64_t out, std::int64_t kernel,
                     SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x,
                    std::int64_t stride = 1) const;  // (N, in, H, W), padding keeps H and W / stride
};

// A convolution without bias, then batch normalisation.
struct ConvNorm {
  Tensor weight;  // (out, in/groups, k, k)
  BatchNorm2d norm;
  std::int64_t stride = 1, groups = 1;
  TM_FIELDS(ConvNorm, weight, norm, stride, groups)

  // groups = in = out: each channel for itself.
  static ConvNorm init(const Tensor& key, std::int64_t in, std::int64_t out, std::int64_t kernel,
                       std::int64_t stride = 1, std::int64_t groups = 1,
                       SourceLine where = std::source_location::current());
  // (N, in, H, W) → (N, out, ⌈H/stride⌉, ⌈W/stride⌉)
  Tensor operator()(const Operand& x) const;
  Tensor operator()(const Operand& x, NormPass& pass) const;
};

// The transposed convolution whose windows do not overlap: every pixel becomes k x k.
struct UpConv2d {
  Tensor weight;  // (in, out, k, k)
  Tensor bias;    // (out)
  TM_FIELDS(UpConv2d, weight, bias)

  static UpConv2d init(const Tensor& key, std::int64_t in, std::int64_t out, std::int64_t kernel,
                       SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x) const;  // (N, in, H, W) → (N, out, kH, kW)
};

// Drops at a rate, by a key; each use takes a key of its own by its number. As it is by default, it drops
// nothing: models in use, not in training. The key is data: hand a new one to every step.
struct Dropout {
  double rate = 0;
  Tensor key;
  TM_FIELDS(Dropout, rate, key)

  Dropout use(std::int64_t number, SourceLine where = std::source_location::current()) const;
  Tensor operator()(const Operand& x) const;
};

struct SelfAttention {
  Linear qkv, out;  // (width, 3 width), (width, width)
  TM_FIELDS(SelfAttention, qkv, out)

  static SelfAttention init(const Tensor& key, std::int64_t width,
                            SourceLine where = std::source_location::current());
  // (B, T, width); probabilities are dropped.
  Tensor operator()(const Operand& x, std::int64_t heads, bool causal, const Dropout& dropout = {}) const;
  // Causal, of tokens from `position` on behind those in the cache.
  std::pair<Tensor, KeyValueCache> operator()(const Operand& x, std::int64_t heads,
                                              const KeyValueCache& cache, const Tensor& position) const;

 private:
  std::vector<Tensor> queries_keys_values(const Operand& x, std::int64_t heads) const;
  Tensor merged(const Tensor& mixed) const;
};

}  // namespace tidemark::nn
