#include "tidemark/autodiff/forward.h"

#include <memory>

#include "tidemark/autodiff/expand.h"
#include "tidemark/autodiff/reverse.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/effects.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

// A vjp w ↦ Jᵀw is linear in w, so pulling v back through it gives J v: forward mode for ops that only have a
// vjp.
std::vector<Var> transpose_twice(const RuleCall& rule) {
  Graph graph;
  Builder builder(graph);
  std::vector<Var> in, out, seed;
  for (const Var& x : rule.in) in.push_back(builder.input(x.type()));
  for (const Var& y : rule.out) out.push_back(builder.input(y.type()));
  std::vector<Var> seeded;
  for (const Var& y : rule.out) {
    seed.push_back(is_float(y.dtype()) ? builder.input(y.type()) : Var());
    if (seed.back()) seeded.push_back(seed.back());
  }
  builder.set_where(rule.call.where);
  const std::vector<Var> pulled = rule.call.op->vjp(
      {.builder = builder, .call = rule.call, .in = in, .out = out, .seed = seed, .calculus = &calculus});
  for (std::size_t o = 0; o < pulled.size(); ++o) {
    if (pulled[o] && rule.seed[o]) graph.add_output(pulled[o].id());
  }
  const std::size_t inputs = graph.inputs().size(), outputs = graph.outputs().size();
  std::unique_ptr<bool[]> wrt(new bool[inputs]);
  for (std::size_t i = 0; i < inputs; ++i) wrt[i] = i >= inputs - seeded.size();
  Graph transposed = for_replay(vjp_graph(graph, {wrt.get(), inputs}));  // for its values alone
  forget_reverse(transposed);

  // The seeds themselves are absent from a linear map's transpose: any value serves, so zeros stand for them.
  std::vector<Var> arguments(rule.in.begin(), rule.in.end());
  arguments.insert(arguments.end(), rule.out.begin(), rule.out.end());
  for (const Var& s : seeded) arguments.push_back(zeros(rule.builder, s.type()));
  for (std::size_t o = 0; o < pulled.size(); ++o) {
    if (pulled[o] && rule.seed[o]) arguments.push_back(rule.seed[o]);
  }
  const std::vector<Var> values = inline_graph(rule.builder, transposed, arguments);
  std::vector<Var> result(rule.out.size());
  for (std::size_t r = 0, next = outputs; r < result.size(); ++r) {
    if (seed[r]) result[r] = values[next++];
  }
  return result;
}

// What a rule computed along with the tangents has the effects of the node that it replaces: that one goes,
// or all would happen twice.
Graph without_replaced(Graph graph, const std::vector<NodeId>& replaced) {
  if (std::ranges::none_of(replaced, [&](NodeId n) { return has_effects(graph[n]); })) return graph;
  std::vector<bool> acts(graph.nodes().size());
  for (std::size_t n = 0; n < acts.size(); ++n) acts[n] = has_effects(graph.nodes()[n]);
  for (NodeId n : replaced) acts[n.index] = false;
  const std::vector<bool> needed = needed_nodes(graph, acts);
  for (NodeId n : replaced) {
    // The states that it kept are read: it runs for them alone.
    for (Graph& region : graph[n].regions) {
      if (!needed[n.index] || is_repeatable(region)) continue;
      if (const Node* once = first_unreplayable(region)) {
        fail(ErrorCode::not_differentiable,
             {.what = fmt::format("this derivative runs {} again, and {} in it may run only once",
                                  graph[n].op->name, once->op->name),
              .where = once->where.known() ? once->where : graph[n].where,
              .help = "call it before the loop and pass in what it returns"});
      }
      region = for_replay(region);
    }
  }
  return with_nodes(graph, needed);
}

