#include "tidemark/autodiff/loop_records.h"

#include <algorithm>

#include "tidemark/autodiff/record_cut.h"
#include "tidemark/ir/effects.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

// Copies a node with its operands' images.
void copy_node(Builder& builder, const Graph& source, const Node& node, std::vector<Var>& image) {
  std::vector<Var> in;
  for (ValueId v : node.operands) in.push_back(image[v.index]);
  builder.set_where(node.where);
  builder.set_backward(node.backward);
  const std::vector<Var> out = builder.call(*node.op, in, node.attrs, node.regions);
  for (std::size_t r = 0; r < out.size(); ++r) {
    image[node.results[r].index] = out[r];
    builder.graph()[out[r].id()].name = source[node.results[r]].name;
  }
}

// What of the joint graph needs no gradient: the step, and what is stacked of it.
Graph body_of(const LoopRecords& records) {
  const Graph& joint = records.joint;
  Graph body;
  Builder inside(body);
  std::vector<Var> image(joint.values().size());
  for (std::size_t i = 0; i < records.at.carry_seeds; ++i) {
    const ValueId v = joint.inputs()[i].value;
    image[v.index] = inside.input(joint.type(v), joint[v].name);
  }
  for (const Node& node : joint.nodes()) {
    if (!records.is_late(node)) copy_node(inside, joint, node, image);
  }
  for (std::size_t r = records.at.results; r < joint.outputs().size(); ++r)
    body.add_output(image[joint.outputs()[r].index].id());
  for (ValueId v : records.stacked) body.add_output(image[v.index].id());
  return body;
}

}  // namespace

std::int64_t LoopRecords::bytes(std::int64_t trips) const {
  std::int64_t sum = 0;
  for (ValueId v : stacked) sum += joint.type(v).bytes();
  return trips * sum;
}

bool LoopRecords::is_late(const Node& node) const {
  return std::ranges::any_of(node.operands, [&](ValueId v) { return late[v.index]; });
}

LoopRecords records_of(const LoopReverseAttrs& attrs, Graph joint) {
  return records_of(attrs, std::move(joint), {});
}

LoopRecords records_of(const LoopReverseAttrs& attrs, Graph joint, const std::vector<bool>& again) {
  RecordCut cut(attrs, std::move(joint));
  cut.with(again);
  return cut.take();
}

Graph forward_step(const LoopReverseAttrs& attrs, const Graph& joint) {
  return body_of(RecordCut(attrs, joint).take());
}

std::vector<Var> write_forward(Builder& builder, const LoopRecords& records, LoopAttrs attrs,
                               std::span<const Var> operands, bool replays) {
  Graph body = body_of(records);
  attrs.keep = 0;
  std::vector<Graph> regions;
  regions.push_back(replays ? for_replay(body) : std::move(body));
  return builder.call(op::loop, operands, pack(attrs), std::move(regions));
}

std::vector<Var> write_invariants(Builder& builder, const LoopRecords& records,
                                  std::span<const Var> operands) {
  const Graph& joint = records.joint;
  const std::span<const Var> captured = operands.last(records.at.captured);
  std::vector<bool> needed(joint.values().size(), false);
  for (ValueId v : records.invariant) needed[v.index] = true;
  std::vector<bool> runs(joint.nodes().size(), false);
  for (std::size_t n = joint.nodes().size(); n-- > 0;) {
    const Node& node = joint.nodes()[n];
    runs[n] = std::ranges::any_of(node.results, [&](ValueId v) { return needed[v.index]; });
    for (ValueId v : node.operands) needed[v.index] = needed[v.index] || runs[n];
  }
  std::vector<Var> image(joint.values().size());
  for (std::size_t i = 0; i < captured.size(); ++i)
    image[joint.inputs()[records.at.carries + records.at.scanned + i].value.index] = captured[i];
  const SourceLine where = builder.where();
  const bool backward = builder.backward();
  for (std::size_t n = 0; n < joint.nodes().size(); ++n) {
    if (runs[n]) copy_node(builder, joint, joint.nodes()[n], image);
  }
  builder.set_where(where);
  builder.set_backward(backward);
  std::vector<Var> values;
  for (ValueId v : records.invariant) values.push_back(image[v.index]);
  return values;
}

