#include "tidemark/opt/split_body.h"

#include <algorithm>

namespace tidemark {
namespace {

class BatchBody {
 public:
  BatchBody(const BatchPair& pair, const BatchClasses& classes, const SplitNeeds& needs,
            const BatchRules& rules, const SplitOps& ops)
      : pair_(pair),
        full_(pair.full),
        classes_(classes),
        needs_(needs),
        rules_(rules),
        ops_(ops),
        builder_(graph_),
        image_(full_.values().size()),
        uses_(full_.values().size(), 0),
        absorbed_(full_.nodes().size(), false),
        terms_(full_.values().size()) {
    copy_checkpoints(full_, graph_);
    for (ValueId v : needs.sums) sums_.push_back(builder_.input(carried_type(full_.type(v)), full_[v].name));
    for (ValueId v : needs.slices) image_[v.index] = graph_.add_input(pair.small.type(v), full_[v].name);
    if (needs.number) number_ = builder_.input({DType::i64, {}}, "micro_batch");
    for (ValueId v : needs.shared) image_[v.index] = graph_.add_input(full_.type(v), full_[v].name);
    count_uses();
    for (std::size_t c = 0; c < needs.sums.size(); ++c) find_terms(needs.sums[c], c);
    for (std::size_t n = 0; n < full_.nodes().size(); ++n) {
      if (needs.body[n] && !absorbed_[n]) write(NodeId(n));
    }
    for (const Var& sum : sums_) graph_.add_output(sum.id());
    for (ValueId v : needs.stacks) graph_.add_output(image_[v.index]);
    copy_wishes();
  }

  Graph take() { return std::move(graph_); }

 private:
  void count_uses() {
    for (std::size_t n = 0; n < full_.nodes().size(); ++n) {
      if (!needs_.body[n]) continue;
      for (ValueId v : full_.nodes()[n].operands) ++uses_[v.index];
    }
    for (ValueId v : needs_.sums) ++uses_[v.index];
    for (ValueId v : needs_.stacks) ++uses_[v.index];
  }

  // What is added to a sum: the summands of what only it reads, each as soon as it is there.
  void find_terms(ValueId sum, std::size_t carry) {
    std::vector<ValueId> open = {sum};
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      const Node& node = full_[full_[v].producer];
      const bool inner = node.op == ops_.known.add && uses_[v.index] == 1 &&
                         std::ranges::all_of(node.operands, [&](ValueId o) {
                           return classes_.values[o.index].is(BatchRole::partial) &&
                                  !classes_.early[o.index] && full_.type(o) == full_.type(v);
                         });
      if (inner) {
        absorbed_[full_[v].producer.index] = true;
        open.insert(open.end(), node.operands.begin(), node.operands.end());
      } else {
        terms_[v.index].push_back(carry);
      }
    }
  }

  // A product that is added to a sum and to nothing else is added in place.
  bool is_added_product(const Node& node) const {
    if (node.op != ops_.known.contract || node.operands.size() != 2) return false;
    const ValueId v = node.results[0];
    return uses_[v.index] == 1 && terms_[v.index].size() == 1 &&
           sums_[terms_[v.index][0]].type() == full_.type(v);
  }

  void write(NodeId id) {
    const Node& node = full_[id];
    builder_.set_origin(node);
    const bool is_whole = std::ranges::all_of(node.results, [&](ValueId v) { return classes_.is_whole(v); });
    if (rules_.is_mean(*node.op) && classes_.values[node.results[0].index].is(BatchRole::partial)) {
      write_sum_of_mean(node);
    } else {
      const Node& small = pair_.small[id];
      Node copy{.op = node.op,
                .operands = {},
                .results = {},
                .attrs = is_whole ? node.attrs : attrs_of(id),
                .regions = is_whole ? node.regions : small.regions,
                .where = node.where,
                .checkpoint = node.checkpoint,
                .backward = node.backward};
      for (ValueId v : node.operands) copy.operands.push_back(image_[v.index]);
      std::vector<Type> types;
      for (ValueId v : node.results) types.push_back(pair_.small.type(v));
      if (rules_.is_numbered(*node.op) && !is_whole) {
        const Var each = ops_.number(builder_, DType::i64, types[0].count());
        copy.operands.push_back(builder_.call1(*ops_.known.mul, {number_, each}).id());
      }
      if (is_added_product(node)) {
        Var& sum = sums_[terms_[node.results[0].index][0]];
        copy.operands.push_back(sum.id());
        sum = Var(builder_, graph_[graph_.add_node(std::move(copy), types)].results[0]);
        return;
      }
      const NodeId added = graph_.add_node(std::move(copy), types);
      for (std::size_t r = 0; r < node.results.size(); ++r) {
        image_[node.results[r].index] = graph_[added].results[r];
        graph_[graph_[added].results[r]].name = full_[node.results[r]].name;
      }
    }
    for (ValueId v : node.results) {
      for (std::size_t carry : terms_[v.index]) {
        Var& sum = sums_[carry];
        const Var term = ops_.cast_to(Var(builder_, image_[v.index]), sum.dtype());
        sum = builder_.call1(*ops_.known.add, {sum, term});
      }
    }
  }

  Attrs attrs_of(NodeId id) const {
    const NodeCall f(full_, full_[id]), s(pair_.small, pair_.small[id]);
    return rules_.attrs_for({f, s, {}, pair_.parts});
  }

  // In f32 where the numbers have 16 bits: a sum may be too large for those, a mean is not.
  void write_sum_of_mean(const Node& node) {
    const Var x(builder_, image_[node.operands[0].index]);
    const Var wide = ops_.cast_to(x, carried_type(x.type()).dtype);
    image_[node.results[0].index] = builder_.call1(*ops_.sum, {wide}, node.attrs).id();
  }

  void copy_wishes() {
    for (std::size_t c = 0; c < full_.checkpoints().size(); ++c) {
      for (ValueId v : full_.checkpoints()[c].results) {
        std::vector<ValueId>& results = graph_[CheckpointId(c)].results;
        const ValueId here = image_[v.index];
        if (here.valid() && !graph_.is_input(here) && std::ranges::find(results, here) == results.end())
          results.push_back(here);
      }
    }
    for (Hint hint : full_.hints()) {
      if (!hint.value.valid() || !image_[hint.value.index].valid()) continue;
      hint.value = image_[hint.value.index];
      if (!graph_.is_input(hint.value)) graph_.add_hint(hint);
    }
  }

  const BatchPair& pair_;
  const Graph& full_;
  const BatchClasses& classes_;
  const SplitNeeds& needs_;
  const BatchRules& rules_;
  const SplitOps& ops_;
  Graph graph_;
  Builder builder_;
  std::vector<ValueId> image_;
  std::vector<int> uses_;
  std::vector<bool> absorbed_;                   // per node: an addition whose terms are added one by one
  std::vector<std::vector<std::size_t>> terms_;  // per value: the sums that it is added to
  std::vector<Var> sums_;
  Var number_;  // of the micro-batch
};

}  // namespace

Graph split_body(const BatchPair& pair, const BatchClasses& classes, const SplitNeeds& needs,
                 const BatchRules& rules, const SplitOps& ops) {
  return BatchBody(pair, classes, needs, rules, ops).take();
}

}  // namespace tidemark
