#include "tidemark/ops/elementwise_facts.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

std::string names_of(DTypeSet set) {
  std::string names;
  for (int t = 0; t < dtype_count; ++t) {
    const auto dtype = static_cast<DType>(t);
    if (!set.contains(dtype)) continue;
    if (!names.empty()) names += ", ";
    names += name_of(dtype);
  }
  return names;
}

}  // namespace

void expect_operands(const Call& call, std::size_t count) {
  if (call.in.size() == count) return;
  fail(ErrorCode::wrong_operand_count,
       {.what = fmt::format("{}: {} operands given", call.op->name, call.in.size()),
        .expected = fmt::format("{} operand{}", count, count == 1 ? "" : "s"),
        .where = call.where});
}

void expect_dtype(const Call& call, std::size_t i, DTypeSet set) {
  const DType dtype = call.in[i].dtype;
  if (set.contains(dtype)) return;
  fail(ErrorCode::dtype_mismatch,
       {.what = fmt::format("{}: operand {} is {}", call.op->name, i, name_of(dtype)),
        .expected = names_of(set),
        .where = call.where,
        .help = "cast the operand first"});
}

void expect_same_dtype(const Call& call, std::size_t i, std::size_t j) {
  const DType a = call.in[i].dtype, b = call.in[j].dtype;
  if (a == b) return;
  fail(ErrorCode::dtype_mismatch, {.what = fmt::format("{}: operands {} and {} are {} and {}", call.op->name,
                                                       i, j, name_of(a), name_of(b)),
                                   .expected = "operands of one dtype; nothing is converted silently",
                                   .where = call.where,
                                   .help = fmt::format("cast one of them: cast(x, DType::{})", name_of(a))});
}

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

bool takes_any_strides(const Call&, int) { return true; }

Cost elementwise_cost(const Call& call, double flops) {
  Cost cost;
  for (const Type& type : call.in) cost.bytes += static_cast<double>(type.bytes());
  for (const Type& type : call.out) {
    cost.bytes += static_cast<double>(type.bytes());
    cost.flops += flops * static_cast<double>(type.count());
  }
  return cost;
}

}  // namespace tidemark