std::vector<Var> write_backward(Builder& builder, const LoopRecords& records, const LoopReverseAttrs& attrs,
                                std::span<const Var> operands, std::span<const Var> kept,
                                const BackwardStart& start) {
  const Graph& joint = records.joint;
  const ReversalLayout& at = records.at;
  const std::span<const Var> xs = operands.subspan(at.carries, at.scanned);
  const std::span<const Var> seeds = operands.subspan(at.carries + at.scanned);
  const std::span<const Var> captured = operands.last(at.captured);
  const std::size_t outputs =
      joint.outputs().size() - at.results;  // of the first loop, what is stacked apart

  Graph body;
  Builder inside(body);
  std::vector<Var> image(joint.values().size());
  std::vector<Var> carried, scanned, fixed;
  const auto enter = [&](std::size_t input) {
    const ValueId v = joint.inputs()[input].value;
    image[v.index] = inside.input(joint.type(v), joint[v].name);
  };
  for (std::size_t c = 0; c < at.float_carries; ++c) {
    carried.push_back(seeds[c]);
    enter(at.carry_seeds + c);
  }
  for (std::size_t i = at.sums; i < at.inputs; ++i) {
    carried.push_back(start.sums.empty() ? zeros(builder, joint.type(joint.inputs()[i].value))
                                         : start.sums[i - at.sums]);
    enter(i);
  }
  for (std::size_t i = at.y_seeds; i < at.sums; ++i) {
    scanned.push_back(seeds[at.float_carries + i - at.y_seeds]);
    enter(i);
  }
  const auto enter_records = [&](bool slices) {
    for (const Record& record : records.records) {
      const bool is_slice = record.source == RecordSource::stacked || record.source == RecordSource::output ||
                            record.source == RecordSource::scanned;
      if (is_slice != slices) continue;
      image[record.value.index] = inside.input(joint.type(record.value), joint[record.value].name);
      switch (record.source) {
        case RecordSource::stacked:
          scanned.push_back(kept[outputs + record.place]);
          break;
        case RecordSource::output:
          scanned.push_back(kept[at.carries + record.place]);
          break;
        case RecordSource::scanned:
          scanned.push_back(xs[record.place]);
          break;
        case RecordSource::captured:
          fixed.push_back(captured[record.place]);
          break;
        case RecordSource::invariant:
          fixed.push_back(start.invariants[record.place]);
          break;
      }
    }
  };
  enter_records(true);
  enter_records(false);
  for (std::size_t n = 0; n < joint.nodes().size(); ++n) {
    const Node& node = joint.nodes()[n];
    if (!records.is_late(node) && !records.again[n]) continue;
    const bool ready =
        std::ranges::all_of(node.operands, [&](ValueId v) { return static_cast<bool>(image[v.index]); });
    if (ready) copy_node(inside, joint, node, image);  // what is not ready, no gradient needs
  }
  const auto dxs = static_cast<std::size_t>(attrs.wanted_scanned);
  std::vector<std::size_t> chosen;
  for (std::size_t r = 0; r < at.float_carries; ++r) chosen.push_back(r);
  for (std::size_t r = at.float_carries + dxs; r < at.results; ++r) chosen.push_back(r);
  for (std::size_t r = at.float_carries; r < at.float_carries + dxs; ++r) chosen.push_back(r);
  for (std::size_t r : chosen) body.add_output(image[joint.outputs()[r].index].id());

  const LoopAttrs reversed{.trips = attrs.trips,
                           .carries = static_cast<std::int64_t>(carried.size()),
                           .scanned = static_cast<std::int64_t>(scanned.size()),
                           .reverse = !attrs.reverse};
  std::vector<Var> in = carried;
  in.insert(in.end(), scanned.begin(), scanned.end());
  in.insert(in.end(), fixed.begin(), fixed.end());
  std::vector<Graph> regions;
  regions.push_back(std::move(body));
  const std::vector<Var> found = builder.call(op::loop, in, pack(reversed), std::move(regions));
  std::vector<Var> gradients(at.results);
  for (std::size_t r = 0; r < at.results; ++r) gradients[chosen[r]] = found[r];
  return gradients;
}

}  // namespace tidemark
