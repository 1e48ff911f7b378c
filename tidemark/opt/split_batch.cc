#include "tidemark/opt/split_batch.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"
#include "tidemark/ir/verify.h"
#include "tidemark/opt/split_body.h"

namespace tidemark {
namespace {

// The graph around the loop. Every value of it is what it is for the whole batch.
class SplitGraph {
 public:
  SplitGraph(const BatchPair& pair, const Op* (*find)(std::string_view))
      : pair_(pair),
        full_(pair.full),
        ops_(find),
        rules_(find),
        classes_(classify_batch(pair, rules_)),
        needs_(pair, classes_, rules_, ops_),
        builder_(graph_),
        image_(full_.values().size()) {
    graph_.name = full_.name;
    for (const Input& input : full_.inputs()) image_[input.value.index] = graph_.copy_input(full_, input);
    copy_checkpoints(full_, graph_);
    write(needs_.before, {});
    if (!needs_.sums.empty() || !needs_.stacks.empty()) write_loop();
    write(needs_.behind, needs_.before);
    for (ValueId v : full_.outputs()) graph_.add_output(image_[v.index]);
    copy_hints(full_, graph_, 0, image_);
    verify_or_internal(graph_, "split_batch");
  }

  Graph take() { return std::move(graph_); }

 private:
  void write(const std::vector<bool>& nodes, const std::vector<bool>& done) {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (!nodes[n] || (!done.empty() && done[n])) continue;
      Node copy = full_.nodes()[n];
      std::vector<Type> types;
      for (ValueId v : copy.results) types.push_back(full_.type(v));
      for (ValueId& v : copy.operands) v = image_[v.index];
      const std::vector<ValueId> results = copy.results;
      const NodeId added = graph_.add_node(std::move(copy), types);
      for (std::size_t r = 0; r < results.size(); ++r) {
        image_[results[r].index] = graph_[added].results[r];
        graph_[graph_[added].results[r]].name = full_[results[r]].name;
      }
    }
  }

  // (n, the shape of a micro-batch's part)
  Shape stacked_shape(ValueId v) const {
    Shape shape = pair_.small.type(v).shape;
    if (shape.rank() == max_rank) {
      const NodeId maker = full_[v].producer;
      fail(ErrorCode::bad_plan_option,
           {.what = fmt::format("accumulate: a value of {} dimensions would have to be cut along the batch",
                                max_rank),
            .expected = fmt::format("at most {}", max_rank - 1),
            .where = maker.valid() && full_[maker].where.known() ? full_[maker].where : pair_.where});
    }
    shape.insert(0, pair_.parts);
    return shape;
  }

  Var cut(ValueId v) {
    const PartsShape around = parts_shape(classes_.values[v.index].layout, full_.type(v).shape, pair_.parts);
    Var x(builder_, image_[v.index]);
    if (around.before != 1) x = ops_.swapped(ops_.reshaped(x, {around.before, pair_.parts, around.after}));
    return ops_.reshaped(x, stacked_shape(v));
  }
  Var joined(ValueId v, const Var& stack) {
    const PartsShape around = parts_shape(classes_.values[v.index].layout, full_.type(v).shape, pair_.parts);
    Var x = stack;
    if (around.before != 1) x = ops_.swapped(ops_.reshaped(x, {pair_.parts, around.before, around.after}));
    return ops_.reshaped(x, full_.type(v).shape);
  }

  void write_loop() {
    builder_.set_where(pair_.where);
    builder_.set_backward(has_backward_nodes());
    for (ValueId v : needs_.stacks) stacked_shape(v);  // throws
    std::vector<Var> operands;
    for (ValueId v : needs_.sums) operands.push_back(ops_.zeros(builder_, carried_type(full_.type(v))));
    for (ValueId v : needs_.slices) operands.push_back(cut(v));
    if (needs_.number) {
      operands.push_back(builder_.call1(
          *ops_.iota, {}, attrs_with(*ops_.iota, {{"dtype", DType::i64}, {"shape", Dims{pair_.parts}}})));
    }
    for (ValueId v : needs_.shared) operands.emplace_back(builder_, image_[v.index]);
    std::vector<Graph> regions;
    regions.push_back(split_body(pair_, classes_, needs_, rules_, ops_));
    const Attrs attrs =
        attrs_with(*ops_.loop, {{"trips", pair_.parts},
                                {"carries", std::ssize(needs_.sums)},
                                {"scanned", std::ssize(needs_.slices) + (needs_.number ? 1 : 0)}});
    const std::vector<Var> found = builder_.call(*ops_.loop, operands, attrs, std::move(regions));
    for (std::size_t c = 0; c < needs_.sums.size(); ++c)
      image_[needs_.sums[c].index] = completed(needs_.sums[c], found[c]).id();
    for (std::size_t y = 0; y < needs_.stacks.size(); ++y)
      image_[needs_.stacks[y].index] = joined(needs_.stacks[y], found[needs_.sums.size() + y]).id();
  }

  bool has_backward_nodes() const {
    for (std::size_t n = 0; n < full_.nodes().size(); ++n) {
      if (needs_.body[n] && full_.nodes()[n].backward) return true;
    }
    return false;
  }

  Var completed(ValueId v, Var sum) {
    const Node& node = full_[full_[v].producer];
    builder_.set_where(node.where);
    builder_.set_backward(node.backward);
    if (rules_.is_mean(*node.op)) {
      const Shape& shape = full_.type(node.operands[0]).shape;
      double count = 1;
      for (std::int64_t axis : attribute<Dims>(node, "axes"))
        count *= static_cast<double>(shape[static_cast<int>(axis)]);
      sum = builder_.call1(*ops_.known.div, {sum, ops_.number(builder_, sum.dtype(), count)});
    }
    return ops_.cast_to(sum, full_.type(v).dtype);
  }

  const BatchPair& pair_;
  const Graph& full_;
  const SplitOps ops_;
  const BatchRules rules_;
  const BatchClasses classes_;
  const SplitNeeds needs_;
  Graph graph_;
  Builder builder_;
  std::vector<ValueId> image_;
};

}  // namespace

Graph split_batch(const BatchPair& pair, const Op* (*find)(std::string_view name)) {
  TM_CHECK(pair.batched.size() == pair.full.inputs().size() && pair.parts > 1, "{} parts", pair.parts);
  return SplitGraph(pair, find).take();
}

}  // namespace tidemark
