#include "tidemark/autodiff/inverses.h"

#include <algorithm>
#include <limits>

#include "tidemark/autodiff/largest_magnitude.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ir/effects.h"
#include "tidemark/ops/codec/form.h"
#include "tidemark/ops/codec/value_range.h"
#include "tidemark/ops/quantization/residual.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/reversible/invertible.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

// Whether it gives the operand back, if need be only up to rounding.
bool inverts(const Graph& graph, const Node& node, std::size_t operand, bool rounded) {
  const Op& op = *node.op;
  if (!op.inverse || (op.conditioning && !rounded)) return false;
  return !op.invertible || op.invertible(graph, node, static_cast<int>(operand));
}
// An inverse that reads nothing but results.
bool is_free(const Node& node) { return node.op->kind == OpKind::movement || node.operands.size() == 1; }
bool is_coupling(const Graph& graph, const Node& node, bool rounded) {
  if (!node.op->inverse || is_free(node)) return false;
  for (std::size_t o = 0; o < node.operands.size(); ++o) {
    if (inverts(graph, node, o, rounded)) return true;
  }
  return false;
}

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

// How a value is had where a rule reads it.
enum class Way : std::uint8_t { kept, undone, again };
struct Source {
  Way way = Way::kept;
  std::size_t node = nowhere;  // that is undone, or runs again
  std::size_t operand = 0;     // of the node that is undone
};

// Of every value, if the first `count` couplings are undone.
std::vector<Source> sources_of(const Graph& graph, std::size_t count, bool rounded) {
  const std::vector<Node>& nodes = graph.nodes();
  std::vector<Source> source(graph.values().size());
  std::vector<bool> once(graph.values().size(), false);  // arguments, and what the user wants computed once
  for (const Input& input : graph.inputs()) once[input.value.index] = true;
  for (const Hint& hint : graph.hints()) {
    if (hint.kind == HintKind::keep && hint.value.valid()) once[hint.value.index] = true;
  }
  const auto undo = [&](std::size_t n) {
    for (std::size_t o = 0; o < nodes[n].operands.size(); ++o) {
      Source& from = source[nodes[n].operands[o].index];
      const bool taken = from.way == Way::undone || once[nodes[n].operands[o].index];
      if (!taken && inverts(graph, nodes[n], o, rounded)) from = {Way::undone, n, o};
    }
  };
  std::size_t end = 0;  // behind the last that is undone
  for (std::size_t n = 0; n < nodes.size() && count > 0; ++n) {
    if (!is_coupling(graph, nodes[n], rounded)) continue;
    undo(n);
    --count;
    end = n + 1;
  }
  const auto has = [&](ValueId v, Way way) { return source[v.index].way == way; };
  // What such a value was moved from.
  for (std::size_t n = end; n-- > 0;) {
    if (!nodes[n].op->inverse || !is_free(nodes[n]) || nodes[n].op == &op::residual) continue;
    if (std::ranges::all_of(nodes[n].results, [&](ValueId v) { return has(v, Way::undone); })) undo(n);
  }
  // What is computed of them on the way to the next coupling.
  for (std::size_t n = 0; n < end; ++n) {
    const Node& node = nodes[n];
    const bool follows = std::ranges::any_of(node.operands, [&](ValueId v) { return !has(v, Way::kept); });
    if (!follows || node.op == &op::residual || is_coupling(graph, node, rounded) || !is_pure(node)) continue;
    for (ValueId v : node.results) {
      if (has(v, Way::kept) && !once[v.index]) source[v.index] = {Way::again, n, 0};
    }
  }
  return source;
}

class InverseLowering {
 public:
  InverseLowering(const Graph& graph, std::size_t count, double error)
      : graph_(graph),
        source_(sources_of(graph, count, error > 0)),
        most_error_(error),
        image_(graph.values().size()),
        back_(graph.values().size()),
        open_(graph.values().size(), false),
        error_(graph.values().size(), 0) {}

  Graph run(std::vector<Drift>* drifts) {
    result_.name = graph_.name;
    for (const Input& input : graph_.inputs()) {
      image_[input.value.index] = Var(builder_, result_.copy_input(graph_, input));
    }
    copy_checkpoints(graph_, result_);
    for (const Node& node : graph_.nodes()) {
      if (node.op == &op::residual && lower_mark(node)) continue;
      builder_.set_origin(node);
      const std::vector<Var> out = called(node, image_);
      for (std::size_t r = 0; r < out.size(); ++r) {
        image_[node.results[r].index] = out[r];
        const std::string& name = graph_[node.results[r]].name;
        if (!name.empty()) result_[out[r].id()].name = name;
      }
    }
    for (ValueId v : graph_.outputs()) result_.add_output(image_[v.index].id());
    if (drifts) measure(*drifts);
    copy_hints(graph_, result_, 0, ids_of(image_));
    return std::move(result_);
  }

 private:
  std::vector<Var> called(const Node& node, const std::vector<Var>& image) {
    std::vector<Var> in;
    for (ValueId v : node.operands) in.push_back(image[v.index]);
    return builder_.call(*node.op, in, node.attrs, node.regions);
  }

