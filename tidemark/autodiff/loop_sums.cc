#include "tidemark/autodiff/loop_sums.h"

#include <algorithm>
#include <optional>

#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

// Where the values of all steps lie, one after another along the first dimension.
struct Stack {
  enum Source : std::uint8_t { operand, result, of_loop } source;  // of the reversal, or a result of the loop
  std::size_t index;
  // Carried values: step t finds what the step before it put out, the first what the loop began with.
  std::optional<std::size_t> began_as = {};  // operand of the loop
};
struct Term {
  ContractAttrs attrs;
  Stack lhs, rhs;
};
struct TakenOut {
  std::size_t result;  // of the reversal
  std::vector<Term> terms;
};

class Reversal {
 public:
  // `loop`: the loop that is reversed, if it is in sight.
  Reversal(const Node& node, const Node* loop)
      : attrs_(unpack<LoopReverseAttrs>(node.attrs)),
        region_(node.regions[1]),
        at_(attrs_, region_),
        loop_(loop),
        uses_(use_counts(region_)) {}

  const ReversalLayout& at() const { return at_; }
  const LoopReverseAttrs& attrs() const { return attrs_; }

  std::vector<TakenOut> find() const {
    std::vector<TakenOut> found;
    for (std::size_t r = at_.stacked_end; r < at_.results; ++r) {
      TakenOut sum{r, {}};
      if (collect(region_.outputs()[r], region_.inputs()[at_.input_of(r)].value, sum.terms))
        found.push_back(std::move(sum));
    }
    if (found.size() == at_.results) found.clear();  // a reversal without results is none
    return found;
  }

  // Region 1 without these sums.
  Graph without(std::span<const TakenOut> sums) const {
    Graph rest;
    Builder builder(rest);
    std::vector<Var> image(region_.values().size());
    const auto is_taken = [&](std::size_t r) {
      return std::ranges::any_of(sums, [&](const TakenOut& sum) { return sum.result == r; });
    };
    for (std::size_t i = 0; i < region_.inputs().size(); ++i) {
      if (i >= at_.sums && is_taken(at_.stacked_end + i - at_.sums)) continue;
      const ValueId v = region_.inputs()[i].value;
      image[v.index] = builder.input(region_.type(v), region_[v].name);
    }
    for (const Node& node : region_.nodes()) {
      std::vector<Var> in;
      for (ValueId v : node.operands) in.push_back(image[v.index]);
      if (!std::ranges::all_of(in, [](const Var& v) { return static_cast<bool>(v); })) continue;  // the sums
      builder.set_where(node.where);
      builder.set_backward(node.backward);
      const std::vector<Var> out = builder.call(*node.op, in, node.attrs, node.regions);
      for (std::size_t r = 0; r < out.size(); ++r) image[node.results[r].index] = out[r];
    }
    for (std::size_t r = 0; r < region_.outputs().size(); ++r) {
      if (!is_taken(r)) rest.add_output(image[region_.outputs()[r].index].id());
    }
    return rest;
  }

 private:
  // Is `v` what was `begun`, and products of stacked values added to it? Their sum is read nowhere else.
  bool collect(ValueId v, ValueId begun, std::vector<Term>& terms) const {
    while (v != begun) {
      const NodeId producer = region_[v].producer;
      if (!producer.valid() || uses_[v.index] != 1) return false;
      const std::optional<ValueId> rest = add_product(region_[producer], terms);
      if (!rest) return false;
      v = *rest;
    }
    return !terms.empty() && uses_[v.index] == 1;
  }

  // What the node adds a product of stacked values to, which becomes a term; none if it does no such thing.
  std::optional<ValueId> add_product(const Node& node, std::vector<Term>& terms) const {
    if (node.op == &op::contract) {
      if (node.operands.size() != 3 || !add_term(node, terms)) return std::nullopt;
      return node.operands[2];
    }
    if (node.op != &op::add) return std::nullopt;
    for (const std::size_t i : {0, 1}) {
      const ValueId product = node.operands[i];
      const NodeId maker = region_[product].producer;
      if (!maker.valid() || region_[maker].op != &op::contract || uses_[product.index] != 1) continue;
      if (region_[maker].operands.size() == 2 && add_term(region_[maker], terms)) return node.operands[1 - i];
    }
    return std::nullopt;
  }

