#include "tidemark/opt/batch_rules.h"

#include <algorithm>

namespace tidemark {
namespace {

namespace batch_rule {

using Classes = std::vector<BatchClass>;
const Classes cannot;

template <class T>
const T& attr(const Call& call, std::string_view name) {
  const AttrSchema& schema = call.op->schema();
  std::size_t i = 0;
  while (i < schema.size() && schema[i].name != name) ++i;
  TM_CHECK(i < schema.size(), "{} has no attribute {}", call.op->name, name);
  return std::get<T>((*call.attrs)[i]);
}
int axis_attr(const Call& call) { return static_cast<int>(attr<std::int64_t>(call, "axis")); }

bool has(const Dims& dims, std::int64_t d) { return std::ranges::find(dims, d) != dims.end(); }
int place(const Dims& dims, std::int64_t d) {
  return static_cast<int>(std::ranges::find(dims, d) - dims.begin());
}

bool is_batched(const BatchCall& call, std::size_t i) { return call.in[i].is(BatchRole::batched); }
const BatchLayout& layout(const BatchCall& call, std::size_t i) { return call.in[i].layout; }

// The same class for all results.
Classes all_results(const BatchCall& call, BatchClass c) { return Classes(call.full.out.size(), c); }
Classes all_results(const BatchCall& call, BatchLayout where, int axis) {
  where.axis = axis;
  return all_results(call, batched_class(where));
}

// The layout that the batched ones among some operands have in common, with their axes counted as
// `axis_in(operand)` says; none: they disagree, or none is batched.
template <class AxisIn>
std::optional<BatchLayout> joined(const BatchCall& call, std::size_t operands, const AxisIn& axis_in) {
  std::optional<BatchLayout> result;
  for (std::size_t i = 0; i < operands; ++i) {
    if (!is_batched(call, i)) continue;
    BatchLayout here = layout(call, i);
    here.axis = axis_in(i);
    if (result) {
      result = common_layout(*result, here);
      if (!result) return {};
    } else {
      result = here;
    }
  }
  return result;
}

// Operands broadcast against each other as in NumPy, dimensions counted from the last.
Classes elementwise(const BatchCall& call) {
  const int rank = call.full.out[0].rank();
  const auto where = joined(call, call.in.size(), [&](std::size_t i) {
    return layout(call, i).axis + rank - call.full.in[i].rank();
  });
  return where ? all_results(call, batched_class(*where)) : cannot;
}

// One operand whose axes stay where they are.
Classes same_axes(const BatchCall& call) {
  return is_batched(call, 0) ? all_results(call, call.in[0]) : cannot;
}
// The same along all axes but one, along which elements meet.
Classes along_axis(const BatchCall& call) {
  return is_batched(call, 0) && layout(call, 0).axis != axis_attr(call.full) ? same_axes(call) : cannot;
}
// The same for complex numbers, whose parts stand along the last axis; `complex` says whether operands are.
template <bool complex>
Classes transformed_axis(const BatchCall& call) {
  const bool parts = complex && is_batched(call, 0) && layout(call, 0).axis == call.full.in[0].rank() - 1;
  return parts ? cannot : along_axis(call);
}
// The same but for the last two axes.
Classes leading_axes(const BatchCall& call) {
  return is_batched(call, 0) && layout(call, 0).axis < call.full.in[0].rank() - 2 ? same_axes(call) : cannot;
}
// Systems of equations: leading axes of both operands are those of the result.
Classes systems(const BatchCall& call) {
  const int rank = call.full.out[0].rank();
  for (std::size_t i = 0; i < 2; ++i) {
    const bool same_rank = call.full.in[i].rank() == rank;
    if (!is_batched(call, i) || !same_rank || layout(call, i).axis >= rank - 2) return cannot;
  }
  return elementwise(call);
}

// ---- movement

Classes broadcast(const BatchCall& call) {
  const Shape &full = call.full.out[0].shape, &from = call.full.in[0].shape;
  const std::optional<int> axis = batch_axis(call.full.out[0], call.small.out[0], call.parts);
  if (!axis) return cannot;
  const int own = *axis - (full.rank() - from.rank());
  if (is_batched(call, 0))
    return layout(call, 0).axis == own ? all_results(call, layout(call, 0), *axis) : cannot;
  if (own >= 0 && from[own] != 1) return cannot;
  return all_results(call, batched_class({.axis = *axis, .outer = 1, .uniform = true}));
}

Classes reshape(const BatchCall& call) {
  const std::optional<int> axis = batch_axis(call.full.out[0], call.small.out[0], call.parts);
  if (!axis || !is_batched(call, 0)) return cannot;
  const auto where =
      reshaped_layout(layout(call, 0), call.full.in[0].shape, call.full.out[0].shape, *axis, call.parts);
  return where ? all_results(call, batched_class(*where)) : cannot;
}

Classes transpose(const BatchCall& call) {
  if (!is_batched(call, 0)) return cannot;
  return all_results(call, layout(call, 0), place(attr<Dims>(call.full, "order"), layout(call, 0).axis));
}

Classes slice(const BatchCall& call) {
  if (!is_batched(call, 0)) return cannot;
  const int axis = layout(call, 0).axis;
  for (const std::string_view name : {"start", "limit", "step"}) {
    const Dims &full = attr<Dims>(call.full, name), &small = attr<Dims>(call.small, name);
    for (int i = 0; i < full.rank(); ++i) {
      if (i != axis && full[i] != small[i]) return cannot;
    }
  }
  for (const Call* one : {&call.full, &call.small}) {
    const bool all = attr<Dims>(*one, "start")[axis] == 0 && attr<Dims>(*one, "step")[axis] == 1 &&
                     attr<Dims>(*one, "limit")[axis] == one->in[0].shape[axis];
    if (!all) return cannot;
  }
  return same_axes(call);
}

Classes pad(const BatchCall& call) {
  if (!is_batched(call, 0) || is_batched(call, 1)) return cannot;
  for (const std::string_view name : {"low", "high", "interior"}) {
    if (attr<Dims>(call.full, name)[layout(call, 0).axis] != 0) return cannot;
  }
  return same_axes(call);
}

// All operands along the same axis, which is not the one of the attributes.
Classes beside_axis(const BatchCall& call) {
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (!is_batched(call, i)) return cannot;
  }
  const auto where = joined(call, call.in.size(), [&](std::size_t i) { return layout(call, i).axis; });
  return where && where->axis != axis_attr(call.full) ? all_results(call, batched_class(*where)) : cannot;
}

Classes flip(const BatchCall& call) {
  return is_batched(call, 0) && !has(attr<Dims>(call.full, "axes"), layout(call, 0).axis) ? same_axes(call)
                                                                                          : cannot;
}

// Counts along an axis: the same in all micro-batches if that is another than the batch's.
Classes iota(const BatchCall& call) {
  const std::optional<int> axis = batch_axis(call.full.out[0], call.small.out[0], call.parts);
  if (!axis || *axis == axis_attr(call.full)) return cannot;
  return all_results(call, batched_class({.axis = *axis, .outer = 1, .uniform = true}));
}

Classes update_slice(const BatchCall& call) {
  if (!is_batched(call, 0) || !is_batched(call, 1)) return cannot;
  const auto where = joined(call, 2, [&](std::size_t i) { return layout(call, i).axis; });
  if (!where) return cannot;
  const int axis = where->axis;
  const bool all = attr<Dims>(call.full, "start")[axis] == 0 && attr<Dims>(call.full, "step")[axis] == 1 &&
                   call.full.in[1].shape[axis] == call.full.in[0].shape[axis];
  return all ? all_results(call, batched_class(*where)) : cannot;
}

// ---- indexing

// Of x (…, n, …) at indices (i…): (…, i…, …).
Classes take(const BatchCall& call) {
  const int axis = axis_attr(call.full);
  if (is_batched(call, 0) == is_batched(call, 1)) return cannot;
  if (is_batched(call, 1)) return all_results(call, layout(call, 1), axis + layout(call, 1).axis);
  const int own = layout(call, 0).axis;
  if (own == axis) return cannot;
  return all_results(call, layout(call, 0), own < axis ? own : own + call.full.in[1].rank() - 1);
}

// Its adjoint: updates (…, i…, …) at indices (i…) summed into (…, n, …).
Classes take_add(const BatchCall& call) {
  const int axis = axis_attr(call.full), rank = call.full.in[1].rank();
  if (!is_batched(call, 0) || call.in.size() != 2) return cannot;
  const BatchLayout& updates = layout(call, 0);
  const bool along_indices = updates.axis >= axis && updates.axis < axis + rank;
  if (is_batched(call, 1)) {
    const auto where =
        joined(call, 2, [&](std::size_t i) { return layout(call, i).axis + (i == 1 ? axis : 0); });
    return where ? all_results(call, partial_class) : cannot;
  }
  if (along_indices) return cannot;
  return all_results(call, updates, updates.axis < axis ? updates.axis : updates.axis - rank + 1);
}

Classes one_hot(const BatchCall& call) { return same_axes(call); }

// ---- reductions

int axis_behind(const BatchCall& call, const Dims& axes, bool keep) {
  const int own = layout(call, 0).axis;
  return keep ? own
              : own - static_cast<int>(std::ranges::count_if(axes, [&](std::int64_t a) { return a < own; }));
}

Classes reduce(const BatchCall& call) {
  const Dims& axes = attr<Dims>(call.full, "axes");
  if (!is_batched(call, 0) || has(axes, layout(call, 0).axis)) return cannot;
  return all_results(call, layout(call, 0), axis_behind(call, axes, attr<bool>(call.full, "keep")));
}

Classes reduce_sum(const BatchCall& call) {
  if (is_batched(call, 0) && has(attr<Dims>(call.full, "axes"), layout(call, 0).axis))
    return all_results(call, partial_class);
  return reduce(call);
}

Classes arg_extremum(const BatchCall& call) {
  const Dims axes = {axis_attr(call.full)};
  if (!is_batched(call, 0) || has(axes, layout(call, 0).axis)) return cannot;
  return all_results(call, layout(call, 0), axis_behind(call, axes, false));
}

// ---- contractions

Dims free_axes(int rank, const Dims& batch, const Dims& contracted) {
  Dims free;
  for (int d = 0; d < rank; ++d) {
    if (!has(batch, d) && !has(contracted, d)) free.push_back(d);
  }
  return free;
}

Classes contract(const BatchCall& call) {
  const Dims &left_batch = attr<Dims>(call.full, "lhs_batch"),
             &right_batch = attr<Dims>(call.full, "rhs_batch");
  const Dims &left_sum = attr<Dims>(call.full, "lhs_contract"),
             &right_sum = attr<Dims>(call.full, "rhs_contract");
  const Dims left_free = free_axes(call.full.in[0].rank(), left_batch, left_sum);
  const Dims right_free = free_axes(call.full.in[1].rank(), right_batch, right_sum);
  if (call.in.size() != 2) return cannot;
  if (is_batched(call, 0) && is_batched(call, 1)) {
    const BatchLayout &left = layout(call, 0), &right = layout(call, 1);
    const auto paired = [&](const Dims& l, const Dims& r) {
      return has(l, left.axis) && place(l, left.axis) == place(r, right.axis);
    };
    BatchLayout moved = right;
    moved.axis = left.axis;
    const auto where = common_layout(left, moved);
    if (!where) return cannot;
    if (paired(left_sum, right_sum)) return all_results(call, partial_class);
    if (paired(left_batch, right_batch)) return all_results(call, *where, place(left_batch, left.axis));
    return cannot;
  }
  const std::size_t own = is_batched(call, 0) ? 0 : 1;
  if (!is_batched(call, own)) return cannot;
  const Dims& free = own == 0 ? left_free : right_free;
  if (!has(free, layout(call, own).axis)) return cannot;
  const int first = left_batch.rank() + (own == 0 ? 0 : left_free.rank());
  return all_results(call, layout(call, own), first + place(free, layout(call, own).axis));
}

// Examples along the first axis of the first operand, weights that all of them share.
Classes shared_weights(const BatchCall& call) {
  return is_batched(call, 0) && layout(call, 0).axis == 0 && !is_batched(call, 1) ? same_axes(call) : cannot;
}
Classes weight_gradient(const BatchCall& call) {
  if (!is_batched(call, 0) || !is_batched(call, 1)) return cannot;
  const auto where = joined(call, 2, [&](std::size_t i) { return layout(call, i).axis; });
  return where && where->axis == 0 ? all_results(call, partial_class) : cannot;
}
// Over windows of the axes behind the first two.
Classes windows(const BatchCall& call) {
  return is_batched(call, 0) && layout(call, 0).axis < 2 ? same_axes(call) : cannot;
}

// ---- of sums that are not complete: what is linear in them

bool is_partial(const BatchCall& call, std::size_t i) { return call.in[i].is(BatchRole::partial); }
bool is_whole(const BatchCall& call, std::size_t i) { return call.in[i].is(BatchRole::whole); }
// Or nothing, which may be added to any.
bool is_summand(const BatchCall& call, std::size_t i) {
  return is_partial(call, i) || (is_whole(call, i) && call.in[i].zero);
}

// In the first operand, with all others whole.
Classes linear_in_first(const BatchCall& call) {
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (i == 0 ? !is_partial(call, i) : !is_whole(call, i)) return cannot;
  }
  return all_results(call, partial_class);
}
// Onto a third operand: that would be added for each part.
Classes linear_take_add(const BatchCall& call) {
  return call.in.size() == 2 ? linear_in_first(call) : cannot;
}
// In all operands together.
Classes linear_in_all(const BatchCall& call) {
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (!is_summand(call, i)) return cannot;
  }
  return all_results(call, partial_class);
}
// In each of two operands.
Classes linear_in_one(const BatchCall& call) {
  if (call.in.size() != 2) return cannot;
  const bool one = (is_partial(call, 0) && is_whole(call, 1)) || (is_whole(call, 0) && is_partial(call, 1));
  return one ? all_results(call, partial_class) : cannot;
}
// Between floating-point types: rounding is all that differs.
Classes linear_cast(const BatchCall& call) {
  return is_float(call.full.in[0].dtype) && is_float(call.full.out[0].dtype) ? linear_in_first(call) : cannot;
}
Classes linear_select(const BatchCall& call) {
  return is_whole(call, 0) && is_summand(call, 1) && is_summand(call, 2) ? all_results(call, partial_class)
                                                                         : cannot;
}

}  // namespace batch_rule
}  // namespace

