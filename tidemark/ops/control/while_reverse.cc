// Derivatives of the gradient of a loop of unknown length. With x and p what the loop began with and
// captured, Φ(x, p) what it ended with and J its derivative, the reversal computes G = Jᵀλ. By the number of
// trips, which is known now, Φ is a loop again, and so is its tangent Φ̇ = J (ẋ, ṗ), so that nothing of the
// reversal itself is differentiated:
//
//   pulling μ back:      ⟨μ, G⟩ = ⟨J μ, λ⟩, so λ gets J μ, and (x, p) the gradient of ⟨Φ̇, λ⟩ for (ẋ, ṗ) = μ
//   pushing (ẋ, ṗ, λ̇):   Ġ is the gradient by (x, p) of ⟨Φ̇, λ⟩ + ⟨Φ, λ̇⟩, and G that by (ẋ, ṗ)
//
// Either way it is the gradient of a while_loop, so derivatives of any order exist.
#include <algorithm>

#include "tidemark/ir/effects.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/control/while_loop.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark {
namespace {

bool has_custom_vjp(const Graph& region) {
  return std::ranges::any_of(region.nodes(), [](const Node& node) {
    return node.op == &op::custom_vjp_call || std::ranges::any_of(node.regions, has_custom_vjp);
  });
}

// Where things are among the operands of the reversal.
struct ReversalOperands {
  explicit ReversalOperands(const Call& call)
      : attrs(call.attrs_as<LoopReverseAttrs>()), carries(static_cast<std::size_t>(attrs.carries)) {
    TM_CHECK(attrs.unknown_length() && attrs.begins, "a reversal that is decided is differentiated");
    for (std::size_t c = 0; c < carries; ++c) {
      if (is_float(call.in[c].dtype)) float_carries.push_back(c);
    }
    captured_at = carries + float_carries.size();
    begin_at = call.in.size() - 2 - carries;
    captured = begin_at - captured_at;
  }
  std::size_t seed(std::size_t k) const { return carries + k; }
  std::size_t begin(std::size_t c) const { return begin_at + c; }
  std::size_t captured_value(std::size_t i) const { return captured_at + i; }

  LoopReverseAttrs attrs;
  std::size_t carries, captured, captured_at, begin_at;
  std::vector<std::size_t> float_carries;
};

// Φ: (began with…, captured…, trips) → (ended with…)
Graph forward_again(const Call& call, const ReversalOperands& at) {
  Graph graph;
  Builder builder(graph);
  builder.set_where(call.where);
  std::vector<Var> carried, fixed;
  for (std::size_t c = 0; c < at.carries; ++c) carried.push_back(builder.input(call.in[at.begin(c)]));
  for (std::size_t i = 0; i < at.captured; ++i) fixed.push_back(builder.input(call.in[at.captured_value(i)]));
  fixed.push_back(builder.input(call.in.back()));
  carried.push_back(zeros(builder, call.in.back()));  // the number of the step
  std::vector<Var> operands = carried;
  operands.insert(operands.end(), fixed.begin(), fixed.end());

  Graph goes_on, body;
  Builder test(goes_on), step(body);
  std::vector<Var> tested, in, inner;
  for (const Var& operand : operands) {
    tested.push_back(test.input(operand.type()));
    in.push_back(step.input(operand.type()));
  }
  goes_on.add_output(less(tested[at.carries], tested.back()).id());
  for (std::size_t i = 0; i + 1 < in.size(); ++i) {
    if (i != at.carries) inner.push_back(in[i]);
  }
  const Graph again = replayed(call.regions[0], nothing_fresh, call.where,
                               "the derivative of a while_loop's gradient runs its steps again",
                               "call it before the loop and pass in what it returns");
  for (const Var& next : inline_graph(step, again, inner)) body.add_output(next.id());
  body.add_output((in[at.carries] + 1).id());

  const WhileAttrs attrs{.carries = at.attrs.carries + 1, .memory = at.attrs.memory};
  std::vector<Graph> regions;
  regions.push_back(std::move(goes_on));
  regions.push_back(std::move(body));
  std::vector<Var> ended = builder.call(op::while_loop, operands, pack(attrs), std::move(regions));
  for (std::size_t c = 0; c < at.carries; ++c) graph.add_output(ended[c].id());
  return graph;
}

struct Mask {
  explicit Mask(std::size_t size) : size(size), bits(new bool[size]()) {}
  operator std::span<const bool>() const { return {bits.get(), size}; }  // NOLINT: implicit
  std::size_t size;
  std::unique_ptr<bool[]> bits;
};

// Φ and Φ̇: (began with…, captured…, trips, ẋ of each floating-point one…, ṗ of those that move…) → (Φ…, Φ̇…)
Graph pushed(const RuleCall& rule, const ReversalOperands& at, const Mask& moves) {
  if (has_custom_vjp(rule.call.regions[0])) {  // whose Jᵀ need not be the transpose of J
    fail(ErrorCode::not_differentiable,
         {.what = "the gradient of a while_loop whose body has a custom_vjp is differentiated again",
          .where = rule.call.where,
          .help =
              "take the derivative that comes first in forward mode (jvp), or loop a fixed number of times"});
  }
  Mask wanted(at.carries + at.captured + 1);
  for (std::size_t c : at.float_carries) wanted.bits[c] = true;
  for (std::size_t i = 0; i < at.captured; ++i) wanted.bits[at.carries + i] = moves.bits[i];
  return rule.calculus->jvp(forward_again(rule.call, at), wanted);
}

// The first of its inputs.
std::vector<Var> values(const RuleCall& rule, const ReversalOperands& at) {
  std::vector<Var> list;
  for (std::size_t c = 0; c < at.carries; ++c) list.push_back(rule.in[at.begin(c)]);
  for (std::size_t i = 0; i < at.captured; ++i) list.push_back(rule.in[at.captured_value(i)]);
  list.push_back(rule.in.back());
  return list;
}

Var or_zeros(const Var& x, const Var& like) { return x ? x : zeros_like(like); }

}  // namespace

