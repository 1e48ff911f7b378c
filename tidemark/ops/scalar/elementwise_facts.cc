#include "tidemark/ops/scalar/elementwise_facts.h"

namespace tidemark {

bool elementwise_in_place(const Call& call, int result, int operand) {
  const Type& in = call.in[static_cast<std::size_t>(operand)];
  const Type& out = call.out[static_cast<std::size_t>(result)];
  return in.shape == out.shape && size_of(in.dtype) == size_of(out.dtype) && call.is_dense_operand(operand);
}

namespace {

// Whether the operand is one element repeated along dimension `d` of the result, counted from the last.
bool is_repeated(const Shape& operand, const Shape& result, int d) {
  const int i = operand.rank() - 1 - d;
  return i < 0 || (operand[i] == 1 && result[result.rank() - 1 - d] != 1);
}

// Elements of the result that a kernel takes in one go: trailing dimensions along which every operand either
// is repeated or moves on, all the same way.
double inner_run(const Call& call, const Shape& result) {
  double run = 1;
  for (int d = 0; d < result.rank(); ++d) {
    for (const Type& in : call.in) {
      if (is_repeated(in.shape, result, d) != is_repeated(in.shape, result, 0)) return run;
    }
    run *= static_cast<double>(result[result.rank() - 1 - d]);
  }
  return run;
}

// Reads that jump from element to element take a line of the cache each.
bool is_scattered(const Call& call, std::size_t operand) {
  if (call.in_strides.empty() || call.in[operand].rank() == 0) return false;
  const Strides& strides = call.in_strides[operand];
  const std::int64_t step = strides[strides.rank() - 1];
  return call.in[operand].shape.back() > 1 && step != 0 && step != 1;
}

// 16-bit formats are widened and rounded, f16 in more steps than bf16.
double conversion_flops(const Call& call) {
  for (const Type& type : call.in) {
    if (type.dtype == DType::bf16) return 4;
    if (type.dtype == DType::f16) return 12;
  }
  return 0;
}

}  // namespace

Cost elementwise_cost(const Call& call, double flops) {
  constexpr double per_run = 150, per_scattered = 30;  // as measured, in additions
  Cost cost{.bytes = bytes_moved(call)};
  for (const Type& type : call.out) {
    const double count = static_cast<double>(type.count());
    cost.flops += (flops + conversion_flops(call)) * count;
    const double run = inner_run(call, type.shape);
    if (run < count) cost.flops += per_run * count / run;
  }
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (is_scattered(call, i)) cost.flops += per_scattered * static_cast<double>(call.in[i].count());
  }
  return cost;
}

}  // namespace tidemark