  bool add_term(const Node& product, std::vector<Term>& terms) const {
    const std::optional<Stack> lhs = stack_of(product.operands[0]), rhs = stack_of(product.operands[1]);
    if (!lhs || !rhs) return false;
    terms.push_back({unpack<ContractAttrs>(product.attrs), *lhs, *rhs});
    return true;
  }

  std::optional<Stack> stack_of(ValueId v) const {
    if (region_.type(v).rank() == max_rank) return {};
    const auto& out = region_.outputs();
    for (std::size_t r = at_.float_carries; r < at_.stacked_end; ++r) {
      if (out[r] == v) return Stack{Stack::result, r};
    }
    const std::size_t carried = at_.results, ys = carried + at_.carries;
    for (std::size_t r = ys; loop_ && r < out.size(); ++r) {
      if (out[r] == v) return Stack{Stack::of_loop, r - carried};
    }
    if (!region_.is_input(v)) return {};
    const std::size_t i = region_[v].result;
    if (i < at_.carries) {
      for (std::size_t r = ys; loop_ && r < out.size(); ++r) {
        if (out[r] == out[carried + i]) return Stack{Stack::of_loop, r - carried, i};
      }
    } else if (i < at_.carries + at_.scanned) {
      return Stack{Stack::operand, i};
    } else if (i >= at_.y_seeds && i < at_.sums) {
      return Stack{Stack::operand, at_.carries + at_.scanned + at_.float_carries + i - at_.y_seeds};
    }
    return {};
  }

  const LoopReverseAttrs attrs_;
  const Graph& region_;
  const ReversalLayout at_;
  const Node* loop_;
  const std::vector<int> uses_;
};

Dims shifted(const Dims& dims) {
  Dims result;
  for (const std::int64_t d : dims) result.push_back(d + 1);
  return result;
}
// The same product for all steps at once, summed over them.
ContractAttrs over_steps(const ContractAttrs& step) {
  ContractAttrs all{shifted(step.lhs_batch), shifted(step.rhs_batch), {0}, {0}};
  for (const std::int64_t d : step.lhs_contract) all.lhs_contract.push_back(d + 1);
  for (const std::int64_t d : step.rhs_contract) all.rhs_contract.push_back(d + 1);
  return all;
}

class TakingOut {
 public:
  explicit TakingOut(const Graph& source) : source_(source), image_(source.values().size()) {}

  Graph run() {
    target_.name = source_.name;
    for (const Input& input : source_.inputs()) {
      image_[input.value.index] = Var(builder_, target_.copy_input(source_, input));
    }
    copy_checkpoints(source_, target_);
    for (const Node& node : source_.nodes()) {
      builder_.set_origin(node);
      if (node.op != &op::loop_reverse || !rewrite(node)) define(node, call(node, node.attrs, inside(node)));
    }
    for (ValueId v : source_.outputs()) target_.add_output(image_[v.index].id());
    copy_hints(source_, target_, 0, ids_of(image_));
    return std::move(target_);
  }

