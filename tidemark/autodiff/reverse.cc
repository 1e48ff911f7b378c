#include "tidemark/autodiff/reverse.h"

#include <memory>

#include "tidemark/autodiff/expand.h"
#include "tidemark/autodiff/forward.h"
#include "tidemark/autodiff/residuals.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/effects.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

bool needs_expansion(const Node& node) {
  return node.op->derivative == Derivative::rule && !node.op->vjp && node.op->expand;
}

// Which values depend on `inputs` through differentiable ops.
std::vector<bool> active_values(const Graph& graph, std::span<const Var> inputs) {
  std::vector<bool> active(graph.values().size(), false);
  for (const Var& input : inputs) active[input.id().index] = true;
  for (const Node& node : graph.nodes()) {
    if (node.op->derivative == Derivative::zero) continue;
    bool any = false;
    for (ValueId v : node.operands) any = any || active[v.index];
    for (ValueId v : node.results)
      active[v.index] = active[v.index] || (any && is_float(graph.type(v).dtype));
  }
  return active;
}

// Replaces calls that gradients will pass through by what their vjp needs to have run (Op::for_reverse).
Graph ready_for_reverse(const Graph& graph, std::span<const bool> wrt) {
  const auto asks = [](const Node& node) { return node.op->for_reverse != nullptr; };
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), asks)) return graph;
  Graph result;
  result.name = graph.name;
  Builder builder(result);
  std::vector<Var> image(graph.values().size());
  std::vector<bool> active(graph.values().size(), false);
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId v = graph.inputs()[i].value;
    image[v.index] = Var(builder, result.copy_input(graph, graph.inputs()[i]));
    active[v.index] = wrt[i];
  }
  copy_checkpoints(graph, result);
  for (const Node& node : graph.nodes()) {
    builder.set_origin(node);
    std::vector<Var> in;
    std::unique_ptr<bool[]> wanted(new bool[node.operands.size()]);
    bool any = false;
    for (std::size_t o = 0; o < node.operands.size(); ++o) {
      in.push_back(image[node.operands[o].index]);
      wanted[o] = active[node.operands[o].index];
      any = any || wanted[o];
    }
    any = any && node.op->derivative != Derivative::zero;
    NodeCall call(graph, node);
    std::vector<Graph> regions;
    if (any && asks(node)) {
      // As their gradients will be made of them: whether a step is kept or computed again must not be seen in
      // its bits.
      for (const Graph& region : node.regions)
        regions.push_back(expand(region, needs_expansion, ExpandRegions::inside));
      call.call.regions = regions;
    }
    const std::vector<Var> out = any && asks(node)
                                     ? node.op->for_reverse({.builder = builder,
                                                             .call = call,
                                                             .in = in,
                                                             .out = {},
                                                             .seed = {},
                                                             .wanted = {wanted.get(), node.operands.size()},
                                                             .calculus = &calculus})
                                     : builder.call(*node.op, in, node.attrs, node.regions);
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      image[node.results[r].index] = out[r];
      active[node.results[r].index] = any && is_float(graph.type(node.results[r]).dtype);
      if (!graph[node.results[r]].name.empty()) result[out[r].id()].name = graph[node.results[r]].name;
    }
  }
  for (ValueId v : graph.outputs()) result.add_output(image[v.index].id());
  copy_hints(graph, result, 0, ids_of(image));
  return result;
}

std::vector<Var> input_vars(Builder& builder) {
  std::vector<Var> vars;
  for (const Input& input : builder.graph().inputs()) vars.emplace_back(builder, input.value);
  return vars;
}

struct Seeds {
  std::vector<Var> at, values;
};

// Where the values of a region are computed again for its gradient, effects that read no gradient are taken
// to have happened (ir/effects.h). So those that rules write, from node `first_rule` on, must read one.
void require_effects_to_read_gradients(const Graph& joint, std::size_t first_seed, std::size_t first_rule) {
  std::vector<bool> late(joint.values().size(), false);
  for (std::size_t i = first_seed; i < joint.inputs().size(); ++i) late[joint.inputs()[i].value.index] = true;
  for (std::size_t n = 0; n < joint.nodes().size(); ++n) {
    const Node& node = joint.nodes()[n];
    const bool reads = std::ranges::any_of(node.operands, [&](ValueId v) { return late[v.index]; });
    for (ValueId v : node.results) late[v.index] = reads;
    if (n < first_rule || reads || !has_effects(node)) continue;
    fail(ErrorCode::not_differentiable,
         {.what = fmt::format("the gradient of a loop or branch calls {}, an effect that reads no gradient",
                              node.op->name),
          .where = node.where,
          .help = "pass it the gradient that arrives, as an operand it may ignore"});
  }
}

