#include "tidemark/ops/elementwise_facts.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"

namespace tidemark {

Shape broadcast_shapes(const Call& call, const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  const int offset = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    const std::int64_t m = longer[offset + i], n = shorter[i];
    if (m != n && m != 1 && n != 1) {
      fail(ErrorCode::shape_mismatch,
           {.what = fmt::format("{}: shapes {} and {} do not broadcast", call.op->name, to_string(a),
                                to_string(b)),
            .expected = "equal sizes, or 1, in every dimension counted from the last",
            .where = call.where,
            .help =
                fmt::format("sizes {} and {} meet in dimension {} from the end", m, n, shorter.rank() - i)});
    }
    if (m == 1) out[offset + i] = n;
  }
  return out;
}

bool elementwise_in_place(const Call& call, int result, int operand) {
  const Type& in = call.in[static_cast<std::size_t>(operand)];
  const Type& out = call.out[static_cast<std::size_t>(result)];
  return in.shape == out.shape && size_of(in.dtype) == size_of(out.dtype) && call.is_dense_operand(operand);
}

Cost elementwise_cost(const Call& call, double flops) {
  Cost cost{.bytes = bytes_moved(call)};
  for (const Type& type : call.out) cost.flops += flops * static_cast<double>(type.count());
  return cost;
}

}  // namespace tidemark
