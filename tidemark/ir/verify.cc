#include "tidemark/ir/verify.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"
#include "tidemark/ir/limits.h"

namespace tidemark {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, int depth) : graph_(graph), depth_(depth) {}

  void run() {
    require(depth_ <= max_region_depth, "regions are nested more than {} deep", max_region_depth);
    defined_.assign(graph_.values().size(), false);
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) check_input(i);
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) check_node(NodeId(i));
    where_ = {};
    for (std::size_t i = 0; i < graph_.values().size(); ++i) {
      require(defined_[i], "value {} is neither an input nor a result", i);
      require(within_limits(graph_.values()[i].type), "value {} is too large or has a negative size", i);
    }
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      require(graph_.outputs()[i].index < graph_.values().size(), "output {} is no value of the graph", i);
    }
    check_hints();
  }

 private:
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> message, Args&&... args) {
    if (holds) return;
    fail(ErrorCode::malformed_graph,
         {.what = fmt::format(message, std::forward<Args>(args)...), .where = where_});
  }

  void define(ValueId v, NodeId producer, std::size_t place) {
    require(v.index < graph_.values().size(), "value {} is not in the graph", v.index);
    require(!defined_[v.index], "value {} is defined twice", v.index);
    require(graph_[v].producer == producer && graph_[v].result == place, "value {} names another producer",
            v.index);
    defined_[v.index] = true;
  }

  void check_input(std::size_t i) { define(graph_.inputs()[i].value, NodeId(), i); }

  void check_attrs(const Node& node) {
    const AttrSchema& schema = node.op->schema();
    require(node.attrs.size() == schema.size(), "{} has {} attributes instead of {}", node.op->name,
            node.attrs.size(), schema.size());
    for (std::size_t i = 0; i < schema.size(); ++i) {
      require(node.attrs[i].index() == schema[i].default_value.index(),
              "{}: the attribute {} has another kind", node.op->name, schema[i].name);
      const Literal* literal = std::get_if<Literal>(&node.attrs[i]);
      require(!literal || is_well_formed(*literal), "{}: the attribute {} has other bytes than its type",
              node.op->name, schema[i].name);
    }
  }

  void check_node(NodeId id) {
    const Node& node = graph_[id];
    where_ = node.where;
    require(node.op && node.op->infer, "node {} has no operation", id.index);
    for (std::size_t o = 0; o < node.operands.size(); ++o) {
      const ValueId v = node.operands[o];
      require(v.index < graph_.values().size(), "{}: operand {} is not in the graph", node.op->name, o);
      require(defined_[v.index], "{}: operand {} is used before it is defined", node.op->name, o);
    }
    check_attrs(node);
    require(!node.checkpoint.valid() || node.checkpoint.index < graph_.checkpoints().size(),
            "{}: there is no checkpoint {}", node.op->name, node.checkpoint.index);
    for (const Graph& region : node.regions) Verifier(region, depth_ + 1).run();
    require(node.op->results < 0 || node.results.size() == static_cast<std::size_t>(node.op->results),
            "{} has {} results instead of {}", node.op->name, node.results.size(), node.op->results);
    for (std::size_t r = 0; r < node.results.size(); ++r) define(node.results[r], id, r);
    check_types(node);
  }

  void check_hints() {
    for (std::size_t i = 0; i < graph_.checkpoints().size(); ++i) {
      const Checkpoint& checkpoint = graph_.checkpoints()[i];
      require(!checkpoint.parent.valid() || checkpoint.parent.index < i,
              "checkpoint {} is inside one that comes later", i);
      require(!checkpoint.memory || checkpoint.memory->count >= 0, "checkpoint {} has negative memory", i);
      for (ValueId v : checkpoint.results)
        require(v.index < graph_.values().size(), "checkpoint {} returns no value of the graph", i);
    }
    for (const Hint& hint : graph_.hints()) {
      require(hint.kind != HintKind::checkpoint, "a hint on a value is no checkpoint");
      require(!hint.value.valid() || hint.value.index < graph_.values().size(),
              "a hint is on no value of the graph");
    }
  }

  void check_types(const Node& node) {
    const NodeCall call(graph_, node);
    Call question = call;
    question.out = {};
    std::vector<Type> types;
    try {
      types = node.op->infer(question);
    } catch (const Error& error) {
      fail(ErrorCode::malformed_graph, {.what = error.parts().what,
                                        .expected = error.parts().expected,
                                        .where = node.where,
                                        .help = error.parts().help,
                                        .notes = error.parts().notes});
    }
    require(types.size() == call.out.size(), "{} has {} results, its operands give {}", node.op->name,
            call.out.size(), types.size());
    for (std::size_t r = 0; r < types.size(); ++r) {
      require(types[r] == call.out[r], "{}: result {} is {}, its operands give {}", node.op->name, r,
              to_string(call.out[r]), to_string(types[r]));
    }
  }

  const Graph& graph_;
  const int depth_;
  SourceLine where_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph, 0).run(); }

void verify_or_internal(const Graph& graph, std::string_view after) {
  try {
    verify(graph);
  } catch (const Error& error) {
    throw InternalError(
        fmt::format("internal error: the graph is malformed after {}: {}", after, error.what()));
  }
}

}  // namespace tidemark