// f's nodes, then the gradients of what `choose_seeds` picked: the common frame of vjp_graph, region_vjp and
// gradient_graph.
template <class ChooseSeeds>
Graph with_gradients(const Graph& f, std::span<const bool> wrt, bool is_region,
                     const ChooseSeeds& choose_seeds) {
  const Graph source = ready_for_reverse(expand(f, needs_expansion), wrt);
  Graph result;
  result.name = f.name;
  Builder builder(result);
  for (const Input& input : source.inputs()) result.copy_input(source, input);
  const std::vector<Var> inputs = input_vars(builder);
  const std::vector<Var> outputs = inline_graph(builder, source, inputs);
  forget_reverse(result);
  const std::size_t first_rule = result.nodes().size();
  builder.set_backward(true);
  Seeds seeds;
  choose_seeds(builder, inputs, outputs, seeds);
  std::vector<Var> wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (wrt[i]) wanted.push_back(inputs[i]);
  }
  const std::vector<Var> gradients = pull_back(builder, seeds.at, seeds.values, wanted);
  for (const Var& y : outputs) result.add_output(y.id());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Var gradient = gradients[i] ? gradients[i] : zeros_like(wanted[i]);
    result.add_output(gradient.id());
  }
  if (is_region) require_effects_to_read_gradients(result, inputs.size(), first_rule);
  return result;
}

// With seeds as inputs, and sums that the gradients of accumulated inputs begin as.
Graph with_seeds(const Graph& f, std::span<const bool> wrt, std::span<const bool> accumulated,
                 bool is_region) {
  return with_gradients(
      f, wrt, is_region,
      [&](Builder& builder, std::span<const Var> inputs, std::span<const Var> outputs, Seeds& seeds) {
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          if (!is_float(outputs[i].dtype())) continue;
          seeds.at.push_back(outputs[i]);
          seeds.values.push_back(builder.input(outputs[i].type(), fmt::format("seed{}", i)));
        }
        for (std::size_t i = 0; i < accumulated.size(); ++i) {
          if (!accumulated[i]) continue;
          seeds.at.push_back(inputs[i]);
          seeds.values.push_back(builder.input(inputs[i].type(), fmt::format("sum{}", i)));
        }
      });
}

Graph region_vjp(const Graph& f, std::span<const bool> wrt, std::span<const bool> accumulated) {
  Graph joint = with_seeds(f, wrt, accumulated, true);
  for (Input& input : joint.inputs()) input.differentiated = false;  // it is the caller's inputs that count
  return joint;
}

}  // namespace

std::vector<Var> pull_back(Builder& builder, std::span<const Var> outputs, std::span<const Var> seeds,
                           std::span<const Var> inputs) {
  const Graph& graph = builder.graph();
  const bool backward = builder.backward();
  builder.set_backward(true);
  for (const Var& input : inputs) {
    if (graph.is_input(input.id())) builder.graph().inputs()[graph[input.id()].result].differentiated = true;
  }
  const std::size_t node_count = graph.nodes().size();
  const std::vector<bool> active = active_values(graph, inputs);
  std::vector<Var> gradient(graph.values().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Var& slot = gradient[outputs[i].id().index];
    slot = sum_of(slot, seeds[i]);
  }

  RuleReads read(builder);
  for (std::size_t n = node_count; n-- > 0;) {
    const Node node = graph.nodes()[n];  // a copy: the rule below appends to the graph
    std::vector<Var> in, out, seed;
    std::unique_ptr<bool[]> wanted(new bool[node.operands.size()]);
    bool any_wanted = false, any_seed = false;
    for (std::size_t o = 0; o < node.operands.size(); ++o) {
      wanted[o] = active[node.operands[o].index];
      any_wanted = any_wanted || wanted[o];
    }
    for (ValueId v : node.results) {
      seed.push_back(gradient[v.index]);
      any_seed = any_seed || seed.back();
    }
    if (!any_wanted || !any_seed || node.op->derivative == Derivative::zero) continue;
    if (!node.op->vjp) {
      fail(ErrorCode::not_differentiable,
           {.what = fmt::format("{} has no derivative, and the gradient asked for passes through it",
                                node.op->name),
            .where = node.where,
            .help = "give it a vjp, or cut the path with stop_gradient"});
    }
    builder.set_where(node.where);
    for (ValueId v : node.operands) in.push_back(read(node, v));
    for (std::size_t r = 0; r < node.results.size(); ++r) out.push_back(read(node, node.results[r], r > 0));
    const NodeCall call(graph, node);
    const std::vector<Var> contributions = node.op->vjp({.builder = builder,
                                                         .call = call,
                                                         .in = in,
                                                         .out = out,
                                                         .seed = seed,
                                                         .wanted = {wanted.get(), node.operands.size()},
                                                         .calculus = &calculus});
    TM_CHECK(contributions.size() == node.operands.size(), "{}: vjp gave {} gradients for {} operands",
             node.op->name, contributions.size(), node.operands.size());
    for (std::size_t o = 0; o < contributions.size(); ++o) {
      if (!wanted[o] || !contributions[o]) continue;
      TM_CHECK(contributions[o].type() == in[o].type(), "{}: gradient {} of operand {} of type {}",
               node.op->name, to_string(contributions[o].type()), o, to_string(in[o].type()));
      Var& slot = gradient[node.operands[o].index];
      slot = sum_of(slot, contributions[o]);
    }
  }

  builder.set_backward(backward);
  std::vector<Var> result;
  for (const Var& input : inputs) result.push_back(gradient[input.id().index]);
  return result;
}

