// Marks to nodes that encode a value behind it and decode it before the rules, or to nothing.
#include <algorithm>
#include <limits>

#include "tidemark/autodiff/largest_magnitude.h"
#include "tidemark/autodiff/loop_chains.h"
#include "tidemark/autodiff/residual_marks.h"
#include "tidemark/ops/codec/delta.h"
#include "tidemark/ops/quantization/residual.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

// How the errors of forms are told: not at all, by outputs of the graph, or by chains through a loop's steps,
// which hand back the largest so far.
enum class ErrorsTold : std::uint8_t { none, by_outputs, by_chains };

// A graph's regions with their marks lowered, by node. Chains have those alone that are steps of a loop.
struct LoweredRegion {
  ChainedStep step;
  std::size_t errors = 0;  // of the chains, the last ones
};
using LoweredRegions = std::map<std::uint32_t, std::vector<LoweredRegion>>;

// Lowers the marks of one graph, its regions apart.
class GraphLowering {
 public:
  // `forms`: per mark.
  GraphLowering(const Graph& graph, const RegionKeeps& kept, const Marks& marks, ResidualChoice forms,
                LoweredRegions regions, ErrorsTold errors)
      : graph_(graph),
        kept_(kept),
        marks_(marks),
        forms_(std::move(forms)),
        regions_(std::move(regions)),
        errors_(errors),
        inside_(graph),
        image_(graph.values().size()),
        copy_(graph.values().size()) {}

