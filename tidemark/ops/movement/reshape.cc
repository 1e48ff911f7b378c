#include <fmt/format.h>

#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

std::vector<Type> infer(const Call& call) {
  require_operands(call, 1);
  const Shape to = call.attrs_as<ReshapeAttrs>().shape;
  for (std::int64_t size : to) {
    if (size < 0) {
      fail(ErrorCode::bad_attribute, {.what = fmt::format("reshape: a size of {} in {}", size, to_string(to)),
                                      .expected = "sizes of 0 or more",
                                      .where = call.where});
    }
  }
  if (element_count(to) != call.in[0].count()) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("reshape: {} has {} elements and {} has {}", to_string(call.in[0].shape),
                              call.in[0].count(), to_string(to), element_count(to)),
          .expected = "the same number of elements",
          .where = call.where});
  }
  return {{call.in[0].dtype, to}};
}

std::vector<Var> vjp(const RuleCall& rule) { return {reshape(rule.seed[0], rule.in[0].shape())}; }
std::vector<Var> jvp(const RuleCall& rule) { return {reshape(rule.seed[0], rule.out[0].shape())}; }

Var inverse(const RuleCall& rule, int) { return reshape(rule.out[0], rule.call.in[0].shape); }

// Matches groups of dimensions with equal element counts; a group of the operand must be one even walk
// through memory.
std::optional<ViewSpec> view(const Call& call, int) {
  const Shape to = call.attrs_as<ReshapeAttrs>().shape;
  if (call.is_dense_operand(0) || element_count(to) == 0) return ViewSpec{.strides = dense_strides(to)};
  Shape from;  // without dimensions of size 1
  Strides strides;
  for (int i = 0; i < call.in[0].rank(); ++i) {
    if (call.in[0].shape[i] == 1) continue;
    from.push_back(call.in[0].shape[i]);
    strides.push_back(call.in_strides[0][i]);
  }
  ViewSpec spec{.strides = Strides::filled(to.rank(), 0)};
  int i = 0, j = 0;
  while (i < from.rank()) {
    int i_end = i + 1, j_end = j;
    std::int64_t from_count = from[i], to_count = 1;
    while (from_count != to_count || to_count == 1) {
      if (to_count < from_count) {
        to_count *= to[j_end++];
      } else {
        from_count *= from[i_end++];
      }
    }
    for (int k = i; k + 1 < i_end; ++k) {
      if (strides[k] != strides[k + 1] * from[k + 1]) return std::nullopt;
    }
    std::int64_t step = strides[i_end - 1];
    for (int k = j_end - 1; k >= j; --k) {
      spec.strides[k] = step;
      step *= to[k];
    }
    i = i_end, j = j_end;
  }
  return spec;
}

std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {2, 6}}}}, .attrs = pack(ReshapeAttrs{{3, 4}})},
          {.in = {{.type = {DType::f64, {1}}}}, .attrs = pack(ReshapeAttrs{{}})},
          {.in = {{.type = {DType::f64, {2, 0}}}}, .attrs = pack(ReshapeAttrs{{0, 5}})}};
}

}  // namespace

const Op op::reshape = {
    .name = "reshape",
    .kind = OpKind::movement,
    .dtypes = any_dtype,
    .schema = &schema_of<ReshapeAttrs>,
    .infer = infer,
    .vjp = vjp,
    .jvp = jvp,
    .inverse = inverse,
    .view = view,
    .samples = samples,
};

Var reshape(const Var& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return x.builder().call1(op::reshape, {x}, pack(ReshapeAttrs{shape}));
}

Var expand_dims(const Var& x, int axis) {
  Shape shape = x.shape();
  shape.insert(axis, 1);
  return reshape(x, shape);
}

Var squeeze(const Var& x, int axis) {
  Shape shape = x.shape();
  shape.erase(axis);
  return reshape(x, shape);
}

}  // namespace tidemark
