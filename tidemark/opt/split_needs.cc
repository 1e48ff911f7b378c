#include "tidemark/opt/split_needs.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/ir/effects.h"

namespace tidemark {

SplitNeeds::SplitNeeds(const BatchPair& pair, const BatchClasses& classes, const BatchRules& rules,
                       const SplitOps& ops)
    : before(pair.full.nodes().size(), false),
      behind(before),
      body(before),
      full_(pair.full),
      classes_(classes),
      rules_(rules),
      ops_(ops) {
  for (auto& list : seen_) list.assign(full_.values().size(), false);
  find_early();
  for (ValueId v : full_.outputs()) want(outside, v);
  for (std::size_t n = 0; n < full_.nodes().size(); ++n) {
    if (!has_effects(full_.nodes()[n])) continue;
    behind[n] = true;
    want_operands(outside, full_.nodes()[n]);
  }
  run();
  order_effects(pair.where);
}

// What values are made of that are needed early. It is had for the whole batch then, and need not be summed
// or stacked by the loop.
void SplitNeeds::find_early() {
  early_.assign(full_.nodes().size(), false);
  for (std::size_t n = full_.nodes().size(); n-- > 0;) {
    const Node& node = full_.nodes()[n];
    const bool wanted =
        early_[n] || std::ranges::any_of(node.results, [&](ValueId v) { return classes_.early[v.index]; });
    if (!wanted) continue;
    early_[n] = true;
    for (ValueId v : node.operands) {
      if (!full_.is_input(v)) early_[full_[v].producer.index] = true;
    }
  }
}

// A whole value that each micro-batch makes for itself: it costs nothing there, and outside it would have
// to lie somewhere.
bool SplitNeeds::is_made_inside(ValueId v) const {
  if (classes_.early[v.index] || full_.is_input(v)) return false;
  const Node& node = full_[full_[v].producer];
  return node.op->view || node.op == ops_.known.constant;
}

// A sum whose last step is as well done when it is complete.
bool SplitNeeds::ends_behind(const Node& node) const {
  if (node.op == ops_.known.add || node.op == ops_.known.sub || node.op == ops_.sum) return false;
  return std::ranges::any_of(node.operands, [&](ValueId v) { return is_sum(v); });
}

bool SplitNeeds::is_sum(ValueId v) const {
  return !classes_.early[v.index] && classes_.values[v.index].is(BatchRole::partial);
}
void SplitNeeds::want(Where where, ValueId v) {
  if (seen_[where][v.index]) return;
  seen_[where][v.index] = true;
  open_.push_back({where, v});
}
void SplitNeeds::want_operands(Where where, const Node& node) {
  for (ValueId v : node.operands) want(where, v);
}

void SplitNeeds::run() {
  while (!open_.empty()) {
    const auto [where, v] = open_.back();
    open_.pop_back();
    if (where == inside) {
      visit_inside(v);
    } else if (!full_.is_input(v)) {
      where == ahead ? visit_ahead(full_[v].producer) : visit_outside(v);
    }
  }
  for (auto* list : {&sums, &stacks, &slices, &shared}) std::ranges::sort(*list);
}

void SplitNeeds::visit_ahead(NodeId id) {
  before[id.index] = true;
  want_operands(ahead, full_[id]);
}

void SplitNeeds::visit_outside(ValueId v) {
  const NodeId id = full_[v].producer;
  if (early_[id.index]) return want(ahead, v);
  if (classes_.nodes[id.index] != BatchPlace::body || (is_sum(v) && ends_behind(full_[id]))) {
    behind[id.index] = true;
    return want_operands(outside, full_[id]);
  }
  (is_sum(v) ? sums : stacks).push_back(v);
  want(inside, v);
}

void SplitNeeds::visit_inside(ValueId v) {
  if (classes_.is_whole(v)) {
    if (is_made_inside(v)) {
      body[full_[v].producer.index] = true;
      return want_operands(inside, full_[full_[v].producer]);
    }
    shared.push_back(v);
    return want(ahead, v);
  }
  const NodeId id = full_[v].producer;
  if (!id.valid() || classes_.nodes[id.index] == BatchPlace::once) {
    slices.push_back(v);
    return want(ahead, v);
  }
  body[id.index] = true;
  number |= rules_.is_numbered(*full_[id].op);
  want_operands(inside, full_[id]);
}

// An effect that the loop waits for takes along those that come before it.
void SplitNeeds::order_effects(SourceLine where) {
  std::size_t last = 0;
  for (std::size_t n = 0; n < full_.nodes().size(); ++n) {
    if (before[n] && has_effects(full_.nodes()[n])) last = n;
  }
  for (std::size_t n = 0; n < last; ++n) {
    const Node& node = full_.nodes()[n];
    if (!has_effects(node) || before[n]) continue;
    if (classes_.nodes[n] == BatchPlace::behind) {
      fail(ErrorCode::bad_plan_option,
           {.what = fmt::format("accumulate: {} reads what is known behind the last micro-batch, and another "
                                "effect that comes after it is needed before the first",
                                node.op->name),
            .where = node.where.known() ? node.where : where,
            .help = "apply it to results, outside of the compiled function"});
    }
    before[n] = true;
    want_operands(ahead, node);
  }
  run();
}

}  // namespace tidemark
