#include "tidemark/opt/gather.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "tidemark/ir/effects.h"
#include "tidemark/opt/rewrite.h"

namespace tidemark {
namespace {

constexpr std::size_t fewest = 4;  // products that are worth it

// Part `index` of a value that is stacked along its first dimension.
struct Part {
  ValueId stack;
  std::int64_t index = 0;
};
struct Term {
  ValueId product;
  Part lhs, rhs;
};
// Products of neighbouring parts, by ascending parts.
struct Series {
  std::vector<Term> terms;
};
struct Sum {
  std::vector<ValueId> others;  // in the order in which they are added
  std::vector<Series> series;
};

class Sums {
 public:
  Sums(const Graph& graph, const KnownOps& ops) : graph_(graph), ops_(ops), uses_(use_counts(graph)) {
    find_parts();
    std::vector<bool> inner(graph.nodes().size(), false);
    for (std::size_t n = graph.nodes().size(); n-- > 0;) {
      const Node& node = graph.nodes()[n];
      if (node.op != ops.add || inner[n]) continue;
      Sum sum;
      collect(node.results[0], sum, inner, true);
      group(sum);
      if (!sum.series.empty() && is_free(NodeId(n), sum)) sums_.emplace(static_cast<std::uint32_t>(n), sum);
    }
  }

  bool empty() const { return sums_.empty(); }
  const std::map<std::uint32_t, Sum>& all() const { return sums_; }

 private:
  // Values that become parts of a stack by a reshape in front of a concat: [1, …] beside [1, …].
  void find_parts() {
    parts_.resize(graph_.values().size());
    for (const Node& node : graph_.nodes()) {
      if (node.op != ops_.concat || attribute<std::int64_t>(node, "axis") != 0) continue;
      if (graph_.type(node.results[0]).shape[0] != std::ssize(node.operands)) continue;
      for (std::size_t i = 0; i < node.operands.size(); ++i) {
        const NodeId producer = graph_[node.operands[i]].producer;
        if (!producer.valid() || graph_[producer].op != ops_.reshape) continue;
        const ValueId part = graph_[producer].operands[0];
        Shape row = graph_.type(part).shape;
        row.insert(0, 1);
        if (row != graph_.type(node.operands[i]).shape || parts_[part.index]) continue;
        parts_[part.index] = Part{node.results[0], static_cast<std::int64_t>(i)};
      }
    }
  }

  // The terms of a sum: what is added to it on the way, as long as nobody else reads it.
  void collect(ValueId v, Sum& sum, std::vector<bool>& inner, bool root = false) {
    // Deep chains: by a stack of what is still to be visited, last operand first.
    std::vector<std::pair<ValueId, bool>> open = {{v, root}};
    while (!open.empty()) {
      const auto [value, is_root] = open.back();
      open.pop_back();
      const NodeId producer = graph_[value].producer;
      const bool is_sum = producer.valid() && graph_[producer].op == ops_.add &&
                          (is_root || uses_[value.index] == 1) &&
                          graph_.type(graph_[producer].operands[0]) == graph_.type(value) &&
                          graph_.type(graph_[producer].operands[1]) == graph_.type(value);
      if (!is_sum) {
        sum.others.push_back(value);
        continue;
      }
      inner[producer.index] = true;
      open.emplace_back(graph_[producer].operands[1], false);
      open.emplace_back(graph_[producer].operands[0], false);
    }
  }

  std::optional<Term> term_of(ValueId v) const {
    const NodeId producer = graph_[v].producer;
    if (!producer.valid() || graph_[producer].op != ops_.contract || uses_[v.index] != 1) return {};
    const Node& product = graph_[producer];
    if (product.operands.size() != 2 || !is_float(graph_.type(v).dtype)) return {};
    const auto &lhs = parts_[product.operands[0].index], &rhs = parts_[product.operands[1].index];
    if (!lhs || !rhs) return {};
    return Term{v, *lhs, *rhs};
  }

  void group(Sum& sum) const {
    // Alike: the same product of the same stacks, at the same distance.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, std::vector<Term>> alike;
    for (ValueId v : sum.others) {
      if (const std::optional<Term> term = term_of(v)) {
        alike[{term->lhs.stack.index, term->rhs.stack.index, term->lhs.index - term->rhs.index}].push_back(
            *term);
      }
    }
    std::vector<ValueId> taken;
    for (auto& [key, terms] : alike) {
      std::ranges::stable_sort(terms, {}, [](const Term& t) { return t.lhs.index; });
      for (std::size_t begin = 0, end = 0; begin < terms.size(); begin = end) {
        for (end = begin + 1; end < terms.size() && follows(terms[end - 1], terms[end]);) ++end;
        if (end - begin < fewest) continue;
        Series series;
        series.terms.assign(terms.begin() + static_cast<std::ptrdiff_t>(begin),
                            terms.begin() + static_cast<std::ptrdiff_t>(end));
        for (const Term& term : series.terms) taken.push_back(term.product);
        sum.series.push_back(std::move(series));
      }
    }
    std::ranges::sort(taken);
    std::erase_if(sum.others, [&](ValueId v) { return std::ranges::binary_search(taken, v); });
  }
  bool follows(const Term& before, const Term& after) const {
    return after.lhs.index == before.lhs.index + 1 &&
           graph_[graph_[before.product].producer].attrs == graph_[graph_[after.product].producer].attrs;
  }

