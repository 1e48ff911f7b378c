#include "tidemark/autodiff/loop_records.h"

#include "tidemark/ops/cpu_target.h"

#include <algorithm>

#include "tidemark/ir/effects.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

class Cut {
 public:
  Cut(const LoopReverseAttrs& attrs, Graph joint)
      : cut_{.joint = std::move(joint),
             .at = ReversalLayout(attrs, cut_.joint),
             .late = {},
             .again = {},
             .records = {},
             .stacked = {},
             .invariant = {}},
        graph_(cut_.joint) {
    const std::size_t values = graph_.values().size(), nodes = graph_.nodes().size();
    cut_.late.assign(values, false);
    varies_.assign(values, false);
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      const std::uint32_t v = graph_.inputs()[i].value.index;
      cut_.late[v] = i >= cut_.at.carry_seeds;
      varies_[v] = i < cut_.at.carries + cut_.at.scanned;
    }
    for (const Node& node : graph_.nodes()) {
      bool late = false, varies = false;
      for (ValueId v : node.operands) late = late || cut_.late[v.index], varies = varies || varies_[v.index];
      for (ValueId v : node.results) cut_.late[v.index] = late, varies_[v.index] = varies;
    }
    std::vector<bool> live(values, false);
    for (std::size_t r = 0; r < cut_.at.results; ++r) {
      live[graph_.outputs()[r].index] = true;
      needed_.push_back(graph_.outputs()[r]);
    }
    for (std::size_t n = nodes; n-- > 0;) {
      const Node& node = graph_.nodes()[n];
      const bool needed = std::ranges::any_of(node.results, [&](ValueId v) { return live[v.index]; });
      if (!needed || !cut_.late[node.results.front().index]) continue;
      for (ValueId v : node.operands) live[v.index] = true, needed_.push_back(v);
    }
  }

  // What is kept where these nodes are computed again; empty: only what costs next to nothing.
  const LoopRecords& with(const std::vector<bool>& again) {
    asked_ = &again;
    cut_.again.assign(graph_.nodes().size(), false);
    cut_.records.clear(), cut_.stacked.clear(), cut_.invariant.clear();
    found_.assign(graph_.values().size(), false);
    for (ValueId v : needed_) read(v);
    return cut_;
  }
  LoopRecords take() { return std::move(cut_); }

 private:
  // `v` is read where gradients are computed, and with it whatever is computed again for it.
  void read(ValueId v) {
    waiting_.assign(1, v);
    while (!waiting_.empty()) {
      const ValueId next = waiting_.back();
      waiting_.pop_back();
      read_one(next);
    }
  }
  void read_one(ValueId v) {
    if (cut_.late[v.index] || found_[v.index]) return;
    found_[v.index] = true;
    const ReversalLayout& at = cut_.at;
    if (graph_.is_input(v)) {
      const std::size_t i = graph_[v].result;
      if (i < at.carries) return stack(v);
      if (i < at.carries + at.scanned) return add(v, RecordSource::scanned, i - at.carries);
      return add(v, RecordSource::captured, i - at.carries - at.scanned);
    }
    const NodeId producer = graph_[v].producer;
    const Node& node = graph_[producer];
    if (is_cheap(node, v) || (!asked_->empty() && (*asked_)[producer.index])) {
      cut_.again[producer.index] = true;
      for (ValueId r : node.results) found_[r.index] = true;
      waiting_.insert(waiting_.end(), node.operands.rbegin(), node.operands.rend());
      return;
    }
    if (!varies_[v.index] && !node.operands.empty()) {
      cut_.invariant.push_back(v);
      return add(v, RecordSource::invariant, cut_.invariant.size() - 1);
    }
    const auto first = graph_.outputs().begin() + static_cast<std::ptrdiff_t>(at.results + at.carries);
    const auto output = std::find(first, graph_.outputs().end(), v);
    if (output != graph_.outputs().end())
      return add(v, RecordSource::output, static_cast<std::size_t>(output - first));
    stack(v);
  }

  // Small constants, and windows that are no smaller than what they show: not worth keeping.
  bool is_cheap(const Node& node, ValueId v) const {
    if (!node.regions.empty() || !is_repeatable(node)) return false;
    constexpr std::int64_t small = 4096;
    if (node.operands.empty()) return graph_.type(v).bytes() <= small || node.op->view;
    if (!node.op->view || node.results.size() != 1) return false;
    std::int64_t bytes = 0;
    for (ValueId operand : node.operands) bytes += graph_.type(operand).bytes();
    return bytes <= graph_.type(v).bytes();
  }

  void stack(ValueId v) {
    cut_.stacked.push_back(v);
    add(v, RecordSource::stacked, cut_.stacked.size() - 1);
  }
  void add(ValueId v, RecordSource source, std::size_t place) { cut_.records.push_back({v, source, place}); }

  LoopRecords cut_;
  const Graph& graph_;
  std::vector<bool> varies_, found_;
  std::vector<ValueId> needed_, waiting_;
  const std::vector<bool>* asked_ = nullptr;
};

