#include "tidemark/ops/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/random/dropout.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

[[noreturn]] void bad_shapes(const Call& call, std::string what) {
  fail(ErrorCode::shape_mismatch,
       {.what = fmt::format("{}: {}", call.op->name, what),
        .expected = "q (B, Hq, Tq, D), k and v (B, Hkv, Tk, D) with Hq a multiple of Hkv",
        .where = call.where});
}

// The operands behind the first `fixed`: a mask, if there is one, then a key, if something is dropped.
void find_options(const Call& call, int fixed, AttentionForm& form) {
  if (!(form.dropout >= 0 && form.dropout < 1)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: dropout {}", call.op->name, form.dropout),
                                    .expected = "0 ≤ dropout < 1",
                                    .where = call.where});
  }
  const int count = static_cast<int>(call.in.size());
  if (form.dropout > 0) {
    const bool key = count > fixed && call.in[static_cast<std::size_t>(count - 1)] == Type{DType::i64, {}};
    if (!key) {
      fail(ErrorCode::wrong_operand_count,
           {.what = fmt::format("{}: dropout {} without a key", call.op->name, form.dropout),
            .expected = "i64[], a key, as the last operand",
            .where = call.where,
            .help = "make keys with key(seed), split_key or fold_in"});
    }
    form.key = count - 1;
  }
  const int left = count - (form.dropout > 0 ? 1 : 0);
  if (left > fixed) form.mask = fixed;
  if (left > fixed + 1) require_operands(call, fixed + (form.dropout > 0 ? 2 : 1));
}

void require_mask(const Call& call, const AttentionForm& f) {
  if (f.mask < 0) return;
  const Type& mask = call.in[static_cast<std::size_t>(f.mask)];
  if (mask.dtype != DType::boolean) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("{}: the mask is {}", call.op->name, name_of(mask.dtype)),
          .expected = "bool: true where a query may attend",
          .where = call.where});
  }
  const Shape full = {f.batch, f.heads, f.queries, f.keys};
  bool fits = mask.rank() <= 4;
  for (int i = 1; fits && i <= mask.rank(); ++i) {
    const std::int64_t size = mask.shape[mask.rank() - i];
    fits = size == 1 || size == full[4 - i];
  }
  if (!fits)
    bad_shapes(call,
               fmt::format("the mask {} does not broadcast to {}", to_string(mask.shape), to_string(full)));
}

Type row_type(const Type& q) { return {statistics_dtype(q.dtype), {q.shape[0], q.shape[1], q.shape[2]}}; }

void require_equal(const Call& call, int operand, const Type& type, std::string_view role) {
  const Type& given = call.in[static_cast<std::size_t>(operand)];
  if (given != type)
    bad_shapes(call, fmt::format("the {} is {} instead of {}", role, to_string(given), to_string(type)));
}

std::vector<Type> infer(const Call& call) {
  require_mask(call, attention_form(call));
  return {call.in[0], row_type(call.in[0])};
}

std::vector<Type> infer_grad(const Call& call) {
  const AttentionForm form = attention_form(call);
  require_equal(call, 3, row_type(call.in[0]), "logsumexp");
  require_equal(call, 4, row_type(call.in[0]), "delta");
  require_equal(call, 5, call.in[0], "gradient of the result");
  require_mask(call, form);
  return {call.in[0], call.in[1], call.in[2]};
}

std::vector<Type> infer_delta(const Call& call) {
  require_operands(call, 2);
  require_data_dtype(call, 0);
  if (call.in[0].rank() != 4 || call.in[0] != call.in[1]) {
    bad_shapes(call, fmt::format("{} and {}", to_string(call.in[0]), to_string(call.in[1])));
  }
  return {row_type(call.in[0])};
}

// A call in five dimensions, (B, Hkv, group, T, ·), in the dtype that computes: what the expansions are
// written in.
struct Grouped {
  AttentionForm form;
  DType dtype;

