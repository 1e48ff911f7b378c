#include "tidemark/opt/batch_inside.h"

#include <algorithm>

#include "tidemark/ir/builder.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/effects.h"

namespace tidemark {
namespace {

using ResultClasses = std::vector<BatchClass>;

bool same_numbers(const BatchCall& call, const BatchRules& rules) {
  return same_attrs(rules.attrs_for(call), *call.small.attrs);
}

bool same_regions(const Call& a, const Call& b) {
  return std::ranges::equal(a.regions, b.regions, [](const Graph& x, const Graph& y) {
    return same_graph(x, y, {.names = false, .lines = false, .hints = false});
  });
}

// Two graphs in step: each result must follow by rules, with numbers that are the same in both, since what
// stands inside of an operation cannot be changed. Per output; empty: something does not.
ResultClasses inside_results(const Graph& full, const Graph& small, std::span<const BatchClass> inputs,
                             std::int64_t parts, const BatchRules& rules) {
  if (full.inputs().size() != inputs.size() || first_difference(full, small)) return {};
  ResultClasses classes(full.values().size()), in;
  for (std::size_t i = 0; i < inputs.size(); ++i) classes[full.inputs()[i].value.index] = inputs[i];
  for (std::size_t n = 0; n < full.nodes().size(); ++n) {
    const Node& node = full.nodes()[n];
    if (!is_pure(node)) return {};
    const NodeCall f(full, node), s(small, small.nodes()[n]);
    in.clear();
    for (ValueId v : node.operands) in.push_back(classes[v.index]);
    const BatchCall call{f, s, in, parts};
    ResultClasses out;
    if (all_whole(in) && std::ranges::equal(f.out, s.out)) {
      if (!same_attrs(node.attrs, small.nodes()[n].attrs) || !same_regions(f, s)) return {};
      out.assign(node.results.size(), whole_class(call));
    } else {
      out = batch_results(call, rules);
      if (out.empty() || !same_numbers(call, rules)) return {};
    }
    for (std::size_t r = 0; r < out.size(); ++r) classes[node.results[r].index] = out[r];
  }
  ResultClasses outputs;
  for (ValueId v : full.outputs()) outputs.push_back(classes[v.index]);
  return outputs;
}

Graph expansion(const Call& call) {
  Graph graph;
  Builder builder(graph);
  builder.set_where(call.where);
  std::vector<Var> in;
  for (const Type& type : call.in) in.push_back(builder.input(type));
  const std::vector<Var> out =
      call.op->expand({.builder = builder, .call = call, .in = in, .out = {}, .seed = {}});
  for (const Var& v : out) graph.add_output(v.id());
  return graph;
}

// A loop of unknown length is not written in others.
bool has_expansion(const Call& call) {
  if (!call.op->expand) return false;
  const AttrSchema& schema = call.op->schema();
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].name == "trips" && std::get<std::int64_t>((*call.attrs)[i]) < 0) return false;
  }
  return true;
}

ResultClasses expanded_results(const BatchCall& call, const BatchRules& rules) {
  const Graph full = expansion(call.full), small = expansion(call.small);
  return inside_results(full, small, call.in, call.parts, rules);
}

BatchClass slice_class(BatchClass c) {
  if (c.is(BatchRole::batched)) --c.layout.axis;
  return c;
}
BatchClass stacked_class(BatchClass c) {
  if (c.is(BatchRole::batched)) ++c.layout.axis;
  return c;
}

// What a carried value is before and after a step; none: it cannot be both. Zeros are a sum of nothing.
std::optional<BatchClass> carried_class(const BatchClass& before, const BatchClass& after) {
  if (before.is(BatchRole::whole) && before.zero && after.is(BatchRole::partial)) return after;
  if (before.role != after.role) return {};
  if (!before.is(BatchRole::batched)) return BatchClass{.role = before.role};
  const std::optional<BatchLayout> layout = common_layout(before.layout, after.layout);
  return layout ? std::optional(batched_class(*layout)) : std::nullopt;
}

// A loop (ops/control/loop.h) does with examples what its body does, whatever the step.
ResultClasses loop_results(const BatchCall& call, const BatchRules& rules) {
  const BatchRules::LoopShape loop = rules.loop_shape(call.full);
  ResultClasses in(call.in.begin(), call.in.end());
  for (std::size_t i = loop.carries; i < loop.carries + loop.scanned; ++i) {
    if (in[i].is(BatchRole::batched) && in[i].layout.axis == 0) return {};  // a batch of steps
    in[i] = slice_class(in[i]);
  }
  // What is carried may turn out to be less uniform, or a sum, than it begins: until nothing changes.
  ResultClasses out;
  for (bool changed = true; changed;) {
    changed = false;
    out = inside_results(call.full.regions[0], call.small.regions[0], in, call.parts, rules);
    if (out.empty()) return {};
    for (std::size_t c = 0; c < loop.carries; ++c) {
      const std::optional<BatchClass> carried = carried_class(in[c], out[c]);
      if (!carried) return {};
      changed |= carried->role != in[c].role || carried->layout != in[c].layout;
      in[c] = *carried;
    }
  }
  ResultClasses results;
  for (std::size_t r = 0; r < out.size(); ++r)
    results.push_back(r < loop.carries ? in[r] : stacked_class(out[r]));
  for (std::size_t r = out.size(); r < call.full.out.size(); ++r)  // states that are kept
    results.push_back(stacked_class(in[r - out.size()]));
  for (BatchClass& c : results) c.zero = false;
  return results;
}

}  // namespace

bool all_whole(std::span<const BatchClass> classes) {
  return std::ranges::all_of(classes, [](const BatchClass& c) { return c.is(BatchRole::whole); });
}

BatchClass whole_class(const BatchCall& call) {
  const bool moved = call.in.size() == 1 && call.in[0].zero && call.full.op->view;
  bool zero = moved;
  if (call.in.empty() && call.full.attrs->size() == 1) {
    const Literal* value = std::get_if<Literal>(&call.full.attrs->front());
    zero = value && std::ranges::all_of(value->bytes, [](std::byte b) { return b == std::byte{0}; });
  }
  return {.zero = zero};
}

std::vector<BatchClass> batch_results(const BatchCall& call, const BatchRules& rules) {
  const Op& op = *call.full.op;
  if (rules.knows(op)) return rules.results(call);
  if (!same_attrs(*call.full.attrs, *call.small.attrs)) return {};
  if (std::ranges::any_of(call.in, &BatchClass::mean)) return {};
  ResultClasses classes;
  if (rules.is_loop(op)) {
    classes = loop_results(call, rules);
  } else if (has_expansion(call.full)) {
    classes = expanded_results(call, rules);
  }
  for (std::size_t r = 0; r < classes.size(); ++r) {
    if (!fits(classes[r], call.full.out[r], call.small.out[r], call.parts)) return {};
  }
  return classes;
}

std::optional<std::size_t> first_difference(const Graph& a, const Graph& b) {
  const std::size_t count = std::min(a.nodes().size(), b.nodes().size());
  for (std::size_t i = 0; i < count; ++i) {
    const Node &x = a.nodes()[i], &y = b.nodes()[i];
    const bool same = x.op == y.op && x.operands == y.operands && x.results == y.results &&
                      x.regions.size() == y.regions.size();
    if (!same) return i;
  }
  if (a.nodes().size() != b.nodes().size() || a.outputs() != b.outputs()) return count;
  return {};
}

}  // namespace tidemark
