// Normalisations without a memory: of the last dimension, of groups of channels, of each channel. That of the
// batch is in batch_norm.h.
#pragma once
#include "tidemark/trace/functions.h"
#include "tidemark/trace/model_functions.h"
#include "tidemark/trace/tree.h"

namespace tidemark::nn {

struct LayerNorm {
  Tensor gain, bias;  // (width)
  TM_FIELDS(LayerNorm, gain, bias)

  static LayerNorm init(std::int64_t width, SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x) const;  // over the last dimension
};

struct RmsNorm {
  Tensor gain;  // (width)
  TM_FIELDS(RmsNorm, gain)

  static RmsNorm init(std::int64_t width, SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x) const;  // over the last dimension
};

struct GroupNorm {
  Tensor gain, bias;  // (channels)
  std::int64_t groups = 1;
  TM_FIELDS(GroupNorm, gain, bias, groups)

  static GroupNorm init(std::int64_t channels, std::int64_t groups,
                        SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x) const;  // (N, C, …): each group of an example's channels
};

struct InstanceNorm {
  Tensor gain, bias;  // (channels)
  TM_FIELDS(InstanceNorm, gain, bias)

  static InstanceNorm init(std::int64_t channels, SourceLine where = std::source_location::current());
  Tensor operator()(const Operand& x) const;  // (N, C, …): each channel of an example
};

}  // namespace tidemark::nn