// Goes from records to leaner ones, one value or a few at a time.
class Thinning {
 public:
  Thinning(const LoopReverseAttrs& attrs, const Graph& joint) : graph_(joint), cut_(attrs, joint) {
    for (const Node& node : joint.nodes()) {
      const Cost cost = cpu_target().cost(NodeCall(joint, node));
      // What a machine does of the one while it does one of the other, more or less: only ratios count here.
      constexpr double flops_per_byte = 10;
      cost_.push_back(cost.flops / flops_per_byte + cost.bytes);
    }
  }

  std::vector<LeanerRecords> run() {
    std::vector<LeanerRecords> list;
    std::vector<bool> again(graph_.nodes().size(), false);
    State now = measure(again);
    for (;;) {
      std::vector<bool> best;
      double least = 0;
      const auto consider = [&](const std::vector<bool>& more) {
        State then = measure(more);
        const auto saved = static_cast<double>(now.bytes - then.bytes);
        const double price = (then.cost - now.cost) / saved;
        if (saved > 0 && (best.empty() || price < least)) best = more, least = price;
        return then;
      };
      // One value from what it is made of, and that in turn.
      for (ValueId v : now.stacked) {
        std::vector<bool> more = again;
        std::vector<ValueId> next = {v};
        for (int depth = 0; depth < most_depth && grow(more, next); ++depth) {
          const State then = consider(more);
          next.clear();
          for (ValueId other : then.stacked) {
            if (std::ranges::count(now.stacked, other) == 0) next.push_back(other);
          }
        }
      }
      // All that is made element by element of one value.
      for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
        if (again[n] || graph_.nodes()[n].results.size() != 1) continue;
        std::vector<bool> more = again;
        if (grow_from(more, n)) consider(more);
      }
      if (best.empty()) return list;
      again = std::move(best);
      now = measure(again);
      list.push_back({now.bytes, again});
    }
  }

 private:
  static constexpr int most_depth = 8;
  struct State {
    std::int64_t bytes = 0;
    double cost = 0;
    std::vector<ValueId> stacked;
  };

  State measure(const std::vector<bool>& again) {
    const LoopRecords& records = cut_.with(again);
    State state{.bytes = records.bytes(1), .cost = 0, .stacked = records.stacked};
    for (std::size_t n = 0; n < again.size(); ++n) state.cost += records.again[n] ? cost_[n] : 0;
    return state;
  }
  // Those that make `values` are computed again too. False: one of them cannot be, or there is none.
  bool grow(std::vector<bool>& again, const std::vector<ValueId>& values) const {
    bool any = false;
    for (ValueId v : values) {
      if (graph_.is_input(v)) continue;  // what is carried
      const Node& node = graph_[graph_[v].producer];
      if (!node.regions.empty() || !is_repeatable(node)) return false;
      again[graph_[v].producer.index] = true;
      any = true;
    }
    return any;
  }

  // What works element by element and depends on the node's result. False: nothing does.
  bool grow_from(std::vector<bool>& again, std::size_t node) const {
    std::vector<bool> depends(graph_.values().size(), false);
    depends[graph_.nodes()[node].results[0].index] = true;
    bool any = false;
    for (std::size_t n = node + 1; n < graph_.nodes().size(); ++n) {
      const Node& reader = graph_.nodes()[n];
      const bool reads = std::ranges::any_of(reader.operands, [&](ValueId v) { return depends[v.index]; });
      const bool light = reader.op->kind == OpKind::elementwise || reader.op->view;
      if (!reads || !light || !is_repeatable(reader)) continue;
      for (ValueId v : reader.results) depends[v.index] = true;
      any = any || !again[n];
      again[n] = true;
    }
    return any;
  }

  const Graph& graph_;
  Cut cut_;
  std::vector<double> cost_;
};

