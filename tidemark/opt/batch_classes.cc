#include "tidemark/opt/batch_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tidemark/base/error.h"
#include "tidemark/ir/effects.h"
#include "tidemark/opt/batch_inside.h"

namespace tidemark {
namespace {

bool any_is(std::span<const BatchClass> classes, BatchRole role) {
  return std::ranges::any_of(classes, [&](const BatchClass& c) { return c.is(role); });
}

class Classification {
 public:
  Classification(const BatchPair& pair, const BatchRules& rules)
      : pair_(pair), full_(pair.full), small_(pair.small), rules_(rules) {
    found_.early.assign(full_.values().size(), false);
    check_structure();
  }

  // From the start again whenever another value turns out to be needed early: there are few of those.
  BatchClasses run() {
    do {
      restart_ = false;
      found_.values.assign(full_.values().size(), {});
      found_.nodes.assign(full_.nodes().size(), BatchPlace::once);
      for (std::size_t i = 0; i < full_.inputs().size(); ++i) {
        if (const ValueId v = full_.inputs()[i].value; pair_.batched[i])
          found_.values[v.index] =
              batched_class({.axis = *batch_axis(full_.type(v), small_.type(v), pair_.parts)});
      }
      for (std::size_t n = 0; n < full_.nodes().size() && !restart_; ++n) classify(NodeId(n));
    } while (restart_);
    return std::move(found_);
  }

 private:
  void check_structure() const {
    const auto differ = [&](SourceLine line, std::string name) {
      fail(ErrorCode::bad_plan_option,
           {.what = fmt::format("accumulate: with a smaller batch the function does something else{}", name),
            .expected = "the same operations for a micro-batch as for the whole batch",
            .where = line.known() ? line : pair_.where,
            .help = "let nothing but sizes depend on the batch; micro-batches of more than one example may "
                    "do",
            .notes = {fmt::format("{} micro-batches", pair_.parts)}});
    };
    if (full_.inputs().size() != small_.inputs().size()) differ({}, ": it uses other tensors");
    for (std::size_t i = 0; i < full_.inputs().size(); ++i) {
      const Value &f = full_[full_.inputs()[i].value], &s = small_[small_.inputs()[i].value];
      const bool fit =
          pair_.batched[i] ? batch_axis(f.type, s.type, pair_.parts).has_value() : f.type == s.type;
      if (!fit) differ({}, fmt::format(": {} has another type", f.name));
    }
    const std::optional<std::size_t> n = first_difference(full_, small_);
    if (!n) return;
    if (*n >= full_.nodes().size()) differ({}, "");
    differ(full_.nodes()[*n].where, fmt::format(", beginning with {}", full_.nodes()[*n].op->name));
  }

  void set(NodeId id, BatchPlace place, std::span<const BatchClass> classes) {
    found_.nodes[id.index] = place;
    for (std::size_t r = 0; r < classes.size(); ++r) found_.values[full_[id].results[r].index] = classes[r];
  }
  void set_all(NodeId id, BatchPlace place, const BatchClass& c) {
    set(id, place, std::vector<BatchClass>(full_[id].results.size(), c));
  }

  void classify(NodeId id) {
    const Node& node = full_[id];
    const NodeCall f(full_, node), s(small_, small_[id]);
    std::vector<BatchClass> in;
    for (ValueId v : node.operands)
      in.push_back(found_.early[v.index] ? BatchClass{} : found_.values[v.index]);
    const BatchCall call{f, s, in, pair_.parts};
    const bool same = std::ranges::equal(f.out, s.out);
    if (all_whole(in)) return classify_whole(id, call, same);
    if (!is_pure(node) && any_is(in, BatchRole::batched)) refuse_effect(node);
    if (!any_is(in, BatchRole::complete)) {
      if (is_mean_over_batch(call)) return set_all(id, BatchPlace::body, mean_class);
      const std::vector<BatchClass> out =
          is_pure(node) ? batch_results(call, rules_) : std::vector<BatchClass>();
      if (!out.empty()) return set(id, BatchPlace::body, out);
    }
    // Each micro-batch by itself cannot do it. What depends on no example alone can wait for the last one.
    const bool by_example = !same || any_is(in, BatchRole::batched);
    if (by_example && (any_is(in, BatchRole::complete) || (!same && any_is(in, BatchRole::partial)))) {
      if (make_early(node, in)) return;
    }
    if (!same) refuse(id, in);
    set_all(id, BatchPlace::behind, complete_class);
  }

  void classify_whole(NodeId id, const BatchCall& call, bool same) {
    if (same) return set_all(id, BatchPlace::once, whole_class(call));
    const Node& node = full_[id];
    if (is_pure(node)) {
      const std::vector<BatchClass> out = batch_results(call, rules_);
      if (!out.empty()) return set(id, BatchPlace::body, out);
    }
    if (is_drawn_in_parts(node, call)) {
      return set_all(id, BatchPlace::body,
                     batched_class({.axis = *batch_axis(call.full.out[0], call.small.out[0], pair_.parts)}));
    }
    // For the whole batch, and each micro-batch gets its part.
    std::vector<BatchClass> classes;
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const Type &full = call.full.out[r], &small = call.small.out[r];
      const std::optional<int> axis = batch_axis(full, small, pair_.parts);
      if (full != small && !axis) refuse(id, call.in);
      classes.push_back(full == small ? BatchClass{} : batched_class({.axis = *axis}));
    }
    set(id, BatchPlace::once, classes);
  }

