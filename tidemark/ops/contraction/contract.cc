#include "tidemark/ops/contraction/contract.h"

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/ops/contraction/contract_layout.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

void check_list(const Call& call, std::string_view name, const Dims& dims, int rank, const Dims& other) {
  for (int i = 0; i < dims.rank(); ++i) {
    const bool repeated =
        std::count(dims.begin(), dims.end(), dims[i]) + std::count(other.begin(), other.end(), dims[i]) > 1;
    if (dims[i] < 0 || dims[i] >= rank || repeated) {
      fail(ErrorCode::bad_attribute,
           {.what = fmt::format("contract: {} names dimension {} of an operand of rank {}{}", name, dims[i],
                                rank, repeated ? " a second time" : ""),
            .expected = "dimensions of the operand, each at most once among batch and contracted ones",
            .where = call.where});
    }
  }
}

void check_pairs(const Call& call, std::string_view role, const Dims& lhs, const Dims& rhs) {
  if (lhs.rank() != rhs.rank()) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("contract: {} {} dimensions of the left operand, but {} of the right",
                              lhs.rank(), role, rhs.rank()),
          .expected = "pairs",
          .where = call.where});
  }
  for (int i = 0; i < lhs.rank(); ++i) {
    const int l = static_cast<int>(lhs[i]), r = static_cast<int>(rhs[i]);
    const Shape &left = call.in[0].shape, &right = call.in[1].shape;
    if (left[l] != right[r]) {
      fail(ErrorCode::shape_mismatch,
           {.what =
                fmt::format("contract: the {} sizes differ: {} (dimension {} of the left operand {}) and {} "
                            "(dimension {} of the right operand {})",
                            role == "batch" ? "batch" : "inner", left[l], l, to_string(left), right[r], r,
                            to_string(right)),
            .expected = "equal sizes",
            .where = call.where,
            .help = "transpose or reshape one operand"});
    }
  }
}

std::vector<Type> infer(const Call& call) {
  if (call.in.size() != 2 && call.in.size() != 3) {
    fail(ErrorCode::wrong_operand_count, {.what = fmt::format("contract: {} operands", call.in.size()),
                                          .expected = "2, or 3 with what the product is added to",
                                          .where = call.where});
  }
  const Type &lhs = call.in[0], &rhs = call.in[1];
  if (lhs.dtype != rhs.dtype || lhs.dtype == DType::boolean) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("contract: the operands are {} and {}", name_of(lhs.dtype), name_of(rhs.dtype)),
          .expected = "two operands of one numeric dtype",
          .where = call.where,
          .help = "cast one of them"});
  }
  const auto attrs = call.attrs_as<ContractAttrs>();
  check_list(call, "lhs_batch", attrs.lhs_batch, lhs.rank(), attrs.lhs_contract);
  check_list(call, "lhs_contract", attrs.lhs_contract, lhs.rank(), attrs.lhs_batch);
  check_list(call, "rhs_batch", attrs.rhs_batch, rhs.rank(), attrs.rhs_contract);
  check_list(call, "rhs_contract", attrs.rhs_contract, rhs.rank(), attrs.rhs_batch);
  check_pairs(call, "batch", attrs.lhs_batch, attrs.rhs_batch);
  check_pairs(call, "contracted", attrs.lhs_contract, attrs.rhs_contract);

  const Dims lhs_free = free_dims(lhs.rank(), attrs.lhs_batch, attrs.lhs_contract);
  const Dims rhs_free = free_dims(rhs.rank(), attrs.rhs_batch, attrs.rhs_contract);
  if (attrs.lhs_batch.rank() + lhs_free.rank() + rhs_free.rank() > max_rank) {
    fail(ErrorCode::shape_mismatch,
         {.what =
              fmt::format("contract: {} and {} give a result of rank {}", to_string(lhs.shape),
                          to_string(rhs.shape), attrs.lhs_batch.rank() + lhs_free.rank() + rhs_free.rank()),
          .expected = fmt::format("a result of rank {} at most", max_rank),
          .where = call.where,
          .help = "merge dimensions with reshape"});
  }
  Shape out;
  for (std::int64_t d : attrs.lhs_batch) out.push_back(lhs.shape[static_cast<int>(d)]);
  for (std::int64_t d : lhs_free) out.push_back(lhs.shape[static_cast<int>(d)]);
  for (std::int64_t d : rhs_free) out.push_back(rhs.shape[static_cast<int>(d)]);
  const Type result{lhs.dtype, out};
  if (call.in.size() == 3 && call.in[2] != result) {
    fail(call.in[2].dtype != result.dtype ? ErrorCode::dtype_mismatch : ErrorCode::shape_mismatch,
         {.what = fmt::format("contract: the product is {}, what it is added to is {}", to_string(result),
                              to_string(call.in[2])),
          .expected = "equal types",
          .where = call.where});
  }
  return {result};
}

