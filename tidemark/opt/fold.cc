#include "tidemark/opt/fold.h"

#include <algorithm>
#include <optional>

#include "tidemark/base/error.h"
#include "tidemark/ir/effects.h"
#include "tidemark/opt/rewrite.h"

namespace tidemark {
namespace {

class Folder {
 public:
  Folder(const Graph& graph, const KnownOps& ops, const Evaluator& evaluate)
      : graph_(graph),
        ops_(ops),
        evaluate_(evaluate),
        uses_(use_counts(graph)),
        rewriter_(graph, [&](const Graph& region) { return fold(region, ops, evaluate); }) {}

  Graph run() {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      const std::optional<std::vector<Literal>> results = folded(node);
      if (!results) {
        rewriter_.copy(NodeId(i));
        continue;
      }
      for (std::size_t r = 0; r < results->size(); ++r) {
        const Literal& literal = (*results)[r];
        const Type type{literal.dtype, literal.shape};
        Node constant{.op = ops_.constant,
                      .operands = {},
                      .results = {},
                      .attrs = attrs_with(*ops_.constant, {{"value", literal}}),
                      .regions = {},
                      .where = node.where,
                      .checkpoint = node.checkpoint,
                      .backward = node.backward};
        const NodeId id = rewriter_.target().add_node(std::move(constant), std::span(&type, 1));
        rewriter_.map(node.results[r], rewriter_.target()[id].results[0]);
      }
    }
    return rewriter_.finish();
  }

 private:
  // The data of a constant of the target.
  const Literal* constant(ValueId v) {
    const NodeId producer = rewriter_.target()[v].producer;
    if (!producer.valid() || rewriter_.target()[producer].op != ops_.constant) return nullptr;
    return &attribute<Literal>(rewriter_.target()[producer], "value");
  }

  std::optional<std::vector<Literal>> folded(const Node& node) {
    if (node.op == ops_.constant || !node.regions.empty() || node.results.empty() || !is_pure(node))
      return {};
    std::int64_t result_bytes = 0, operand_bytes = 0, freed_bytes = 0;
    for (ValueId v : node.results) result_bytes += graph_.type(v).bytes();
    if (result_bytes > max_folded_bytes) return {};
    std::vector<const Literal*> data;
    for (ValueId v : node.operands) {
      data.push_back(constant(rewriter_.image(v)));
      if (!data.back()) return {};
      const std::int64_t bytes = graph_.type(v).bytes();
      operand_bytes += bytes;
      if (uses_[v.index] == 1) freed_bytes += bytes;
    }
    if (operand_bytes > max_fold_operand_bytes || result_bytes > std::max(freed_bytes, always_folded_bytes))
      return {};
    std::vector<Literal> operands;
    for (const Literal* literal : data) operands.push_back(*literal);
    try {
      std::vector<Literal> results = evaluate_(*node.op, operands, node.attrs);
      TM_CHECK(results.size() == node.results.size(), "{} gave {} results", node.op->name, results.size());
      return results;
    } catch (const Error&) {
      return {};  // what cannot run now fails, or not, where the user runs it
    }
  }

  const Graph& graph_;
  const KnownOps& ops_;
  const Evaluator& evaluate_;
  const std::vector<int> uses_;
  Rewriter rewriter_;
};

}  // namespace

Graph fold(const Graph& graph, const KnownOps& ops, const Evaluator& evaluate) {
  TM_CHECK(ops.constant && evaluate, "folding needs the op `constant` and an evaluator");
  return Folder(graph, ops, evaluate).run();
}

}  // namespace tidemark
