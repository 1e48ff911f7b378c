#include "tidemark/ops/normalization/cross_entropy.h"

#include "tidemark/ir/failure.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

Type example_type(const Type& logits) {
  Type type{statistics_dtype(logits.dtype), logits.shape};
  type.shape.erase(type.rank() - 1);
  return type;
}

void require_logits_and_labels(const Call& call) {
  if (!is_float(call.in[0].dtype)) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("{}: the logits are {}", call.op->name, name_of(call.in[0].dtype)),
          .expected = "a floating-point tensor",
          .where = call.where});
  }
  require_index_dtype(call, 1);
  const Shape &logits = call.in[0].shape, &labels = call.in[1].shape;
  if (logits.rank() >= 1 && example_type(call.in[0]).shape == labels) return;
  fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: logits {} and labels {}", call.op->name,
                                                       to_string(logits), to_string(labels)),
                                   .expected = "logits (…, classes) and labels (…)",
                                   .where = call.where});
}

std::vector<Type> infer(const Call& call) {
  require_operands(call, 2);
  require_logits_and_labels(call);
  const Type example = example_type(call.in[0]);
  return {example, example};
}

std::vector<Type> infer_grad(const Call& call) {
  require_operands(call, 4);
  require_logits_and_labels(call);
  const Type example = example_type(call.in[0]);
  for (std::size_t i : {2u, 3u}) {
    if (call.in[i] == example) continue;
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: operand {} is {}", call.op->name, i, to_string(call.in[i])),
          .expected = fmt::format("{}, one number per example", to_string(example)),
          .where = call.where});
  }
  return {call.in[0]};
}

// [label is not ignored] as 0 and 1, and labels that are in range everywhere.
struct Labels {
  Var weight, safe;  // weight is empty when every label counts
};
Labels labels_of(const RuleCall& r, DType dtype) {
  const auto attrs = r.call.attrs_as<CrossEntropyAttrs>();
  const Var labels = r.in[1];
  if (!attrs.ignore) return {.weight = {}, .safe = labels};
  const Var ignored = equal(labels, constant_like(labels, attrs.ignore_index));
  return {.weight = cast(logical_not(ignored), dtype), .safe = select(ignored, zeros_like(labels), labels)};
}
Var weighted(const Var& x, const Labels& labels) { return labels.weight ? x * labels.weight : x; }

std::vector<Var> expand(const RuleCall& r) {
  const int last = r.in[0].shape().rank() - 1;
  const DType wide = statistics_dtype(r.in[0].dtype());
  const Var logits = cast(r.in[0], wide);
  const Labels labels = labels_of(r, wide);
  const Var logsumexp = reduce_logsumexp(logits, {last});
  const Var picked = squeeze(gather(logits, expand_dims(labels.safe, last), last), last);
  return {weighted(logsumexp - picked, labels), logsumexp};
}

std::vector<Var> vjp(const RuleCall& r) {
  Var gradient;
  if (r.seed[0]) {
    gradient =
        r.builder.call1(op::cross_entropy_grad, {r.in[0], r.in[1], r.out[1], r.seed[0]}, *r.call.attrs);
  }
  if (r.seed[1]) {  // somebody uses the logsumexp itself: its gradient is the softmax
    const int last = r.in[0].shape().rank() - 1;
    const Var logits = cast(r.in[0], r.out[1].dtype());
    const Var p = exp(logits - expand_dims(r.out[1], last));
    gradient = sum_of(gradient, cast(p * expand_dims(r.seed[1], last), r.in[0].dtype()));
  }
  return {gradient, {}};
}

std::vector<Var> expand_grad(const RuleCall& r) {
  const int last = r.in[0].shape().rank() - 1;
  const DType wide = statistics_dtype(r.in[0].dtype());
  const Labels labels = labels_of(r, wide);
  const Var g = expand_dims(weighted(r.in[3], labels), last);
  const Var logits = cast(r.in[0], wide);
  const Var p = exp(logits - expand_dims(r.in[2], last));
  return {cast((p - one_hot(labels.safe, r.in[0].shape().back(), wide)) * g, r.in[0].dtype())};
}

Failure failure(const Call& call) {
  const auto attrs = call.attrs_as<CrossEntropyAttrs>();
  IndexCheck check{.operand = 1, .bound = call.in[0].shape.back()};
  if (attrs.ignore) check.except = attrs.ignore_index;
  return {Fails::early, check};
}

// Labels are drawn from the range of classes and truncated.
Sample::Operand label_operand(const Shape& shape, double classes) {
  return {.type = {DType::i64, shape}, .low = 0, .high = classes - 1};
}
std::vector<Sample> samples() {
  return {{.in = {{.type = {DType::f64, {4, 7}}}, label_operand({4}, 7)}, .attrs = pack(CrossEntropyAttrs{})},
          {.in = {{.type = {DType::f64, {2, 3, 5}}}, label_operand({2, 3}, 5)},
           .attrs = pack(CrossEntropyAttrs{.ignore = true, .ignore_index = 2})},
          {.in = {{.type = {DType::f64, {9}}, .low = -10, .high = 10}, label_operand({}, 9)},
           .attrs = pack(CrossEntropyAttrs{})}};
}
std::vector<Sample> samples_grad() {
  return {{.in = {{.type = {DType::f64, {4, 7}}},
                  label_operand({4}, 7),
                  {.type = {DType::f64, {4}}, .low = 2, .high = 4},
                  {.type = {DType::f64, {4}}}},
           .attrs = pack(CrossEntropyAttrs{})},
          {.in = {{.type = {DType::f64, {2, 3, 5}}},
                  label_operand({2, 3}, 5),
                  {.type = {DType::f64, {2, 3}}, .low = 2, .high = 4},
                  {.type = {DType::f64, {2, 3}}}},
           .attrs = pack(CrossEntropyAttrs{.ignore = true, .ignore_index = 2})}};
}

}  // namespace

const Op op::cross_entropy = {
    .name = "cross_entropy",
    .results = 2,
    .schema = &schema_of<CrossEntropyAttrs>,
    .infer = infer,
    .vjp = vjp,
    .expand = expand,
    .fails = failure,
    .samples = samples,
};
// 16-bit logits come with f32 examples, a mixture that samples cannot say: `dtypes` lists the others.
const Op op::cross_entropy_grad = {
    .name = "cross_entropy_grad",
    .dtypes = wide_floats,
    .schema = &schema_of<CrossEntropyAttrs>,
    .infer = infer_grad,
    .expand = expand_grad,
    .fails = failure,
    .samples = samples_grad,
};

CrossEntropy cross_entropy(const Var& logits, const Var& labels, const CrossEntropyAttrs& attrs) {
  const Var operands[] = {logits, labels};
  const std::vector<Var> results = logits.builder().call(op::cross_entropy, operands, pack(attrs));
  return {.loss = results[0], .logsumexp = results[1]};
}

}  // namespace tidemark