// A tangent is kept, recomputed and returned like the value it belongs to.
void copy_hints_to_tangents(const Graph& source, Graph& target, std::span<const Var> tangent) {
  for (Hint hint : source.hints()) {
    if (!hint.value.valid() || !tangent[hint.value.index]) continue;
    hint.value = tangent[hint.value.index].id();
    target.add_hint(std::move(hint));
  }
  for (std::size_t c = 0; c < source.checkpoints().size(); ++c) {
    for (ValueId v : source.checkpoints()[c].results) {
      if (tangent[v.index]) target[CheckpointId(c)].results.push_back(tangent[v.index].id());
    }
  }
}

}  // namespace

Graph jvp_graph(const Graph& f, std::span<const bool> wrt) {
  const Graph source = expand(f, [](const Node& node) {
    return node.op->derivative == Derivative::rule && !node.op->jvp && node.op->expand;
  });
  Graph result;
  result.name = f.name;
  Builder builder(result);
  std::vector<Var> value(source.values().size()), tangent(source.values().size());
  for (const Input& input : source.inputs()) {
    value[input.value.index] = Var(builder, result.copy_input(source, input));
  }
  for (std::size_t i = 0; i < source.inputs().size(); ++i) {
    const ValueId v = source.inputs()[i].value;
    if (wrt[i])
      tangent[v.index] =
          builder.input(source.type(v), source[v].name.empty() ? "" : source[v].name + ".tangent");
  }
  copy_checkpoints(source, result);
  std::vector<NodeId> replaced;
  for (const Node& node : source.nodes()) {
    builder.set_origin(node);  // of the tangents too: they are computed along with the values
    std::vector<Var> in, seed;
    bool any = false;
    for (ValueId v : node.operands) {
      in.push_back(value[v.index]);
      seed.push_back(tangent[v.index]);
      any = any || tangent[v.index];
    }
    const NodeId added(result.nodes().size());
    const std::vector<Var> out = builder.call(*node.op, in, node.attrs, node.regions);
    for (std::size_t r = 0; r < out.size(); ++r) {
      value[node.results[r].index] = out[r];
      result[out[r].id()].name = source[node.results[r]].name;
    }
    if (!any || node.op->derivative == Derivative::zero) continue;
    if (!node.op->jvp && !node.op->vjp) {
      fail(ErrorCode::not_differentiable,
           {.what = fmt::format("{} has no derivative, and the tangent asked for passes through it",
                                node.op->name),
            .where = node.where,
            .help = "give it a jvp or a vjp, or cut the path with stop_gradient"});
    }
    const NodeCall call(source, node);
    const RuleCall rule{
        .builder = builder, .call = call, .in = in, .out = out, .seed = seed, .calculus = &calculus};
    const std::vector<Var> tangents = node.op->jvp ? node.op->jvp(rule) : transpose_twice(rule);
    const bool with_results = tangents.size() == 2 * out.size();
    TM_CHECK(with_results || tangents.size() == out.size(), "{}: jvp gave {} tangents for {} results",
             node.op->name, tangents.size(), out.size());
    if (with_results) replaced.push_back(added);
    for (std::size_t r = 0; r < out.size(); ++r) {
      if (tangents[r]) {
        TM_CHECK(tangents[r].type() == out[r].type(), "{}: tangent {} of a result {}", node.op->name,
                 to_string(tangents[r].type()), to_string(out[r].type()));
      }
      tangent[node.results[r].index] = tangents[r];
      if (!with_results) continue;
      const Var result_too = tangents[out.size() + r];
      value[node.results[r].index] = result_too;
      result[result_too.id()].name = source[node.results[r]].name;
    }
  }
  copy_hints(source, result, 0, ids_of(value));
  copy_hints_to_tangents(source, result, tangent);
  builder.set_checkpoint({});
  builder.set_backward(false);
  for (ValueId v : source.outputs()) result.add_output(value[v.index].id());
  for (ValueId v : source.outputs()) {
    if (!is_float(source.type(v).dtype)) continue;
    const Var t = tangent[v.index] ? tangent[v.index] : zeros_like(value[v.index]);
    result.add_output(t.id());
  }
  return without_replaced(std::move(result), replaced);
}

}  // namespace tidemark
