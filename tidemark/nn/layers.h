// Layers as plain structs of parameters (trees) and plain functions over them. `init` draws parameters from a
// key.
#pragma once
#include "tidemark/trace/functions.h"
#include "tidemark/trace/model_functions.h"
#include "tidemark/trace/tree.h"

namespace tidemark::nn {

struct Linear {
  Tensor weight;  // (in, out)
  Tensor bias;    // (out)
  TM_FIELDS(Linear, weight, bias)

  static Linear init(const Tensor& key, std::int64_t in, std::int64_t out);
  Tensor operator()(const Operand& x) const;  // (…, in) → (…, out)
};

struct LayerNorm {
  Tensor gain, bias;  // (width)
  TM_FIELDS(LayerNorm, gain, bias)

  static LayerNorm init(std::int64_t width);
  Tensor operator()(const Operand& x) const;  // over the last dimension
};

struct Conv2d {
  Tensor weight;  // (out, in/groups, k, k)
  Tensor bias;    // (out)
  TM_FIELDS(Conv2d, weight, bias)

  static Conv2d init(const Tensor& key, std::int64_t in, std::int64_t out, std::int64_t kernel);
  Tensor operator()(const Operand& x,
                    std::int64_t stride = 1) const;  // (N, in, H, W), padding keeps H and W / stride
};

struct BatchNorm2d {
  Tensor gain, bias;  // (channels)
  TM_FIELDS(BatchNorm2d, gain, bias)

  static BatchNorm2d init(std::int64_t channels);
  Tensor operator()(const Operand& x) const;  // (N, C, H, W), statistics of the batch
};

// A convolution without bias, then batch normalisation. The batch's mean and variance are not averaged over
// steps: running averages are for inference.
struct ConvNorm {
  Tensor weight;  // (out, in/groups, k, k)
  BatchNorm2d norm;
  std::int64_t stride = 1;
  TM_FIELDS(ConvNorm, weight, norm, stride)

  // groups = in = out: each channel for itself.
  static ConvNorm init(const Tensor& key, std::int64_t in, std::int64_t out, std::int64_t kernel,
                       std::int64_t stride = 1, std::int64_t groups = 1);
  Tensor operator()(const Operand& x) const;  // (N, in, H, W) → (N, out, ⌈H/stride⌉, ⌈W/stride⌉)
};

// The transposed convolution whose windows do not overlap: every pixel becomes k x k.
struct UpConv2d {
  Tensor weight;  // (in, out, k, k)
  Tensor bias;    // (out)
  TM_FIELDS(UpConv2d, weight, bias)

  static UpConv2d init(const Tensor& key, std::int64_t in, std::int64_t out, std::int64_t kernel);
  Tensor operator()(const Operand& x) const;  // (N, in, H, W) → (N, out, kH, kW)
};

// Drops at a rate, by a key; each use takes a key of its own by its number. As it is by default, it drops
// nothing: models in use, not in training. The key is data: hand a new one to every step.
struct Dropout {
  double rate = 0;
  Tensor key;
  TM_FIELDS(Dropout, rate, key)

  Dropout use(std::int64_t number) const;
  Tensor operator()(const Tensor& x) const;
};

struct SelfAttention {
  Linear qkv, out;  // (width, 3 width), (width, width)
  TM_FIELDS(SelfAttention, qkv, out)

  static SelfAttention init(const Tensor& key, std::int64_t width);
  // (B, T, width); probabilities are dropped.
  Tensor operator()(const Tensor& x, std::int64_t heads, bool causal, const Dropout& dropout = {}) const;
};

}  // namespace tidemark::nn
