#include "tidemark/cuda/call_source.h"

#include <unordered_map>

#include "tidemark/base/check.h"
#include "tidemark/cuda/calls/family.h"

namespace tidemark::cuda {
namespace {

const CallFamily* find_family(const Op& op) {
  static const auto* const table = [] {
    auto* const rows = new std::unordered_map<const Op*, CallFamily>;
    for (const std::span<const CallRow> family :
         {row_calls(), norm_column_calls(), indexing_calls(), movement_calls(), random_calls(),
          attention_calls(), pool_calls(), convolution_calls(), order_calls(), fp8_calls()}) {
      for (const CallRow& row : family) rows->emplace(row.op, row.family);
    }
    return rows;
  }();
  const auto found = table->find(&op);
  return found == table->end() ? nullptr : &found->second;
}

}  // namespace

bool has_call_kernels(const Op& op) { return find_family(op) != nullptr; }

bool has_call_kernel(const Call& call) {
  const CallFamily* const family = find_family(*call.op);
  return family && (!family->can || family->can(call));
}

KernelText write_call(const Call& call, std::string_view name) {
  const CallFamily* const family = find_family(*call.op);
  TM_CHECK(family, "{} has no kernel for CUDA", call.op->name);
  KernelText text = family->write(call, name);
  text.scratch_bytes = call_scratch(call);
  return text;
}

std::int64_t call_scratch(const Call& call) {
  const CallFamily* const family = find_family(*call.op);
  return family && family->scratch ? family->scratch(call) : 0;
}

bool call_takes_strides(const Call& call, int operand) {
  const CallFamily* const family = find_family(*call.op);
  return family && family->takes_strides && family->takes_strides(call, operand);
}

bool call_may_overwrite(const Call& call, int result, int operand) {
  const CallFamily* const family = find_family(*call.op);
  return family && family->may_overwrite && family->may_overwrite(call, result, operand);
}

}  // namespace tidemark::cuda