  Var query(const Var& x) const {  // also the result and its gradient
    return reshape(cast(x, dtype), {form.batch, form.kv_heads, form.group(), form.queries, form.width});
  }
  Var key(const Var& x) const {
    return reshape(cast(x, dtype), {form.batch, form.kv_heads, 1, form.keys, form.width});
  }
  Var row(const Var& x) const {
    return reshape(x, {form.batch, form.kv_heads, form.group(), form.queries, 1});
  }

  // Where attention may go; empty: everywhere.
  Var allowed(const RuleCall& r) const {
    Var result;
    if (form.mask >= 0) {
      const Var& mask = r.in[static_cast<std::size_t>(form.mask)];
      Shape shape = mask.shape();
      while (shape.rank() < 4) shape.insert(0, 1);
      const bool per_head = shape[1] != 1;
      result = reshape(
          mask, {shape[0], per_head ? form.kv_heads : 1, per_head ? form.group() : 1, shape[2], shape[3]});
    }
    if (form.causal) {
      const Shape square = {form.queries, form.keys};
      const Var i = iota(r.builder, DType::i64, square, 0), j = iota(r.builder, DType::i64, square, 1);
      const Var below = less_equal(j, i + static_cast<double>(form.keys - form.queries));
      result = result ? logical_and(result, below) : below;
    }
    return result;
  }
  // What dropout leaves of probabilities, or of their gradient.
  Var kept(const RuleCall& r, const Var& p) const {
    return form.key < 0 ? p : dropout(p, form.dropout, r.in[static_cast<std::size_t>(form.key)]);
  }
};
Grouped grouped(const RuleCall& r) { return {attention_form(r.call), statistics_dtype(r.in[0].dtype())}; }

// Stands for -inf where derivatives pass: differences stay finite.
constexpr double far_below = -1e30;

std::vector<Var> expand(const RuleCall& r) {
  const Grouped w = grouped(r);
  const Var allowed = w.allowed(r);
  const Var q = w.query(r.in[0]) * w.form.scale, k = w.key(r.in[1]);
  Var scores = matmul(q, swap_last_two(k));
  if (allowed) scores = select(allowed, scores, constant_like(scores, far_below));
  Var logsumexp = reduce_logsumexp(scores, {4}, true);
  Var p = exp(scores - logsumexp);
  if (allowed) {
    p = select(allowed, p, constant_like(p, 0));
    const Var any = greater(logsumexp, constant_like(logsumexp, far_below / 10));
    logsumexp = select(any, logsumexp, constant_like(logsumexp, -std::numeric_limits<double>::infinity()));
  }
  p = w.kept(r, p);
  const Var y = matmul(p, w.key(r.in[2]));
  return {cast(reshape(y, r.in[0].shape()), r.in[0].dtype()),
          reshape(logsumexp, row_type(r.in[0].type()).shape)};
}

std::vector<Var> vjp(const RuleCall& r) {
  const Var g = r.seed[0] ? r.seed[0] : zeros_like(r.out[0]);
  Var delta = r.builder.call1(op::attention_delta, {r.out[0], g});
  if (r.seed[1]) delta = delta - r.seed[1];
  std::vector<Var> operands = {r.in[0], r.in[1], r.in[2], r.out[1], delta, g};
  operands.insert(operands.end(), r.in.begin() + 3, r.in.end());
  std::vector<Var> gradients = r.builder.call(op::attention_grad, operands, *r.call.attrs);
  gradients.resize(r.in.size());  // neither a mask nor a key has one
  return gradients;
}