BatchRules::BatchRules(const Op* (*find)(std::string_view name))
    : mean_(find("reduce_mean")), loop_(find("loop")) {
  using namespace batch_rule;
  const auto add = [&](std::string_view name, Row row) {
    if (const Op* op = find(name)) rows_.emplace(op, row);
  };
  constexpr bool sizes = true;
  // Elementwise ones have a row for what they do with sums alone.
  add("add", {elementwise, linear_in_all});
  add("sub", {elementwise, linear_in_all});
  add("neg", {elementwise, linear_in_first});
  add("mul", {elementwise, linear_in_one});
  add("div", {elementwise, linear_in_first});
  add("cast", {elementwise, linear_cast});
  add("select", {elementwise, linear_select});
  add("stop_gradient", {same_axes, linear_in_first});
  add("residual", {same_axes, linear_in_first});
  for (const std::string_view name : {"to_grid", "couple", "uncouple", "undone"}) add(name, {elementwise});

  add("broadcast", {broadcast, linear_in_first, sizes});
  add("reshape", {reshape, linear_in_first, sizes});
  add("transpose", {transpose, linear_in_first});
  add("slice", {slice, linear_in_first, sizes});
  add("pad", {pad});
  add("concat", {beside_axis, linear_in_all});
  add("split", {along_axis, linear_in_first});
  add("flip", {flip, linear_in_first});
  add("tril", {leading_axes, linear_in_first});
  add("triu", {leading_axes, linear_in_first});
  add("iota", {iota, nullptr, sizes});
  add("update_slice", {update_slice});

  add("take", {take, linear_in_first});
  add("take_add", {take_add, linear_take_add});
  add("gather", {beside_axis, linear_in_first});
  add("scatter_add", {beside_axis});
  add("one_hot", {one_hot});

  add("reduce_sum", {reduce_sum, linear_in_first});
  for (const std::string_view name :
       {"reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_logsumexp", "reduce_var"}) {
    add(name, {reduce});
  }
  add("argmax", {arg_extremum});
  add("argmin", {arg_extremum});
  add("cumsum", {along_axis, linear_in_first});

  add("contract", {contract, linear_in_one});
  add("conv", {shared_weights});
  add("conv_input_grad", {shared_weights});
  add("conv_weight_grad", {weight_gradient});
  add("max_pool", {windows});
  add("avg_pool", {windows});
  add("avg_pool_grad", {windows});

  add("fft", {transformed_axis<true>, linear_in_first});
  add("rfft", {transformed_axis<false>, linear_in_first});
  add("irfft", {transformed_axis<true>, linear_in_first});

  for (const std::string_view name : {"cholesky", "qr", "svd", "eigh", "det", "cofactors", "slogdet"}) {
    add(name, {leading_axes});
  }
  add("triangular_solve", {systems});
  add("solve", {systems});
  add("sort", {along_axis});
  add("top_k", {along_axis});

  for (const std::string_view name : {"random_bits", "random_uniform", "random_normal", "random_bernoulli"}) {
    if (const Op* op = find(name)) numbered_.push_back(op);
  }
}

