// Cuts the reverse of a step where the gradients begin: what its later part reads of the earlier one.
#pragma once
#include <algorithm>

#include "tidemark/autodiff/loop_records.h"
#include "tidemark/ir/effects.h"

namespace tidemark {

class RecordCut {
 public:
  RecordCut(const LoopReverseAttrs& attrs, Graph joint)
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
      bool late = false, varies = !is_repeatable(node);  // what runs once at each step is not the same at all
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
      const bool needed =
          has_effects(node) || std::ranges::any_of(node.results, [&](ValueId v) { return live[v.index]; });
      if (!needed || !cut_.is_late(node)) continue;
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

  // Small constants, windows that are no smaller than what they show, and what is packed in something
  // smaller: not worth keeping.
  bool is_cheap(const Node& node, ValueId v) const {
    if (!node.regions.empty() || !is_repeatable(node)) return false;
    constexpr std::int64_t small = 4096;
    if (node.operands.empty()) return graph_.type(v).bytes() <= small || node.op->view;
    if (!(node.op->view || node.op->unpacks) || node.results.size() != 1) return false;
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

}  // namespace tidemark