  LoweredRegion run() {
    result_.name = graph_.name;
    choose_chains();
    write_inputs();
    copy_checkpoints(graph_, result_);
    for (const Input& input : graph_.inputs()) encode_behind(input.value);
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) write_node(NodeId(n));
    std::size_t told = 0;
    if (errors_ == ErrorsTold::by_chains) told = hand_back_errors();
    write_outputs();
    if (errors_ == ErrorsTold::by_outputs) put_out_errors();
    copy_hints(graph_, result_, 0, ids_of(image_));
    LoweredRegion lowered{{std::move(result_), {}}, told};
    for (const ChainVars& chain : chains_) lowered.step.chains.push_back(chain.chain);
    return lowered;
  }

 private:
  // A chain through the reverse of a step.
  struct ChainVars {
    LoopChain chain;
    Var in = {}, out = {}, back_in = {}, back_out = {};
  };

  std::optional<Form> form_of(ValueId root) const {
    const std::optional<std::size_t> number = marks_.number(root);
    return number ? forms_[*number] : std::nullopt;
  }
  bool is_lossy(const Residual& residual) const {
    const std::optional<Form> form = form_of(residual.value);
    return form && !is_exact(*form);
  }

  void choose_chains() {
    for (const Residual& residual : marks_.list()) {
      const std::optional<Form> form = form_of(residual.value);
      if (!form || !std::holds_alternative<Delta>(*form)) continue;
      delta_[residual.value.index] = chains_.size();
      const Type type = delta_chain_type(graph_.type(residual.value));
      chains_.push_back({{type, std::numeric_limits<double>::quiet_NaN()}});
    }
    if (errors_ != ErrorsTold::by_chains) return;
    for (const Residual& residual : marks_.list()) {
      if (is_lossy(residual))
        chains_.insert(chains_.end(), 2, {{{graph_.type(residual.value).dtype, {}}, 0}});
    }
  }

  void write_inputs() {
    const std::size_t count = graph_.inputs().size();
    for (std::size_t i = 0; i <= count; ++i) {
      for (ChainVars& chain : chains_) {
        if (i == kept_.steps->carries) chain.in = chain.out = builder_.input(chain.chain.type);
      }
      for (ChainVars& chain : chains_) {
        if (i == kept_.steps->y_seeds) chain.back_in = chain.back_out = builder_.input(chain.chain.type);
      }
      if (i == count) break;
      const Input& input = graph_.inputs()[i];
      image_[input.value.index] = Var(builder_, result_.copy_input(graph_, input));
    }
  }

  void write_outputs() {
    const std::size_t count = graph_.outputs().size();
    for (std::size_t r = 0; r <= count; ++r) {
      for (const ChainVars& chain : chains_) {
        if (r == kept_.steps->float_carries) result_.add_output(chain.back_out.id());
      }
      for (const ChainVars& chain : chains_) {
        if (r == kept_.steps->results + kept_.steps->carries) result_.add_output(chain.out.id());
      }
      if (r < count) result_.add_output(image_[graph_.outputs()[r].index].id());
    }
  }

  void encode_behind(ValueId v) {
    const std::optional<Form> form = form_of(v);
    if (!form) return;
    builder_.set_checkpoint({});
    const SourceLine asked_at = marks_.list()[*marks_.number(v)].asked_at;
    if (asked_at.known()) builder_.set_where(asked_at);
    if (const Delta* delta = std::get_if<Delta>(&*form)) {
      ChainVars& chain = chains_[delta_.at(v.index)];
      const DeltaStep made = to_delta(image_[v.index], chain.in, delta->format);
      small_[v.index] = {made.bytes};
      chain.out = made.next;
    } else {
      small_[v.index] = encoded(image_[v.index], *form);
    }
  }

  Var decoded_copy(ValueId v, const Form& form) {
    const std::vector<Var>& parts = small_.at(v.index);
    const Delta* delta = std::get_if<Delta>(&form);
    if (!delta) return decoded(parts, form, graph_.type(v));
    ChainVars& chain = chains_[delta_.at(v.index)];
    const UndoneDelta undone = from_delta(parts[0], chain.back_in, delta->format, graph_.type(v).dtype);
    chain.back_out = undone.before;
    return undone.value;
  }

  // The copy of what `v` shows all of, looked at in the same way.
  Var seen_through(ValueId v, ValueId root) {
    std::vector<const Node*> views;
    for (; v != root; v = views.back()->operands[0]) views.push_back(&graph_[graph_[v].producer]);
    Var seen = copy_[root.index];
    for (; !views.empty(); views.pop_back())
      seen = builder_.call(*views.back()->op, {&seen, 1}, views.back()->attrs).front();
    return seen;
  }

  void write_node(NodeId id) {
    const Node& node = graph_[id];
    builder_.set_origin(node);
    if (node.op == &op::residual) {
      const ValueId v = node.operands[0], root = marks_.root_of(v);
      const bool exactly = unpack<ResidualAttrs>(node.attrs).format == exact_residual;
      const std::optional<Form> form = form_of(root);
      if (!form || (exactly && !is_exact(*form))) {
        image_[node.results[0].index] = image_[v.index];
        return;
      }
      if (!copy_[root.index]) copy_[root.index] = decoded_copy(root, *form);
      image_[node.results[0].index] = seen_through(v, root);
      return;
    }
    const std::vector<Var> out = call(id);
    for (std::size_t r = 0; r < out.size(); ++r) {
      image_[node.results[r].index] = out[r];
      const std::string& name = graph_[node.results[r]].name;
      if (!name.empty()) result_[out[r].id()].name = name;
      encode_behind(node.results[r]);
    }
  }

  std::vector<Var> call(NodeId id) {
    const Node& node = graph_[id];
    std::vector<Var> in;
    for (ValueId v : node.operands) in.push_back(image_[v.index]);
    const NodeId reversal = inside_.reversal_of(id);
    if (reversal.valid() && !steps_of(reversal).step.chains.empty()) {
      const ChainedLoop& loop = chained_[reversal.index] =
          write_chained_loop(builder_, unpack<LoopAttrs>(node.attrs), in,
                             unpack<LoopReverseAttrs>(graph_[reversal].attrs), steps_of(reversal).step);
      return loop.results;
    }
    if (const auto loop = chained_.find(id.index); loop != chained_.end()) {
      const LoweredRegion& steps = steps_of(id);
      ChainedReversal made = write_chained_reversal(builder_, unpack<LoopReverseAttrs>(node.attrs), in,
                                                    loop->second, steps.step);
      errors_of_steps_.insert(errors_of_steps_.end(),
                              made.ends.end() - static_cast<std::ptrdiff_t>(steps.errors), made.ends.end());
      return made.results;
    }
    std::vector<Graph> regions;
    if (!node.regions.empty()) {
      for (LoweredRegion& region : regions_.at(id.index)) regions.push_back(std::move(region.step.region));
    }
    return builder_.call(*node.op, in, node.attrs, std::move(regions));
  }
  const LoweredRegion& steps_of(NodeId reversal) const { return regions_.at(reversal.index)[1]; }

  // How many chains do.
  std::size_t hand_back_errors() {
    std::size_t next = delta_.size();
    for (const Residual& residual : marks_.list()) {
      if (!is_lossy(residual)) continue;
      const Var value = image_[residual.value.index], copy = copy_[residual.value.index];
      ChainVars &difference = chains_[next], &magnitude = chains_[next + 1];
      next += 2;
      if (!copy) continue;
      const Var error = largest_magnitude(value - copy), size = largest_magnitude(value);
      difference.back_out = maximum(difference.back_in, error);
      magnitude.back_out = maximum(magnitude.back_in, size);
    }
    return next - delta_.size();
  }

  void put_out_errors() {
    for (const Residual& residual : marks_.list()) {
      const Var value = image_[residual.value.index], copy = copy_[residual.value.index];
      if (!copy || !is_lossy(residual)) continue;
      result_.add_output(largest_magnitude(value - copy).id());
      result_.add_output(largest_magnitude(value).id());
    }
    for (const Var& error : errors_of_steps_) result_.add_output(error.id());
  }

  const Graph& graph_;
  const RegionKeeps& kept_;
  const Marks& marks_;
  const ResidualChoice forms_;
  LoweredRegions regions_;
  const ErrorsTold errors_;
  const RegionsKept inside_;
  Graph result_;
  Builder builder_{result_};
  std::vector<Var> image_, copy_;
  std::map<std::uint32_t, std::vector<Var>> small_;  // by value: in its form
  std::vector<ChainVars> chains_;                    // of differences, then of errors
  std::map<std::uint32_t, std::size_t> delta_;       // by value: its chain
  std::map<std::uint32_t, ChainedLoop> chained_;     // by reversal
  std::vector<Var> errors_of_steps_;
};