  // Can the sum wait for the stacks? Not if they are made from it.
  bool is_free(NodeId root, const Sum& sum) const {
    std::vector<bool> later(graph_.values().size(), false);
    for (std::size_t n = root.index; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      const bool depends =
          n == root.index || std::ranges::any_of(node.operands, [&](ValueId v) { return later[v.index]; });
      for (ValueId v : node.results) later[v.index] = depends;
    }
    return std::ranges::none_of(sum.series, [&](const Series& series) {
      return later[series.terms[0].lhs.stack.index] || later[series.terms[0].rhs.stack.index];
    });
  }

  const Graph& graph_;
  const KnownOps& ops_;
  std::vector<int> uses_;
  std::vector<std::optional<Part>> parts_;
  std::map<std::uint32_t, Sum> sums_;  // by the node of the last addition
};

Dims over_steps(const Dims& dims, bool contracted) {
  Dims result;
  if (contracted) result.push_back(0);
  for (const std::int64_t d : dims) result.push_back(d + 1);
  return result;
}

class Gathering {
 public:
  Gathering(const Graph& graph, const KnownOps& ops, const Sums& sums)
      : ops_(ops),
        sums_(sums),
        rewriter_(graph, [&ops](const Graph& region) { return gather(region, ops); }) {}

  // nullopt: sums wait for each other.
  std::optional<Graph> run() {
    const Graph& graph = rewriter_.source();
    std::vector<NodeId> late;
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
      if (!place(NodeId(n))) late.push_back(NodeId(n));
    }
    // Everything else stands: these follow in their old order.
    for (const NodeId n : late) {
      if (!place(n)) return {};
    }
    return rewriter_.finish();
  }

 private:
  bool has(ValueId v) const { return rewriter_.has_image(v); }

  bool place(NodeId n) {
    const Node& node = rewriter_.source()[n];
    const auto sum = sums_.all().find(n.index);
    if (sum != sums_.all().end()) return place(n, sum->second);
    if (!std::ranges::all_of(node.operands, [&](ValueId v) { return has(v); })) return false;
    rewriter_.copy(n);
    return true;
  }

  bool place(NodeId n, const Sum& sum) {
    const bool ready = std::ranges::all_of(sum.others, [&](ValueId v) { return has(v); }) &&
                       std::ranges::all_of(sum.series, [&](const Series& series) {
                         return has(series.terms[0].lhs.stack) && has(series.terms[0].rhs.stack);
                       });
    if (!ready) return false;
    const Graph& source = rewriter_.source();
    const ValueId result = source[n].results[0];
    ValueId total;
    const auto add = [&](ValueId v) {
      total =
          total.valid() ? append(ops_.add, {total, v}, source[n].attrs, source.type(result), source[n]) : v;
    };
    for (const Series& series : sum.series) add(product_of(series));
    for (const ValueId v : sum.others) add(rewriter_.image(v));
    rewriter_.map(result, total);
    return true;
  }

  ValueId product_of(const Series& series) {
    const Graph& source = rewriter_.source();
    const Node& step = source[source[series.terms[0].product].producer];
    const auto count = std::ssize(series.terms);
    const ValueId lhs = rows(series.terms[0].lhs, count, step), rhs = rows(series.terms[0].rhs, count, step);
    const auto dims = [&](const char* name, bool contracted) {
      return over_steps(attribute<Dims>(step, name), contracted);
    };
    return append(ops_.contract, {lhs, rhs},
                  attrs_with(*ops_.contract, {{"lhs_batch", dims("lhs_batch", false)},
                                              {"rhs_batch", dims("rhs_batch", false)},
                                              {"lhs_contract", dims("lhs_contract", true)},
                                              {"rhs_contract", dims("rhs_contract", true)}}),
                  source.type(series.terms[0].product), step);
  }

  ValueId rows(const Part& first, std::int64_t count, const Node& at) {
    const ValueId stack = rewriter_.image(first.stack);
    Type type = rewriter_.target().type(stack);
    if (count == type.shape[0]) return stack;
    Dims start, limit, step;
    for (int d = 0; d < type.rank(); ++d) {
      start.push_back(d == 0 ? first.index : 0);
      limit.push_back(d == 0 ? first.index + count : type.shape[d]);
      step.push_back(1);
    }
    type.shape[0] = count;
    return append(ops_.slice, {stack},
                  attrs_with(*ops_.slice, {{"start", start}, {"limit", limit}, {"step", step}}), type, at);
  }

  ValueId append(const Op* op, std::vector<ValueId> operands, Attrs attrs, const Type& type,
                 const Node& like) {
    const NodeId added = rewriter_.target().add_node({.op = op,
                                                      .operands = std::move(operands),
                                                      .results = {},
                                                      .attrs = std::move(attrs),
                                                      .regions = {},
                                                      .where = like.where,
                                                      .checkpoint = like.checkpoint,
                                                      .backward = like.backward},
                                                     {&type, 1});
    return rewriter_.target()[added].results[0];
  }

  const KnownOps& ops_;
  const Sums& sums_;
  Rewriter rewriter_;
};

Graph regions_alone(const Graph& graph, const KnownOps& ops) {
  Rewriter rewriter(graph, [&](const Graph& region) { return gather(region, ops); });
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) rewriter.copy(NodeId(n));
  return rewriter.finish();
}

}  // namespace

Graph gather(const Graph& graph, const KnownOps& ops) {
  if (!ops.add || !ops.contract || !ops.concat || !ops.reshape || !ops.slice) return graph;
  // Effects stay where they are among everything else.
  if (std::ranges::any_of(graph.nodes(), has_effects)) return regions_alone(graph, ops);
  const Sums sums(graph, ops);
  if (sums.empty()) return regions_alone(graph, ops);
  std::optional<Graph> gathered = Gathering(graph, ops, sums).run();
  return gathered ? std::move(*gathered) : regions_alone(graph, ops);
}

}  // namespace tidemark
