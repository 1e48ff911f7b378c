// What rules of ops with regions share: types of slices and stacks, regions regrouped, regions checked.
#include <algorithm>
#include <numeric>

#include "tidemark/ir/effects.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/control/stacked_carries.h"
#include "tidemark/ops/control/while_loop.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"
#include "tidemark/schedule/kinds/binomial_count.h"

namespace tidemark {

Type stacked(std::int64_t count, const Type& type) {
  Type result = type;
  result.shape.insert(0, count);
  return result;
}

Type slice_of(const Type& type) {
  Type result = type;
  result.shape.erase(0);
  return result;
}

Graph regrouped(const Graph& source, std::span<const Type> inputs, std::span<const std::size_t> order,
                std::span<const std::size_t> outputs) {
  Graph region;
  Builder builder(region);
  std::vector<Var> all, in;
  for (const Type& type : inputs) all.push_back(builder.input(type));
  for (std::size_t i : order) in.push_back(all[i]);
  const std::vector<Var> out = inline_graph(builder, source, in);
  for (std::size_t i : outputs) region.add_output(out[i].id());
  return region;
}

Graph replayed(const Graph& region, std::size_t fresh, SourceLine where, std::string_view whose,
               std::string help) {
  if (const Node* once = first_unreplayable(region, fresh)) {
    fail(ErrorCode::not_differentiable,
         {.what = fmt::format("{}, and {} may run only once", whose, once->op->name),
          .where = once->where.known() ? once->where : where,
          .help = std::move(help)});
  }
  return for_replay(region, fresh);
}

std::vector<Type> input_types(const Graph& graph) {
  std::vector<Type> types;
  for (const Input& input : graph.inputs()) types.push_back(graph.type(input.value));
  return types;
}

std::vector<Type> output_types(const Graph& graph) {
  std::vector<Type> types;
  for (ValueId v : graph.outputs()) types.push_back(graph.type(v));
  return types;
}

std::int64_t first_advance(std::int64_t steps, std::int64_t slots) {
  slots = std::min(slots, steps - 1);
  const std::int64_t repeats = schedule::repeats_of(steps, slots);
  return schedule::split_segment(steps, slots, repeats, schedule::longest_segment(slots, repeats - 1, steps))
      .left;
}

// The sweep goes to the end before anything is reversed, as if there were one step more.
std::vector<std::int64_t> snapshot_places(std::int64_t trips, std::int64_t slots) {
  std::vector<std::int64_t> places = {0};
  std::int64_t at = 0;
  for (std::int64_t left = slots; left > 0 && trips + 1 - at > 1; --left) {
    at += first_advance(trips + 1 - at, left);
    if (at >= trips || left == 1) break;
    places.push_back(at);
  }
  return places;
}

std::vector<bool> handed_inputs(const Call& call, std::size_t region) {
  std::vector<bool> handed(call.regions[region].inputs().size(), false);
  const auto first = [&](std::int64_t count) {
    std::fill_n(handed.begin(), std::min(count, static_cast<std::int64_t>(handed.size())), true);
  };
  if (call.op == &op::loop) {
    const auto a = call.attrs_as<LoopAttrs>();
    if (!a.keeps_all()) first(a.carries);  // else they go from snapshot to snapshot
    for (const StackedCarry& stacked : stacked_carries(call)) handed[stacked.carry] = false;
  } else if (call.op == &op::while_loop && region == 1) {
    first(call.attrs_as<WhileAttrs>().carries);
  } else if (call.op == &op::loop_reverse) {
    const auto a = call.attrs_as<LoopReverseAttrs>();
    if (region == 0) {
      first(a.carries);
    } else {
      const ReversalLayout at(a, call.regions[1]);
      for (std::size_t i = at.carry_seeds; i < at.inputs; ++i) handed[i] = i < at.y_seeds || i >= at.sums;
    }
  }
  return handed;
}

void donate_handed_inputs(Graph& graph) {
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (graph.nodes()[n].regions.empty()) continue;
    for (std::size_t r = 0; r < graph.nodes()[n].regions.size(); ++r) {
      const std::vector<bool> handed = handed_inputs(NodeCall(graph, graph[NodeId(n)]), r);
      Graph& region = graph[NodeId(n)].regions[r];
      for (std::size_t i = 0; i < handed.size(); ++i) region.inputs()[i].donated = handed[i];
      donate_handed_inputs(region);
    }
  }
}

void require_region(const Call& call, std::size_t region, std::span<const Type> inputs,
                    std::string_view what) {
  if (region >= call.regions.size()) {
    fail(ErrorCode::malformed_graph,
         {.what = fmt::format("{}: {} is missing", call.op->name, what), .where = call.where});
  }
  const std::vector<Type> types = input_types(call.regions[region]);
  if (types.size() != inputs.size()) {
    fail(ErrorCode::wrong_operand_count,
         {.what = fmt::format("{}: {} takes {} values", call.op->name, what, types.size()),
          .expected = fmt::format("{}", inputs.size()),
          .where = call.where});
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] == inputs[i]) continue;
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{}: input {} of {} is {}", call.op->name, i, what, to_string(types[i])),
          .expected = to_string(inputs[i]),
          .where = call.where});
  }
  const std::vector<bool> handed = handed_inputs(call, region);
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!call.regions[region].inputs()[i].donated || handed[i]) continue;
    fail(ErrorCode::malformed_graph,
         {.what = fmt::format("{}: input {} of {} is donated", call.op->name, i, what),
          .expected = "only what is handed on from run to run to be overwritten",
          .where = call.where});
  }
}

}  // namespace tidemark