Dims sequence(int begin, int count) {
  Dims dims;
  for (int i = 0; i < count; ++i) dims.push_back(begin + i);
  return dims;
}

Dims sorted(Dims dims) {
  std::sort(dims.begin(), dims.end());
  return dims;
}

std::int64_t index_of(const Dims& dims, std::int64_t d) {
  return std::find(dims.begin(), dims.end(), d) - dims.begin();
}

bool is_identity(const Dims& order) { return order == sequence(0, order.rank()); }

// The gradient of one operand ("own") from the result's gradient and the other operand. Both orders of the
// two give it up to a transposition; the one that needs none is taken where there is one.
Var operand_gradient(const RuleCall& rule, bool own_is_lhs) {
  const auto attrs = rule.call.attrs_as<ContractAttrs>();
  const int own_rank = rule.in[own_is_lhs ? 0 : 1].type().rank();
  const Var& other = rule.in[own_is_lhs ? 1 : 0];
  const Dims& own_batch = own_is_lhs ? attrs.lhs_batch : attrs.rhs_batch;
  const Dims& own_contract = own_is_lhs ? attrs.lhs_contract : attrs.rhs_contract;
  const Dims& other_batch = own_is_lhs ? attrs.rhs_batch : attrs.lhs_batch;
  const Dims& other_contract = own_is_lhs ? attrs.rhs_contract : attrs.lhs_contract;
  const Dims own_free = free_dims(own_rank, own_batch, own_contract);
  const Dims other_free = free_dims(other.type().rank(), other_batch, other_contract);
  const int batch = own_batch.rank(), own = own_free.rank(), rest = other_free.rank();

  // In the result's gradient: batch dimensions first, then the left's free ones, then the right's.
  const Dims seed_batch = sequence(0, batch);
  const Dims seed_contract = own_is_lhs ? sequence(batch + own, rest) : sequence(batch, rest);
  const Dims by_other = sorted(other_contract);  // the order in which the contracted dimensions come out
  const auto order_with = [&](int free_at, int contract_at) {
    Dims order;
    for (int d = 0; d < own_rank; ++d) {
      if (const auto i = index_of(own_batch, d); i < own_batch.rank()) {
        order.push_back(i);
      } else if (const auto j = index_of(own_free, d); j < own) {
        order.push_back(free_at + j);
      } else {
        order.push_back(contract_at +
                        index_of(by_other, other_contract[static_cast<int>(index_of(own_contract, d))]));
      }
    }
    return order;
  };
  const Dims seed_first = order_with(batch, batch + own),
             other_first = order_with(batch + own_contract.rank(), batch);
  const Var& seed = rule.seed[0];
  if (!is_identity(seed_first) && is_identity(other_first)) {
    return contract(other, seed, {other_batch, seed_batch, other_free, seed_contract});
  }
  const Var raw = contract(seed, other, {seed_batch, other_batch, seed_contract, other_free});
  return is_identity(seed_first) ? raw : transpose(raw, seed_first);
}

std::vector<Var> vjp(const RuleCall& rule) {
  std::vector<Var> gradients(rule.in.size());
  if (!rule.seed[0]) return gradients;
  if (rule.wants(0)) gradients[0] = operand_gradient(rule, true);
  if (rule.wants(1)) gradients[1] = operand_gradient(rule, false);
  if (rule.in.size() == 3) gradients[2] = rule.seed[0];
  return gradients;
}