// Copies a node with its operands' images.
void copy_node(Builder& builder, const Graph& source, const Node& node, std::vector<Var>& image) {
  std::vector<Var> in;
  for (ValueId v : node.operands) in.push_back(image[v.index]);
  builder.set_where(node.where);
  const std::vector<Var> out = builder.call(*node.op, in, node.attrs, node.regions);
  for (std::size_t r = 0; r < out.size(); ++r) {
    image[node.results[r].index] = out[r];
    builder.graph()[out[r].id()].name = source[node.results[r]].name;
  }
}

// The values computed outside from what is captured, written into the builder's graph.
std::vector<Var> write_invariants(Builder& builder, const LoopRecords& records,
                                  std::span<const Var> captured) {
  const Graph& joint = records.joint;
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
  for (std::size_t n = 0; n < joint.nodes().size(); ++n) {
    if (runs[n]) copy_node(builder, joint, joint.nodes()[n], image);
  }
  builder.set_where(where);
  std::vector<Var> values;
  for (ValueId v : records.invariant) values.push_back(image[v.index]);
  return values;
}

}  // namespace

std::int64_t LoopRecords::bytes(std::int64_t trips) const {
  std::int64_t sum = 0;
  for (ValueId v : stacked) sum += joint.type(v).bytes();
  return trips * sum;
}

LoopRecords records_of(const LoopReverseAttrs& attrs, Graph joint) {
  return records_of(attrs, std::move(joint), {});
}

LoopRecords records_of(const LoopReverseAttrs& attrs, Graph joint, const std::vector<bool>& again) {
  Cut cut(attrs, std::move(joint));
  cut.with(again);
  return cut.take();
}

std::vector<LeanerRecords> leaner_records(const LoopReverseAttrs& attrs, const Graph& joint) {
  return Thinning(attrs, joint).run();
}

std::vector<Var> write_forward(Builder& builder, const LoopRecords& records, LoopAttrs attrs,
                               std::span<const Var> operands) {
  const Graph& joint = records.joint;
  Graph body;
  Builder inside(body);
  std::vector<Var> image(joint.values().size());
  for (std::size_t i = 0; i < records.at.carry_seeds; ++i) {
    const ValueId v = joint.inputs()[i].value;
    image[v.index] = inside.input(joint.type(v), joint[v].name);
  }
  for (const Node& node : joint.nodes()) {
    if (!records.late[node.results.front().index]) copy_node(inside, joint, node, image);
  }
  for (std::size_t r = records.at.results; r < joint.outputs().size(); ++r)
    body.add_output(image[joint.outputs()[r].index].id());
  for (ValueId v : records.stacked) body.add_output(image[v.index].id());
  attrs.keep = 0;
  std::vector<Graph> regions;
  regions.push_back(std::move(body));
  return builder.call(op::loop, operands, pack(attrs), std::move(regions));
}

std::vector<Var> write_backward(Builder& builder, const LoopRecords& records, const LoopReverseAttrs& attrs,
                                std::span<const Var> operands, std::span<const Var> kept) {
  const Graph& joint = records.joint;
  const ReversalLayout& at = records.at;
  const std::span<const Var> xs = operands.subspan(at.carries, at.scanned);
  const std::span<const Var> seeds = operands.subspan(at.carries + at.scanned);
  const std::span<const Var> captured = operands.last(at.captured);
  const std::size_t outputs =
      joint.outputs().size() - at.results;  // of the first loop, what is stacked apart
  const std::vector<Var> invariants = write_invariants(builder, records, captured);

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
    carried.push_back(zeros(builder, joint.type(joint.inputs()[i].value)));
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
          fixed.push_back(invariants[record.place]);
          break;
      }
    }
  };
  enter_records(true);
  enter_records(false);
  for (std::size_t n = 0; n < joint.nodes().size(); ++n) {
    const Node& node = joint.nodes()[n];
    if (!records.late[node.results.front().index] && !records.again[n]) continue;
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