  // False: the mark stays.
  bool lower_mark(const Node& node) {
    const ValueId v = node.operands[0];
    const std::string format = unpack<ResidualAttrs>(node.attrs).format;
    const bool exactly = format == exact_residual;
    const std::optional<Form> asked = form_named(format);
    const Var found = had_back(v);
    const bool needs_bits = exactly || (asked && is_exact(*asked));
    const Var value = needs_bits && error_[v.index] > 0 ? image_[v.index] : found;
    const bool same = value.id() == image_[v.index].id();
    if (same && (!exactly || whole_numbers_below(graph_, v))) return false;  // it may wait in a smaller form
    image_[node.results[0].index] = value;
    return true;
  }

  void measure(std::vector<Drift>& drifts) {
    builder_.set_checkpoint({});
    for (std::size_t v = 0; v < error_.size(); ++v) {
      if (error_[v] == 0 || source_[v].way != Way::undone) continue;
      drifts.push_back({ValueId(v), error_[v]});
      result_.add_output(largest_magnitude(image_[v] - back_[v]).id());
      result_.add_output(largest_magnitude(image_[v]).id());
    }
  }

  // What must be had back before `v` can be.
  std::vector<ValueId> needs(ValueId v) const {
    const Source& from = source_[v.index];
    if (from.way == Way::kept) return {};
    const Node& node = graph_.nodes()[from.node];
    if (from.way == Way::again) return node.operands;
    std::vector<ValueId> list = node.results;
    if (is_free(node)) return list;
    for (std::size_t o = 0; o < node.operands.size(); ++o) {
      if (o != from.operand) list.push_back(node.operands[o]);
    }
    return list;
  }

  // Has the forward pass come by what the value is computed back from?
  bool is_ready(ValueId v) const {
    const Source& from = source_[v.index];
    if (from.way != Way::undone) return true;
    return std::ranges::all_of(graph_.nodes()[from.node].results,
                               [&](ValueId r) { return static_cast<bool>(image_[r.index]); });
  }

  // The value for a rule: computed back, or the forward pass's own. A value that could only be had from
  // itself is the forward pass's.
  Var had_back(ValueId wanted) {
    std::vector<ValueId> stack = {wanted};
    while (!stack.empty()) {
      const ValueId v = stack.back();
      if (back_[v.index]) {
        open_[v.index] = false;
        stack.pop_back();
        continue;
      }
      if (!is_ready(v)) {
        back_[v.index] = image_[v.index];
        continue;
      }
      open_[v.index] = true;
      bool waits = false;
      for (ValueId need : needs(v)) {
        if (back_[need.index]) continue;
        if (open_[need.index]) {
          back_[need.index] = image_[need.index];
        } else {
          stack.push_back(need);
          waits = true;
        }
      }
      if (!waits) compute(v);
    }
    return back_[wanted.index];
  }

  void compute(ValueId v) {
    const Source& from = source_[v.index];
    Var& back = back_[v.index];
    if (back) return;
    if (from.way == Way::kept) {
      back = image_[v.index];
      return;
    }
    const Node& node = graph_.nodes()[from.node];
    builder_.set_where(node.where);
    builder_.set_checkpoint({});
    builder_.set_backward(true);
    double error = 0;  // of what it is computed from
    if (from.way == Way::again) {
      for (ValueId need : node.operands) error = std::max(error, error_[need.index]);
      const std::vector<Var> out = called(node, back_);
      for (std::size_t r = 0; r < out.size(); ++r) {
        const ValueId result = node.results[r];
        if (back_[result.index] || source_[result.index].way != Way::again) continue;
        back_[result.index] = out[r];
        error_[result.index] = error;
      }
      return;
    }
    for (ValueId need : needs(v)) error += error_[need.index];
    std::vector<Var> in(node.operands.size()), out;
    for (std::size_t o = 0; o < in.size(); ++o) {
      if (o != from.operand && !is_free(node)) in[o] = back_[node.operands[o].index];
    }
    for (ValueId r : node.results) out.push_back(back_[r.index]);
    const NodeCall call(graph_, node);
    if (node.op->conditioning) {
      const Conditioning stated = node.op->conditioning(call);
      error = stated.rounding + stated.gain * error;
    }
    if (error > most_error_) {  // the chain begins anew
      back = image_[v.index];
      return;
    }
    error_[v.index] = error;
    back = node.op->inverse({.builder = builder_, .call = call, .in = in, .out = out, .seed = {}},
                            static_cast<int>(from.operand));
    if (node.op->conditioning) back = undone(back);
  }

  const Graph& graph_;
  const std::vector<Source> source_;
  const double most_error_;
  Graph result_;
  Builder builder_{result_};
  std::vector<Var> image_, back_;  // per value: of the forward pass, and for rules
  std::vector<bool> open_;         // per value: others are had back for its sake
  std::vector<double> error_;      // per value: of what was had back
};

bool has_marks_outside_regions(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const Node& node) { return node.op == &op::residual; });
}

}  // namespace

std::size_t invertible_calls(const Graph& graph, double error) {
  return static_cast<std::size_t>(std::ranges::count_if(
      graph.nodes(), [&](const Node& node) { return is_coupling(graph, node, error > 0); }));
}

Graph lower_inverses(const Graph& graph, std::size_t count, double error, std::vector<Drift>* drifts) {
  if (!has_marks_outside_regions(graph)) return graph;
  return InverseLowering(graph, count, error).run(drifts);
}

}  // namespace tidemark