// Lowers the marks of a graph and of its regions, in the order of residuals_of.
class MarkLowering {
 public:
  MarkLowering(const ResidualChoice& choice, bool errors) : choice_(choice), errors_(errors) {}

  // `depth`: of loops and branches around it.
  LoweredRegion lower(const Graph& graph, const RegionKeeps& kept, int depth) {
    if (!has_marks(graph)) return {{graph, {}}};
    const Marks marks(graph, kept);
    ResidualChoice forms;
    for (const Residual& residual : marks.list()) {
      const std::optional<Form> form = next_ < choice_.size() ? choice_[next_] : std::nullopt;
      ++next_;
      forms.push_back(form && may_wait_in(residual, *form) ? form : std::nullopt);
    }
    LoweredRegions regions;
    const RegionsKept inside(graph);
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
      for (std::size_t r = 0; r < graph.nodes()[n].regions.size(); ++r) {
        regions[static_cast<std::uint32_t>(n)].push_back(
            lower(graph.nodes()[n].regions[r], inside(NodeId(n), r), depth + 1));
      }
    }
    const ErrorsTold told = !errors_                   ? ErrorsTold::none
                            : depth == 0               ? ErrorsTold::by_outputs
                            : depth == 1 && kept.steps ? ErrorsTold::by_chains
                                                       : ErrorsTold::none;
    return GraphLowering(graph, kept, marks, std::move(forms), std::move(regions), told).run();
  }

 private:
  const ResidualChoice& choice_;
  const bool errors_;
  std::size_t next_ = 0;
};

}  // namespace

Graph lower_residuals(const Graph& graph, const ResidualChoice& choice, bool errors) {
  return MarkLowering(choice, errors).lower(graph, {}, 0).step.region;
}

}  // namespace tidemark
