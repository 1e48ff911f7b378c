#include "tidemark/autodiff/residuals.h"

#include <algorithm>

#include "tidemark/autodiff/inverses.h"
#include "tidemark/autodiff/largest_magnitude.h"
#include "tidemark/ops/codec/value_range.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/quantization/residual.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

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

// The marks of one graph, not of its regions.
class Marks {
 public:
  // `carried`: how many of the first inputs are a loop's carries, which it keeps for each iteration.
  Marks(const Graph& graph, std::size_t carried) : graph_(graph), carried_(carried) {
    const std::vector<int> uses = use_counts(graph);
    for (const Node& node : graph.nodes()) {
      if (node.op != &op::residual || uses[node.results[0].index] == 0) continue;
      const ValueId root = root_of(node.operands[0]);
      const std::string format = unpack<ResidualAttrs>(node.attrs).format;
      const bool exactly = format == exact_residual;
      if (!may_wait(root) || (exactly && !whole_numbers_below(graph, root))) continue;
      const auto [place, is_new] = number_.try_emplace(root.index, list_.size());
      if (is_new) list_.push_back({.graph = &graph, .value = root});
      Residual& residual = list_[place->second];
      residual.tolerant = residual.tolerant || !exactly;
      const std::optional<Form> asked = form_named(format);
      if (!residual.asked && asked && takes(*asked, graph, root)) residual.asked = asked;
    }
    for (const Hint& hint : graph.hints()) {
      if (hint.kind != HintKind::compress || !hint.value.valid()) continue;
      const std::optional<std::size_t> marked = number(root_of(hint.value));
      if (marked && list_[*marked].asked) list_[*marked].asked_at = hint.where;
    }
  }

  const std::vector<Residual>& list() const { return list_; }
  std::optional<std::size_t> number(ValueId root) const {
    const auto found = number_.find(root.index);
    return found == number_.end() ? std::nullopt : std::optional(found->second);
  }
  // What `v` shows all of, through reshapes, transposes and the like.
  ValueId root_of(ValueId v) const {
    while (shows_all(v)) v = graph_[graph_[v].producer].operands[0];
    return v;
  }

 private:
  bool shows_all(ValueId v) const {
    if (graph_.is_input(v)) return false;
    const Node& node = graph_[graph_[v].producer];
    return node.op->view && node.operands.size() == 1 && node.results.size() == 1 &&
           graph_.type(node.operands[0]).bytes() == graph_.type(v).bytes();
  }
  bool may_wait(ValueId root) const {
    if (graph_.is_input(root)) return graph_[root].result < carried_;
    const Node& node = graph_[graph_[root].producer];
    if (node.operands.empty()) return false;  // a constant
    for (CheckpointId c = node.checkpoint; c.valid(); c = graph_[c].parent) {
      if (std::ranges::count(graph_[c].results, root) == 0) return false;
    }
    return true;
  }

  const Graph& graph_;
  const std::size_t carried_;
  std::vector<Residual> list_;
  std::map<std::uint32_t, std::size_t> number_;
};

// Of a region: how many inputs are carried and kept, and how many copies of what waits in it there are. Only
// the reversal of a loop whose length is known keeps what it reads of all steps at once; elsewhere, values
// wait within one run.
struct RegionKeeps {
  std::size_t carried = 0;
  std::int64_t copies = 1;
};
RegionKeeps keeps(const Node& node, std::size_t region) {
  if (node.op != &op::loop_reverse || region != 1) return {};
  const auto attrs = unpack<LoopReverseAttrs>(node.attrs);
  if (attrs.unknown_length()) return {};
  return {static_cast<std::size_t>(attrs.carries), attrs.trips};
}

void add_residuals(const Graph& graph, std::size_t carried, std::int64_t copies,
                   std::vector<Residual>& list) {
  const Marks marks(graph, carried);
  for (Residual residual : marks.list()) {
    residual.copies = copies;
    list.push_back(std::move(residual));
  }
  for (const Node& node : graph.nodes()) {
    for (std::size_t r = 0; r < node.regions.size(); ++r) {
      const RegionKeeps kept = keeps(node, r);
      add_residuals(node.regions[r], kept.carried, copies * kept.copies, list);
    }
  }
}

bool has_marks(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) {
    return node.op == &op::residual || std::ranges::any_of(node.regions, has_marks);
  });
}

// Lowers the marks of a graph and of its regions, in the order of residuals_of.
class MarkLowering {
 public:
  MarkLowering(const ResidualChoice& choice, bool errors) : choice_(choice), errors_(errors) {}