std::vector<Var> jvp(const RuleCall& rule) {
  const auto attrs = rule.call.attrs_as<ContractAttrs>();
  const Var left = rule.seed[0] ? contract(rule.seed[0], rule.in[1], attrs) : Var();
  const Var right = rule.seed[1] ? contract(rule.in[0], rule.seed[1], attrs) : Var();
  const Var both = sum_of(left, right);
  return {rule.in.size() == 3 ? sum_of(rule.seed[2], both) : both};
}

std::vector<Sample> samples() {
  const auto f64 = [](std::initializer_list<std::int64_t> shape) {
    return Sample::Operand{.type = {DType::f64, Shape(shape)}};
  };
  const auto of = [](const ContractAttrs& attrs) { return pack(attrs); };
  return {
      {.in = {f64({3, 4}), f64({4, 5})}, .attrs = of({{}, {}, {1}, {0}})},
      {.in = {f64({3, 4}), f64({5, 4})}, .attrs = of({{}, {}, {1}, {1}})},
      {.in = {f64({4, 3}), f64({4, 5})}, .attrs = of({{}, {}, {0}, {0}})},
      {.in = {f64({2, 3, 4}), f64({2, 4, 2})}, .attrs = of({{0}, {0}, {2}, {1}})},
      {.in = {f64({3, 2, 4}), f64({2, 2, 4})}, .attrs = of({{1}, {0}, {2}, {2}})},
      {.in = {f64({2, 3, 2}), f64({2, 2, 3})}, .attrs = of({{}, {}, {1, 2}, {2, 0}})},
      {.in = {f64({3}), f64({3})}, .attrs = of({{}, {}, {0}, {0}})},
      {.in = {f64({2}), f64({3})}, .attrs = of({})},
      {.in = {f64({5, 2}), f64({5, 2})}, .attrs = of({{0, 1}, {0, 1}, {}, {}})},
      {.in = {f64({2, 0}), f64({0, 3})}, .attrs = of({{}, {}, {1}, {0}})},
      {.in = {f64({20, 33}), f64({33, 17})}, .attrs = of({{}, {}, {1}, {0}})},
      {.in = {f64({3, 4}), f64({4, 5}), f64({3, 5})}, .attrs = of({{}, {}, {1}, {0}})},
      {.in = {f64({2, 3, 4}), f64({2, 4, 2}), f64({2, 3, 2})}, .attrs = of({{0}, {0}, {2}, {1}})},
      {.in = {f64({2, 0}), f64({0, 3}), f64({2, 3})}, .attrs = of({{}, {}, {1}, {0}})},
  };
}

// Contracted pairs in the left's order: a sum runs in one order however it was written, and dense rows merge.
ContractAttrs in_order(const ContractAttrs& dims) {
  ContractAttrs ordered = dims;
  if (dims.lhs_contract.rank() == dims.rhs_contract.rank()) {
    ordered.lhs_contract = sorted(dims.lhs_contract);
    for (int i = 0; i < dims.lhs_contract.rank(); ++i) {
      ordered.rhs_contract[i] =
          dims.rhs_contract[static_cast<int>(index_of(dims.lhs_contract, ordered.lhs_contract[i]))];
    }
  }
  return ordered;
}

}  // namespace

const Op op::contract = {
    .name = "contract",
    .kind = OpKind::contraction,
    .dtypes = numbers,
    .schema = &schema_of<ContractAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .tolerant = true,
    .samples = samples,
};

Var contract(const Var& lhs, const Var& rhs, const ContractAttrs& dims) {
  return lhs.builder().call1(op::contract, {lhs, rhs}, pack(in_order(dims)));
}

Var contract(const Var& lhs, const Var& rhs, const Var& sum, const ContractAttrs& dims) {
  return lhs.builder().call1(op::contract, {lhs, rhs, sum}, pack(in_order(dims)));
}

}  // namespace tidemark