  // Random numbers of which each micro-batch draws those that it has in the whole batch: neighbours there.
  bool is_drawn_in_parts(const Node& node, const BatchCall& call) const {
    if (!rules_.is_numbered(*node.op) || node.operands.size() != 1) return false;
    const std::optional<int> axis = batch_axis(call.full.out[0], call.small.out[0], pair_.parts);
    return axis && parts_shape({.axis = *axis}, call.full.out[0].shape, pair_.parts).before == 1;
  }

  bool is_mean_over_batch(const BatchCall& call) const {
    if (!rules_.is_mean(*call.full.op) || !call.in[0].is(BatchRole::batched)) return false;
    const Dims axes = std::get<Dims>((*call.full.attrs)[0]);
    return same_attrs(*call.full.attrs, *call.small.attrs) &&
           std::ranges::find(axes, call.in[0].layout.axis) != axes.end();
  }

  // The operands that are sums, or follow from sums, before the first micro-batch; false: not all of them can
  // be had cheaply.
  bool make_early(const Node& node, std::span<const BatchClass> in) {
    std::vector<ValueId> wanted;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in[i].is(BatchRole::complete) && !in[i].is(BatchRole::partial)) continue;
      if (!is_cheap(node.operands[i])) return false;
      wanted.push_back(node.operands[i]);
    }
    for (ValueId v : wanted) found_.early[v.index] = true;
    restart_ = !wanted.empty();
    return restart_;
  }

  bool is_cheap(ValueId value) const {
    constexpr std::int64_t small_bytes = 4096;
    std::vector<ValueId> open = {value};
    std::vector<bool> seen(full_.values().size(), false);
    std::int64_t read = 0, largest = 0;
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (seen[v.index] || found_.is_whole(v)) continue;
      seen[v.index] = true;
      if (full_.is_input(v)) {
        read += full_.type(v).bytes();
        continue;
      }
      const Node& node = full_[full_[v].producer];
      const OpKind kind = node.op->kind;
      const bool simple =
          kind == OpKind::elementwise || kind == OpKind::movement || kind == OpKind::reduction;
      if (found_.nodes[full_[v].producer.index] == BatchPlace::once) continue;  // computed anyway
      if (!simple || !is_pure(node) || !node.regions.empty()) return false;
      largest = std::max(largest, full_.type(v).bytes());
      open.insert(open.end(), node.operands.begin(), node.operands.end());
    }
    return largest <= std::max(read, small_bytes);
  }

  [[noreturn]] void refuse_effect(const Node& node) const {
    const bool effect = has_effects(node);
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("accumulate: {} {}", node.op->name,
                              effect ? "has an effect, which would happen once for each micro-batch"
                                     : "may run only once, and would run for each micro-batch"),
          .expected = "operations that only compute, wherever examples are computed",
          .where = node.where.known() ? node.where : pair_.where,
          .help = "apply it to results, outside of the compiled function"});
  }

  // The node through which the examples came together in a sum or in what follows from sums.
  const Node* together(ValueId value) const {
    std::vector<ValueId> open = {value};
    std::vector<bool> seen(full_.values().size(), false);
    const Node* found = nullptr;
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (seen[v.index] || full_.is_input(v)) continue;
      seen[v.index] = true;
      const Node& node = full_[full_[v].producer];
      bool from_examples = false;
      for (ValueId o : node.operands) {
        if (found_.values[o.index].is(BatchRole::batched)) from_examples = true;
        if (!found_.values[o.index].is(BatchRole::whole) && !found_.values[o.index].is(BatchRole::batched))
          open.push_back(o);
      }
      if (from_examples && (!found || &node < found)) found = &node;
    }
    return found;
  }

  [[noreturn]] void refuse(NodeId id, std::span<const BatchClass> in) const {
    const Node& node = full_[id];
    const auto where = [&](const Node& n) { return n.where.known() ? n.where : pair_.where; };
    std::string what = fmt::format("{} is not known to treat each example by itself", node.op->name);
    SourceLine line = where(node);
    std::string help = "compile without .accumulate, or with a smaller batch";
    std::vector<std::string> notes;
    const Node* source = nullptr;
    for (std::size_t i = 0; i < in.size() && !source; ++i) {
      if (in[i].is(BatchRole::partial) || in[i].is(BatchRole::complete)) source = together(node.operands[i]);
    }
    if (source) {
      what = fmt::format("{} takes the examples of the batch together, and {} goes on with single ones",
                         source->op->name, node.op->name);
      line = where(*source);
      notes.push_back(fmt::format("{}: {}", node.op->name, short_form(where(node))));
      help =
          "normalise within examples (layer_norm, group_norm), or have the loss be a sum over examples "
          "divided by a sum of weights";
    } else if (rules_.knows(*node.op) || node.op->expand) {
      what = fmt::format("{} takes the examples of the batch together", node.op->name);
      if (node.op->kind == OpKind::random)
        what = fmt::format("{} draws numbers for several axes of the batch", node.op->name);
      help =
          "use operations that treat each example by itself: layer_norm or group_norm in place of batch "
          "normalisation, dropout of values in place of that inside of attention, losses of single "
          "examples in place of contrastive ones";
    }
    fail(ErrorCode::bad_plan_option, {.what = "accumulate: " + what,
                                      .expected = "operations on single examples, and sums over examples",
                                      .where = line,
                                      .help = help,
                                      .notes = notes});
  }

  const BatchPair& pair_;
  const Graph &full_, &small_;
  const BatchRules& rules_;
  BatchClasses found_;
  bool restart_ = false;
};

}  // namespace

BatchClasses classify_batch(const BatchPair& pair, const BatchRules& rules) {
  return Classification(pair, rules).run();
}

}  // namespace tidemark
