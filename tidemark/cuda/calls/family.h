// Ops whose kernels are alike, and what the planner knows of those.
#pragma once
#include <span>
#include <string_view>

#include "tidemark/cuda/kernel_text.h"
#include "tidemark/ir/op.h"

namespace tidemark::cuda {

struct CallFamily {
  KernelText (*write)(const Call& call, std::string_view name) = nullptr;
  std::int64_t (*scratch)(const Call& call) = nullptr;                         // bytes; nullptr: none
  bool (*can)(const Call& call) = nullptr;                                     // nullptr: every call
  bool (*takes_strides)(const Call& call, int operand) = nullptr;              // nullptr: dense operands only
  bool (*may_overwrite)(const Call& call, int result, int operand) = nullptr;  // nullptr: never
};

struct CallRow {
  const Op* op;
  CallFamily family;
};

std::span<const CallRow> row_calls();
std::span<const CallRow> norm_column_calls();
std::span<const CallRow> indexing_calls();
std::span<const CallRow> movement_calls();
std::span<const CallRow> random_calls();
std::span<const CallRow> attention_calls();  // attention_source.cc
std::span<const CallRow> pool_calls();
std::span<const CallRow> convolution_calls();
std::span<const CallRow> order_calls();
std::span<const CallRow> fp8_calls();

}  // namespace tidemark::cuda