std::vector<Var> expand_grad(const RuleCall& r) {
  const Grouped w = grouped(r);
  const Var allowed = w.allowed(r);
  const Var q = w.query(r.in[0]) * w.form.scale, k = w.key(r.in[1]), v = w.key(r.in[2]), g = w.query(r.in[5]);
  Var logsumexp = w.row(r.in[3]);
  Var scores = matmul(q, swap_last_two(k));
  if (allowed) {
    logsumexp = maximum(logsumexp, constant_like(logsumexp, far_below));
    scores = select(allowed, scores, logsumexp);
  }
  Var p = exp(scores - logsumexp);
  if (allowed) p = select(allowed, p, constant_like(p, 0));
  const Var dp = w.kept(r, matmul(g, swap_last_two(v)));
  const Var ds = p * (dp - w.row(r.in[4]));
  const Var dq = matmul(ds, k) * w.form.scale;
  const Var dk = reduce_sum(matmul(swap_last_two(ds), q), {2});
  const Var dv = reduce_sum(matmul(swap_last_two(w.kept(r, p)), g), {2});
  const auto narrow = [](const Var& x, const Var& like) {
    return cast(reshape(x, like.shape()), like.dtype());
  };
  return {narrow(dq, r.in[0]), narrow(dk, r.in[1]), narrow(dv, r.in[2])};
}

std::vector<Var> vjp_delta(const RuleCall& r) {
  const auto times = [&](const Var& x) {
    const DType wide = r.out[0].dtype();
    const Var g = expand_dims(r.seed[0], 3);
    return cast(g * cast(x, wide), x.dtype());
  };
  return {r.wants(0) ? times(r.in[1]) : Var(), r.wants(1) ? times(r.in[0]) : Var()};
}
std::vector<Var> expand_delta(const RuleCall& r) {
  const DType wide = statistics_dtype(r.in[0].dtype());
  const Var y = cast(r.in[0], wide), g = cast(r.in[1], wide);
  return {reduce_sum(y * g, {3})};
}

Sample::Operand data(const Shape& shape) { return {.type = {DType::f64, shape}}; }
// Drawn booleans: true where the number is not zero.
Sample::Operand mask(const Shape& shape) { return {.type = {DType::boolean, shape}, .low = 0, .high = 1}; }
Sample::Operand key() { return {.type = {DType::i64, {}}, .low = 0, .high = 1000}; }

std::vector<Sample> samples() {
  const auto attrs = [](bool causal, double scale, double dropout = 0) {
    return pack(AttentionAttrs{causal, scale, dropout});
  };
  return {{.in = {data({2, 2, 5, 3}), data({2, 2, 5, 3}), data({2, 2, 5, 3})},
           .attrs = attrs(false, 0),
           .tolerance = 10},
          {.in = {data({1, 4, 6, 3}), data({1, 2, 6, 3}), data({1, 2, 6, 3})},
           .attrs = attrs(true, 0),
           .tolerance = 10},
          {.in = {data({1, 2, 3, 4}), data({1, 1, 16, 4}), data({1, 1, 16, 4}), mask({3, 16})},
           .attrs = attrs(true, 0.3),
           .tolerance = 10},
          {.in = {data({2, 2, 5, 3}), data({2, 2, 7, 3}), data({2, 2, 7, 3}), key()},
           .attrs = attrs(false, 0, 0.4),
           .tolerance = 10},
          {.in = {data({1, 4, 3, 3}), data({1, 2, 16, 3}), data({1, 2, 16, 3}), mask({3, 16}), key()},
           .attrs = attrs(true, 0, 0.2),
           .tolerance = 10}};
}
std::vector<Sample> samples_grad() {
  const auto attrs = [](bool causal, double dropout = 0) { return pack(AttentionAttrs{causal, 0, dropout}); };
  const auto rows = [](const Shape& shape, double low, double high) {
    return Sample::Operand{.type = {DType::f64, shape}, .low = low, .high = high};
  };
  return {{.in = {data({2, 2, 5, 3}), data({2, 2, 5, 3}), data({2, 2, 5, 3}), rows({2, 2, 5}, 2, 3),
                  rows({2, 2, 5}, -1, 1), data({2, 2, 5, 3})},
           .attrs = attrs(false),
           .tolerance = 10},
          {.in = {data({1, 4, 6, 3}), data({1, 2, 6, 3}), data({1, 2, 6, 3}), rows({1, 4, 6}, 2, 3),
                  rows({1, 4, 6}, -1, 1), data({1, 4, 6, 3}), mask({1, 4, 1, 6})},
           .attrs = attrs(true),
           .tolerance = 10},
          {.in = {data({1, 4, 6, 3}), data({1, 2, 6, 3}), data({1, 2, 6, 3}), rows({1, 4, 6}, 2, 3),
                  rows({1, 4, 6}, -1, 1), data({1, 4, 6, 3}), mask({6, 6}), key()},
           .attrs = attrs(true, 0.3),
           .tolerance = 10}};
}
std::vector<Sample> samples_delta() { return {{.in = {data({2, 2, 5, 3}), data({2, 2, 5, 3})}}}; }

}  // namespace