void forget_reverse(Graph& graph) {
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) graph[NodeId(n)].backward = false;
  for (Input& input : graph.inputs()) input.differentiated = false;
}

Graph vjp_graph(const Graph& f, std::span<const bool> wrt) { return with_seeds(f, wrt, {}, false); }

Graph gradient_graph(const Graph& f, std::span<const bool> wrt) {
  return with_gradients(f, wrt, false,
                        [](Builder&, std::span<const Var>, std::span<const Var> outputs, Seeds& seeds) {
                          seeds.at = {outputs[0]};
                          seeds.values = {ones_like(outputs[0])};
                        });
}

const Calculus calculus = {.jvp = jvp_graph, .vjp = region_vjp};

SplitVjp split_vjp(const Graph& f, std::span<const bool> wrt) {
  const Graph joint = vjp_graph(f, wrt);
  const std::size_t input_count = f.inputs().size(), output_count = f.outputs().size();

  // A value belongs to the backward part when it depends on a seed.
  std::vector<bool> backward(joint.values().size(), false);
  for (std::size_t i = input_count; i < joint.inputs().size(); ++i)
    backward[joint.inputs()[i].value.index] = true;
  const auto is_late = [&](const Node& node) {
    return std::ranges::any_of(node.operands, [&](ValueId v) { return backward[v.index]; });
  };
  for (const Node& node : joint.nodes()) {
    const bool late = is_late(node);
    for (ValueId v : node.results) backward[v.index] = late;
  }
  // Residuals: forward values that backward nodes, or gradients that need no seed, read.
  std::vector<ValueId> residuals;
  std::vector<bool> is_residual(joint.values().size(), false);
  const auto read_by_backward = [&](ValueId v) {
    if (backward[v.index] || is_residual[v.index]) return;
    is_residual[v.index] = true;
    residuals.push_back(v);
  };
  for (const Node& node : joint.nodes()) {
    if (is_late(node)) {
      for (ValueId v : node.operands) read_by_backward(v);
    }
  }
  for (std::size_t i = output_count; i < joint.outputs().size(); ++i) read_by_backward(joint.outputs()[i]);

  SplitVjp split;
  split.outputs = output_count;
  split.residuals = residuals.size();
  Builder forward_builder(split.forward), backward_builder(split.backward);
  std::vector<Var> in_forward(joint.values().size()), in_backward(joint.values().size());
  for (std::size_t i = 0; i < input_count; ++i) {
    const Input& input = joint.inputs()[i];
    in_forward[input.value.index] = Var(forward_builder, split.forward.copy_input(joint, input));
  }
  for (ValueId v : residuals) in_backward[v.index] = backward_builder.input(joint.type(v), joint[v].name);
  for (std::size_t i = input_count; i < joint.inputs().size(); ++i) {
    const ValueId v = joint.inputs()[i].value;
    in_backward[v.index] = backward_builder.input(joint.type(v), joint[v].name);
  }
  copy_checkpoints(joint, split.forward);  // rules write no node into a checkpoint
  for (const Node& node : joint.nodes()) {
    const bool late = is_late(node);
    Builder& builder = late ? backward_builder : forward_builder;
    std::vector<Var>& image = late ? in_backward : in_forward;
    builder.set_where(node.where);
    builder.set_checkpoint(late ? CheckpointId() : node.checkpoint);
    builder.set_backward(node.backward);
    std::vector<Var> in;
    for (ValueId v : node.operands) in.push_back(image[v.index]);
    const std::vector<Var> out = builder.call(*node.op, in, node.attrs, node.regions);
    for (std::size_t r = 0; r < out.size(); ++r) {
      image[node.results[r].index] = out[r];
      builder.graph()[out[r].id()].name = joint[node.results[r]].name;
    }
  }
  copy_hints(joint, split.forward, 0, ids_of(in_forward));
  for (std::size_t i = 0; i < output_count; ++i) {
    split.forward.add_output(in_forward[joint.outputs()[i].index].id());
  }
  for (ValueId v : residuals) split.forward.add_output(in_forward[v.index].id());
  for (std::size_t i = output_count; i < joint.outputs().size(); ++i) {
    split.backward.add_output(in_backward[joint.outputs()[i].index].id());
  }
  return split;
}

}  // namespace tidemark