  Graph run(const Graph& graph) { return lower(graph, 0, errors_); }

 private:
  Graph lower(const Graph& graph, std::size_t carried, bool errors) {
    if (!has_marks(graph)) return graph;
    const Marks marks(graph, carried);
    const std::size_t first = next_;
    next_ += marks.list().size();
    const auto form_of = [&](ValueId root) -> std::optional<Form> {
      const std::optional<std::size_t> number = marks.number(root);
      if (!number || first + *number >= choice_.size()) return {};
      const std::optional<Form>& form = choice_[first + *number];
      return form && takes(*form, graph, root) ? form : std::nullopt;
    };

    Graph result;
    result.name = graph.name;
    Builder builder(result);
    std::vector<Var> image(graph.values().size()), copy(image);
    std::map<std::uint32_t, std::vector<Var>> small;  // by value: in its form
    const auto encode_behind = [&](ValueId v) {
      const std::optional<Form> form = form_of(v);
      if (!form) return;
      builder.set_checkpoint({});
      const SourceLine asked_at = marks.list()[*marks.number(v)].asked_at;
      if (asked_at.known()) builder.set_where(asked_at);
      small[v.index] = encoded(image[v.index], *form);
    };
    for (const Input& input : graph.inputs()) {
      const Value& value = graph[input.value];
      image[input.value.index] = Var(builder, result.add_input(value.type, value.name, input.donated));
    }
    copy_checkpoints(graph, result);
    for (const Input& input : graph.inputs()) encode_behind(input.value);
    // The copy of what `v` shows all of, looked at in the same way.
    const auto seen_through = [&](ValueId v, ValueId root) {
      std::vector<const Node*> views;
      for (; v != root; v = views.back()->operands[0]) views.push_back(&graph[graph[v].producer]);
      Var seen = copy[root.index];
      for (; !views.empty(); views.pop_back())
        seen = builder.call(*views.back()->op, {&seen, 1}, views.back()->attrs).front();
      return seen;
    };
    for (const Node& node : graph.nodes()) {
      builder.set_where(node.where);
      builder.set_checkpoint(node.checkpoint);
      if (node.op == &op::residual) {
        const ValueId v = node.operands[0], root = marks.root_of(v);
        const bool exactly = unpack<ResidualAttrs>(node.attrs).format == exact_residual;
        const std::optional<Form> form = form_of(root);
        if (!form || (exactly && !is_exact(*form))) {
          image[node.results[0].index] = image[v.index];
          continue;
        }
        if (!copy[root.index]) copy[root.index] = decoded(small.at(root.index), *form, graph.type(root));
        image[node.results[0].index] = seen_through(v, root);
        continue;
      }
      std::vector<Var> in;
      for (ValueId v : node.operands) in.push_back(image[v.index]);
      std::vector<Graph> regions;
      for (std::size_t r = 0; r < node.regions.size(); ++r)
        regions.push_back(lower(node.regions[r], keeps(node, r).carried, false));
      const std::vector<Var> out = builder.call(*node.op, in, node.attrs, std::move(regions));
      for (std::size_t r = 0; r < out.size(); ++r) {
        image[node.results[r].index] = out[r];
        const std::string& name = graph[node.results[r]].name;
        if (!name.empty()) result[out[r].id()].name = name;
        encode_behind(node.results[r]);
      }
    }
    for (ValueId v : graph.outputs()) result.add_output(image[v.index].id());
    if (errors) {
      for (const Residual& residual : marks.list()) {
        const ValueId v = residual.value;
        if (!copy[v.index] || is_exact(*form_of(v))) continue;
        result.add_output(largest_magnitude(image[v.index] - copy[v.index]).id());
        result.add_output(largest_magnitude(image[v.index]).id());
      }
    }
    copy_hints(graph, result, 0, ids_of(image));
    return result;
  }

  const ResidualChoice& choice_;
  const bool errors_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<Residual> residuals_of(const Graph& graph) {
  std::vector<Residual> list;
  if (has_marks(graph)) add_residuals(graph, 0, 1, list);
  return list;
}

ResidualChoice asked_for(const std::vector<Residual>& residuals) {
  ResidualChoice choice;
  for (const Residual& residual : residuals) choice.push_back(residual.asked);
  return choice;
}

Graph lower_residuals(const Graph& graph, const ResidualChoice& choice, bool errors) {
  return MarkLowering(choice, errors).run(graph);
}

}  // namespace tidemark