std::vector<Var> while_reverse_vjp(const RuleCall& rule) {
  const ReversalOperands at(rule.call);
  const std::size_t carried = at.float_carries.size();
  // μ: what arrives at the gradients of what it began with, and of what it captured.
  Mask moves(at.captured);
  std::vector<Var> direction;
  for (std::size_t k = 0; k < carried; ++k) direction.push_back(or_zeros(rule.seed[k], rule.out[k]));
  for (std::size_t k = 0; k < at.attrs.summed.size(); ++k) {
    if (!rule.seed[carried + k]) continue;
    moves.bits[static_cast<std::size_t>(at.attrs.summed[k])] = true;
    direction.push_back(rule.seed[carried + k]);
  }
  const Graph graph = pushed(rule, at, moves);
  std::vector<Var> in = values(rule, at);
  in.insert(in.end(), direction.begin(), direction.end());

  Mask wanted(in.size());
  const auto wants = [&](std::size_t operand) {
    return rule.wants(static_cast<int>(operand)) && is_float(rule.in[operand].dtype());
  };
  for (std::size_t c = 0; c < at.carries; ++c) wanted.bits[c] = wants(at.begin(c));
  for (std::size_t i = 0; i < at.captured; ++i) wanted.bits[at.carries + i] = wants(at.captured_value(i));
  for (std::size_t k = 0; k < carried; ++k) in.push_back(zeros_like(rule.in[at.seed(k)]));
  for (std::size_t k = 0; k < carried; ++k) in.push_back(rule.in[at.seed(k)]);
  const std::vector<Var> found = inline_graph(rule.builder, rule.calculus->vjp(graph, wanted, {}), in);

  std::vector<Var> gradients(rule.in.size());
  for (std::size_t k = 0; k < carried; ++k) gradients[at.seed(k)] = found[at.carries + k];
  std::size_t next = at.carries + carried;
  for (std::size_t c = 0; c < at.carries; ++c) {
    if (wanted.bits[c]) gradients[at.begin(c)] = found[next++];
  }
  for (std::size_t i = 0; i < at.captured; ++i) {
    if (wanted.bits[at.carries + i]) gradients[at.captured_value(i)] = found[next++];
  }
  return gradients;
}

std::vector<Var> while_reverse_jvp(const RuleCall& rule) {
  const ReversalOperands at(rule.call);
  const std::size_t carried = at.float_carries.size(), sums = at.attrs.summed.size();
  Mask moves(at.captured);
  bool any = false;
  for (std::size_t c = 0; c < at.carries; ++c) any = any || rule.seed[at.begin(c)];
  for (std::size_t i = 0; i < at.captured; ++i) {
    moves.bits[i] = static_cast<bool>(rule.seed[at.captured_value(i)]);
    any = any || moves.bits[i];
  }
  if (!any) {  // linear in the seeds
    std::vector<Var> operands(rule.in.begin(), rule.in.end());
    for (std::size_t k = 0; k < carried; ++k)
      operands[at.seed(k)] = or_zeros(rule.seed[at.seed(k)], rule.in[at.seed(k)]);
    std::vector<Var> tangents =
        rule.builder.call(op::loop_reverse, operands, *rule.call.attrs,
                          std::vector<Graph>(rule.call.regions.begin(), rule.call.regions.end()));
    std::fill(tangents.begin() + static_cast<std::ptrdiff_t>(carried + sums), tangents.end(), Var());
    return tangents;
  }
  for (std::int64_t i : at.attrs.summed) moves.bits[static_cast<std::size_t>(i)] = true;
  const Graph graph = pushed(rule, at, moves);
  std::vector<Var> in = values(rule, at);
  for (std::size_t c : at.float_carries) in.push_back(or_zeros(rule.seed[at.begin(c)], rule.in[at.begin(c)]));
  Mask wanted(graph.inputs().size());
  for (std::size_t c : at.float_carries) wanted.bits[c] = true;
  for (std::size_t k = 0; k < carried; ++k) wanted.bits[in.size() - carried + k] = true;
  for (std::size_t i = 0; i < at.captured; ++i) {
    if (!moves.bits[i]) continue;
    const bool summed = std::ranges::count(at.attrs.summed, static_cast<std::int64_t>(i)) > 0;
    wanted.bits[at.carries + i] = wanted.bits[in.size()] = summed;
    in.push_back(or_zeros(rule.seed[at.captured_value(i)], rule.in[at.captured_value(i)]));
  }
  for (std::size_t k = 0; k < carried; ++k)
    in.push_back(or_zeros(rule.seed[at.seed(k)], rule.in[at.seed(k)]));
  for (std::size_t k = 0; k < carried; ++k) in.push_back(rule.in[at.seed(k)]);
  const std::vector<Var> found = inline_graph(rule.builder, rule.calculus->vjp(graph, wanted, {}), in);

  // By x and p: the tangents; by ẋ and ṗ: the results.
  const std::size_t results = rule.out.size();
  std::vector<Var> result(results);
  result.insert(result.end(), rule.out.begin(), rule.out.end());
  std::size_t next = at.carries + carried;
  for (std::size_t r = 0; r < carried + sums; ++r) result[r] = found[next++];
  for (std::size_t r = 0; r < carried + sums; ++r) result[results + r] = found[next++];
  return result;
}

}  // namespace tidemark
