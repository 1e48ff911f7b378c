#include "tidemark/ops/indexing/sort.h"

#include <fmt/format.h>

#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer_sort(const Call& call) {
  require_operands(call, 1);
  require_axis(call, call.attrs_as<SortAttrs>().axis, call.in[0].rank());
  return {call.in[0], {DType::i64, call.in[0].shape}};
}

std::vector<Type> infer_top_k(const Call& call) {
  require_operands(call, 1);
  const auto attrs = call.attrs_as<TopKAttrs>();
  require_axis(call, attrs.axis, call.in[0].rank());
  Shape shape = call.in[0].shape;
  std::int64_t& size = shape[static_cast<int>(attrs.axis)];
  if (attrs.k < 0 || attrs.k > size) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("top_k: k = {} along axis {} of size {}", attrs.k, attrs.axis, size),
          .expected = fmt::format("k in [0, {}]", size),
          .where = call.where});
  }
  size = attrs.k;
  return {{call.in[0].dtype, shape}, {DType::i64, shape}};
}

// The result's own indices say where each gradient goes and where each tangent comes from.
template <class A>
std::vector<Var> vjp(const RuleCall& rule) {
  if (!rule.seed[0]) return {Var()};
  const auto axis = static_cast<int>(rule.call.attrs_as<A>().axis);
  return {scatter_add(zeros_like(rule.in[0]), rule.out[1], rule.seed[0], axis)};
}
template <class A>
std::vector<Var> jvp(const RuleCall& rule) {
  return {gather(rule.seed[0], rule.out[1], static_cast<int>(rule.call.attrs_as<A>().axis)), Var()};
}

std::vector<Sample> sort_samples() {
  return {{.in = {{.type = {DType::f64, {3, 5}}}}, .attrs = pack(SortAttrs{1, false})},
          {.in = {{.type = {DType::f64, {4, 3, 2}}}}, .attrs = pack(SortAttrs{1, true})},
          {.in = {{.type = {DType::f64, {0}}}}, .attrs = pack(SortAttrs{0, false})}};
}
std::vector<Sample> top_k_samples() {
  return {{.in = {{.type = {DType::f64, {3, 6}}}}, .attrs = pack(TopKAttrs{1, 2})},
          {.in = {{.type = {DType::f64, {4, 3}}}}, .attrs = pack(TopKAttrs{0, 4})},
          {.in = {{.type = {DType::f64, {3}}}}, .attrs = pack(TopKAttrs{0, 0})}};
}

}  // namespace

const Op op::sort = {
    .name = "sort",
    .kind = OpKind::composite,
    .dtypes = any_dtype,
    .results = 2,
    .schema = &schema_of<SortAttrs>,
    .infer = infer_sort,
    .vjp = vjp<SortAttrs>,
    .jvp = jvp<SortAttrs>,
    .samples = sort_samples,
};

const Op op::top_k = {
    .name = "top_k",
    .kind = OpKind::composite,
    .dtypes = any_dtype,
    .results = 2,
    .schema = &schema_of<TopKAttrs>,
    .infer = infer_top_k,
    .vjp = vjp<TopKAttrs>,
    .jvp = jvp<TopKAttrs>,
    .samples = top_k_samples,
};

Sorted sort(const Var& x, int axis, bool descending) {
  const std::vector<Var> results =
      x.builder().call(op::sort, std::span(&x, 1), pack(SortAttrs{axis, descending}));
  return {results[0], results[1]};
}
Var argsort(const Var& x, int axis, bool descending) { return sort(x, axis, descending).indices; }
Sorted top_k(const Var& x, int axis, std::int64_t k) {
  const std::vector<Var> results = x.builder().call(op::top_k, std::span(&x, 1), pack(TopKAttrs{axis, k}));
  return {results[0], results[1]};
}

}  // namespace tidemark