const BatchRules::Row* BatchRules::row_of(const Op& op) const {
  static constexpr Row plain{.batched = batch_rule::elementwise};
  const auto found = rows_.find(&op);
  if (found != rows_.end()) return &found->second;
  return op.kind == OpKind::elementwise && !op.custom ? &plain : nullptr;
}

BatchRules::LoopShape BatchRules::loop_shape(const Call& call) const {
  const auto count = [&](std::string_view name) {
    return static_cast<std::size_t>(batch_rule::attr<std::int64_t>(call, name));
  };
  return {count("carries"), count("scanned")};
}

bool BatchRules::knows(const Op& op) const { return row_of(op) != nullptr; }

// Sizes may differ where the rule looks at them, numbers always; anything else that differs says something
// about the batch that no rule understands.
bool BatchRules::attrs_agree(const BatchCall& call, bool sizes_may_differ) {
  const Attrs &full = *call.full.attrs, &small = *call.small.attrs;
  if (full.size() != small.size()) return false;
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (same_attrs({full[i]}, {small[i]})) continue;
    const bool is_number = std::holds_alternative<double>(full[i]);
    const bool is_size = std::holds_alternative<Dims>(full[i]);
    if (!is_number && !(sizes_may_differ && is_size)) return false;
  }
  return true;
}

std::vector<BatchClass> BatchRules::results(const BatchCall& call) const {
  const Row* row = row_of(*call.full.op);
  if (!row) return {};
  if (std::ranges::any_of(call.in, &BatchClass::mean)) return {};
  const bool partial =
      std::ranges::any_of(call.in, [](const BatchClass& c) { return c.is(BatchRole::partial); });
  const Rule rule = partial ? row->partial : row->batched;
  if (!rule || !attrs_agree(call, row->has_sizes && !partial)) return {};
  std::vector<BatchClass> classes = rule(call);
  for (std::size_t r = 0; r < classes.size(); ++r) {
    if (!fits(classes[r], call.full.out[r], call.small.out[r], call.parts)) return {};
  }
  return classes;
}

Attrs BatchRules::attrs_for(const BatchCall& call) const {
  Attrs attrs = *call.small.attrs;
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    if (std::holds_alternative<double>(attrs[i])) attrs[i] = (*call.full.attrs)[i];
  }
  return attrs;
}

}  // namespace tidemark
