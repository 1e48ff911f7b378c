#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/movement/movement.h"

namespace tidemark {
namespace {

[[noreturn]] void mismatch(const Var& lhs, const Var& rhs, std::string what, std::string expected,
                           std::string help) {
  fail(ErrorCode::shape_mismatch,
       {.what = "matmul: " + std::move(what),
        .expected = std::move(expected),
        .where = lhs.builder().where(),
        .help = std::move(help),
        .notes = {fmt::format("left: {}, right: {}", to_string(lhs.type()), to_string(rhs.type()))}});
}

Shape leading(const Shape& shape) {
  Shape result = shape;
  result.erase(result.rank() - 1);
  result.erase(result.rank() - 1);
  return result;
}

Shape broadcast_leading(const Var& lhs, const Var& rhs, const Shape& a, const Shape& b) {
  Shape result = Shape::filled(std::max(a.rank(), b.rank()), 1);
  for (int i = 0; i < result.rank(); ++i) {
    const int ia = i - (result.rank() - a.rank()), ib = i - (result.rank() - b.rank());
    const std::int64_t sa = ia >= 0 ? a[ia] : 1, sb = ib >= 0 ? b[ib] : 1;
    if (sa != sb && sa != 1 && sb != 1) {
      mismatch(lhs, rhs,
               fmt::format("the leading sizes {} and {} do not broadcast", to_string(a), to_string(b)),
               "leading sizes equal or 1, aligned at the last", "");
    }
    result[i] = sa == 1 ? sb : sa;
  }
  return result;
}

Var with_leading(const Var& x, const Shape& lead) {
  Shape shape = lead;
  shape.push_back(x.shape()[x.shape().rank() - 2]);
  shape.push_back(x.shape().back());
  return broadcast(x, shape);
}

}  // namespace

Var matmul(const Var& lhs, const Var& rhs) {
  const int lr = lhs.shape().rank(), rr = rhs.shape().rank();
  if (lr == 0 || rr == 0) {
    mismatch(lhs, rhs, "an operand has rank 0", "matrices or vectors", "multiply by a scalar with *");
  }
  const int k_rhs = rr == 1 ? 0 : rr - 2;
  if (lhs.shape().back() != rhs.shape()[k_rhs]) {
    const bool transposed = rr > 1 && rhs.shape().back() == lhs.shape().back();
    mismatch(lhs, rhs,
             fmt::format("the inner sizes differ: {} and {}", lhs.shape().back(), rhs.shape()[k_rhs]),
             "lhs (…, M, K) and rhs (…, K, N) with equal K", transposed ? "transpose the right operand" : "");
  }
  // One product, whatever leads on the left: its rows are all leading positions. A vector leads with nothing.
  const bool right_is_single = rr <= 2 || (element_count(leading(rhs.shape())) == 1 && lr >= rr);
  if (lr == 1 || right_is_single) {
    const Var right = rr > 2 && lr > 1 ? reshape(rhs, {rhs.shape()[rr - 2], rhs.shape().back()}) : rhs;
    const int k = right.shape().rank() == 1 ? 0 : right.shape().rank() - 2;
    return contract(lhs, right, {{}, {}, {lr - 1}, {k}});
  }
  const Shape lead = broadcast_leading(lhs, rhs, leading(lhs.shape()), leading(rhs.shape()));
  Dims batch;
  for (int i = 0; i < lead.rank(); ++i) batch.push_back(i);
  const Var left = with_leading(lhs, lead), right = with_leading(rhs, lead);
  return contract(left, right, {batch, batch, {lead.rank() + 1}, {lead.rank()}});
}

}  // namespace tidemark