AttentionForm attention_form(const Call& call) {
  const auto attrs = call.attrs_as<AttentionAttrs>();
  const int fixed = call.op == &op::attention ? 3 : 6;  // those that every call has
  if (std::ssize(call.in) < fixed) require_operands(call, fixed);
  const Type &q = call.in[0], &k = call.in[1];
  if (!is_float(q.dtype) || k.dtype != q.dtype || call.in[2].dtype != q.dtype) {
    fail(ErrorCode::dtype_mismatch,
         {.what = fmt::format("{}: q is {}, k {} and v {}", call.op->name, name_of(q.dtype), name_of(k.dtype),
                              name_of(call.in[2].dtype)),
          .expected = "one floating-point dtype",
          .where = call.where});
  }
  if (q.rank() != 4 || k.rank() != 4 || call.in[2] != k || q.shape[0] != k.shape[0] ||
      q.shape[3] != k.shape[3] || k.shape[1] == 0 || q.shape[1] % k.shape[1] != 0) {
    bad_shapes(call, fmt::format("q is {}, k {} and v {}", to_string(q.shape), to_string(k.shape),
                                 to_string(call.in[2].shape)));
  }
  const std::int64_t width = q.shape[3];
  if (width > AttentionForm::max_width) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: heads of width {}", call.op->name, width),
                                    .expected = fmt::format("at most {}", AttentionForm::max_width),
                                    .where = call.where});
  }
  AttentionForm form{.batch = q.shape[0],
                     .heads = q.shape[1],
                     .kv_heads = k.shape[1],
                     .queries = q.shape[2],
                     .keys = k.shape[2],
                     .width = width,
                     .causal = attrs.causal,
                     .scale = attrs.scale != 0
                                  ? attrs.scale
                                  : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(width, 1))),
                     .dropout = attrs.dropout};
  find_options(call, fixed, form);
  return form;
}

const Op op::attention = {
    .name = "attention",
    .kind = OpKind::contraction,
    .results = 2,
    .schema = &schema_of<AttentionAttrs>,
    .infer = infer,
    .vjp = vjp,
    .expand = expand,
    .tolerant = true,
    .samples = samples,
};
// 16-bit operands come with f32 rows, a mixture that samples cannot say: `dtypes` lists the others.
const Op op::attention_grad = {
    .name = "attention_grad",
    .kind = OpKind::contraction,
    .dtypes = wide_floats,
    .results = 3,
    .schema = &schema_of<AttentionAttrs>,
    .infer = infer_grad,
    .expand = expand_grad,
    .samples = samples_grad,
};
const Op op::attention_delta = {
    .name = "attention_delta",
    .kind = OpKind::reduction,
    .infer = infer_delta,
    .vjp = vjp_delta,
    .expand = expand_delta,
    .samples = samples_delta,
};

Var attention(const Var& q, const Var& k, const Var& v, const AttentionAttrs& attrs, const Var& mask,
              const Var& key) {
  std::vector<Var> operands = {q, k, v};
  if (mask) operands.push_back(mask);
  if (key && attrs.dropout != 0) operands.push_back(key);
  return q.builder().call(op::attention, operands, pack(attrs)).front();
}

}  // namespace tidemark
