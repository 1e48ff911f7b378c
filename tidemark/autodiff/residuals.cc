#include "tidemark/autodiff/residuals.h"

#include <algorithm>

#include "tidemark/autodiff/inverses.h"
#include "tidemark/autodiff/residual_marks.h"
#include "tidemark/ops/codec/value_range.h"
#include "tidemark/ops/quantization/residual.h"

namespace tidemark {
namespace {

thread_local StandIns stand_ins_allowed = StandIns::none;
thread_local std::span<const SourceLine> refused_forms;

}  // namespace

MarkedReads::MarkedReads(StandIns allowed) : before_(stand_ins_allowed) {
  stand_ins_allowed = std::max(before_, allowed);
}
MarkedReads::~MarkedReads() { stand_ins_allowed = before_; }

RefusedForms::RefusedForms(std::span<const SourceLine> lines) : before_(refused_forms) {
  refused_forms = lines;
}
RefusedForms::~RefusedForms() { refused_forms = before_; }

RuleReads::RuleReads(Builder& builder)
    : builder_(builder),
      exactly_(invertible_calls(builder.graph(), stand_ins_allowed == StandIns::lossy ? 1 : 0) > 0) {
  for (const Hint& hint : builder.graph().hints()) {
    if (hint.kind != HintKind::compress || !hint.value.valid()) continue;
    if (std::ranges::count(refused_forms, hint.where) == 0) asked_[hint.value.index] = hint.format;
  }
}

Var RuleReads::operator()(const Node& node, ValueId v, bool is_statistic) {
  const Var plain(builder_, v);
  const auto asked = asked_.find(v.index);
  // Loops and branches run forward again from what they read, and must come by the same values.
  const bool runs_again = !node.regions.empty();
  const bool is_asked = asked != asked_.end();
  const bool asked_exactly = is_asked && is_exact(form_named(asked->second).value_or(QuantFormat::int8));
  const bool may_be_lossy = stand_ins_allowed == StandIns::lossy && node.op->tolerant && !is_statistic;
  const bool lossy =
      !runs_again && (asked_exactly || (is_float(plain.dtype()) && (is_asked || may_be_lossy)));
  const bool small =
      !runs_again && stand_ins_allowed >= StandIns::exact && whole_numbers_below(builder_.graph(), v);
  const bool exact = exactly_ || small;
  if (!lossy && !exact) return plain;
  Var& mark = (lossy ? marked_ : marked_exactly_)[v.index];
  if (!mark) {
    const std::string format = asked == asked_.end() ? "" : asked->second;
    mark = residual(plain, lossy ? format : std::string(exact_residual));
  }
  return mark;
}

namespace {

// `depth`: of loops and branches around it.
void add_residuals(const Graph& graph, const RegionKeeps& kept, std::int64_t copies, int depth,
                   std::vector<Residual>& list) {
  const Marks marks(graph, kept);
  for (Residual residual : marks.list()) {
    residual.copies = copies;
    residual.is_measured = depth == 0 || (depth == 1 && kept.steps);
    list.push_back(std::move(residual));
  }
  const RegionsKept regions(graph);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    for (std::size_t r = 0; r < graph.nodes()[n].regions.size(); ++r) {
      const RegionKeeps inside = regions(NodeId(n), r);
      add_residuals(graph.nodes()[n].regions[r], inside, copies * inside.copies, depth + 1, list);
    }
  }
}

}  // namespace

bool may_wait_in(const Residual& residual, const Form& form) {
  if (std::holds_alternative<Delta>(form) && !residual.has_neighbour) return false;
  return takes(form, *residual.graph, residual.value);
}

std::vector<Residual> residuals_of(const Graph& graph) {
  std::vector<Residual> list;
  if (has_marks(graph)) add_residuals(graph, {}, 1, 0, list);
  return list;
}

ResidualChoice asked_for(const std::vector<Residual>& residuals) {
  ResidualChoice choice;
  for (const Residual& residual : residuals) choice.push_back(residual.asked);
  return choice;
}

}  // namespace tidemark