 private:
  static std::vector<Graph> inside(const Node& node) {
    std::vector<Graph> regions;
    for (const Graph& region : node.regions) regions.push_back(take_out_sums(region));
    return regions;
  }
  std::vector<Var> call(const Node& node, const Attrs& attrs, std::vector<Graph> regions) {
    std::vector<Var> in;
    for (ValueId v : node.operands) in.push_back(image_[v.index]);
    return builder_.call(*node.op, in, attrs, std::move(regions));
  }
  void define(const Node& node, std::span<const Var> results) {
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      image_[node.results[r].index] = results[r];
      if (target_[results[r].id()].name.empty())
        target_[results[r].id()].name = source_[node.results[r]].name;
    }
  }

  // The loop whose states a reversal reads.
  const Node* loop_of(const Node& node, const LoopReverseAttrs& attrs) const {
    if (attrs.carries == 0) return nullptr;
    const NodeId producer = source_[node.operands[0]].producer;
    if (!producer.valid() || source_[producer].op != &op::loop) return nullptr;
    return &source_[producer];
  }

  bool rewrite(const Node& node) {
    const auto attrs = unpack<LoopReverseAttrs>(node.attrs);
    if (attrs.unknown_length() || !attrs.keeps_all()) return false;
    const Node* loop = loop_of(node, attrs);
    const Reversal reversal(node, loop);
    const std::vector<TakenOut> sums = reversal.find();
    if (sums.empty()) return false;
    LoopReverseAttrs fewer = attrs;
    fewer.wanted_captured -= std::ssize(sums);
    std::vector<Graph> regions;
    regions.push_back(take_out_sums(node.regions[0]));
    regions.push_back(take_out_sums(reversal.without(sums)));
    const std::vector<Var> left = call(node, pack(fewer), std::move(regions));
    std::vector<Var> results(node.results.size());
    for (std::size_t r = 0, next = 0, sum = 0; r < results.size(); ++r) {
      if (sum < sums.size() && sums[sum].result == r) {
        ++sum;
      } else {
        results[r] = left[next++];
      }
    }
    for (const TakenOut& sum : sums) results[sum.result] = written(sum, node, loop, attrs, results);
    define(node, results);
    return true;
  }

  // The values of a stack that steps [begin, end) of the loop's slices find.
  struct Found {
    Var rest;   // of all steps, or of all but the first
    Var first;  // of that
  };
  Found found(const Stack& stack, bool apart, const Node& node, const Node* loop,
              const LoopReverseAttrs& attrs, std::span<const Var> results) const {
    const Var all = stack.source == Stack::result    ? results[stack.index]
                    : stack.source == Stack::operand ? image_[node.operands[stack.index].index]
                                                     : image_[loop->results[stack.index].index];
    if (!apart) return {all, {}};
    const std::int64_t last = attrs.trips - 1;
    // What is carried lies one step behind; slices run backwards in a loop that does.
    const bool cut_front = attrs.reverse == stack.began_as.has_value();
    const Var rest = slice_axis(all, 0, cut_front ? 1 : 0, cut_front ? attrs.trips : last);
    if (stack.began_as) return {rest, image_[loop->operands[*stack.began_as].index]};
    const std::int64_t at = attrs.reverse ? last : 0;
    return {rest, squeeze(slice_axis(all, 0, at, at + 1), 0)};
  }

  Var written(const TakenOut& sum, const Node& node, const Node* loop, const LoopReverseAttrs& attrs,
              std::span<const Var> results) const {
    Var total;
    const auto add = [&](const Var& lhs, const Var& rhs, const ContractAttrs& dims) {
      const Var product = contract(lhs, rhs, dims);
      total = total ? total + product : product;
    };
    for (const Term& term : sum.terms) {
      const bool apart = term.lhs.began_as || term.rhs.began_as;
      const Found lhs = found(term.lhs, apart, node, loop, attrs, results),
                  rhs = found(term.rhs, apart, node, loop, attrs, results);
      if (!apart || attrs.trips > 1) add(lhs.rest, rhs.rest, over_steps(term.attrs));
      if (apart) add(lhs.first, rhs.first, term.attrs);
    }
    return total;
  }

  const Graph& source_;
  Graph target_;
  Builder builder_{target_};
  std::vector<Var> image_;
};

}  // namespace

Graph take_out_sums(const Graph& graph) {
  const bool any = std::ranges::any_of(graph.nodes(), [](const Node& node) { return !node.regions.empty(); });
  return any ? TakingOut(graph).run() : graph;
}

}  // namespace tidemark
