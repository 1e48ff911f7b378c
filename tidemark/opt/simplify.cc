#include "tidemark/opt/simplify.h"

#include <bit>
#include <cstring>
#include <unordered_map>

#include "tidemark/opt/rewrite.h"
#include "tidemark/opt/simplify_rule.h"

namespace tidemark {
namespace {

// Rules shrink or reorder towards a normal form, so few fire in a row; the bound guards against our own
// mistakes.
constexpr int max_firings = 16;
constexpr std::size_t max_uniform_bytes = 4096;  // larger data is not searched

using RuleTable = std::unordered_map<const Op*, std::vector<const Rule*>>;

struct Rules {
  RuleTable by_op;
  std::vector<const Rule*> elementwise;

  explicit Rules(const KnownOps& ops) {
    for (const std::span<const Rule> list : {arithmetic_rules(), movement_rules()}) {
      for (const Rule& rule : list) {
        if (rule.heads.empty()) elementwise.push_back(&rule);
        for (const auto head : rule.heads) {
          if (ops.*head) by_op[ops.*head].push_back(&rule);
        }
      }
    }
  }
};

bool apply_one(const Rules& rules, Site& site) {
  const auto found = rules.by_op.find(site.node.op);
  if (found != rules.by_op.end()) {
    for (const Rule* rule : found->second) {
      if (rule->apply(site)) return true;
    }
  }
  if (site.node.op->kind == OpKind::elementwise && site.types.size() == 1) {
    for (const Rule* rule : rules.elementwise) {
      if (rule->apply(site)) return true;
    }
  }
  return false;
}

Graph simplify(const Graph& graph, const KnownOps& ops, const Rules& rules) {
  Rewriter rewriter(graph, [&](const Graph& region) { return simplify(region, ops, rules); });
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    Site site{rewriter.target(), ops, rewriter.translated(node), {}};
    for (ValueId v : node.results) site.types.push_back(graph.type(v));
    for (int fired = 0; fired < max_firings && !site.replacement && apply_one(rules, site);) ++fired;
    if (site.replacement) {
      rewriter.map(node.results[0], *site.replacement);
    } else {
      rewriter.append(NodeId(i), std::move(site.node));
      if (site.name.empty()) continue;
      std::string& name = rewriter.target()[rewriter.image(node.results[0])].name;
      if (name.empty()) name = std::move(site.name);
    }
  }
  return rewriter.finish();
}

}  // namespace

const Node* Site::made_by(ValueId v, const Op* op) const {
  const NodeId producer = graph[v].producer;
  return op && producer.valid() && graph[producer].op == op ? &graph[producer] : nullptr;
}

std::optional<double> Site::uniform(ValueId v) const {
  const auto moves = [&](const Node* producer) {
    return producer && (producer->op == ops.broadcast || producer->op == ops.reshape ||
                        producer->op == ops.transpose || producer->op == ops.slice);
  };
  const auto producer_of = [&](ValueId x) { return graph.is_input(x) ? nullptr : &graph[graph[x].producer]; };
  const Node* producer = producer_of(v);
  while (moves(producer)) producer = producer_of(producer->operands[0]);
  if (!producer || producer->op != ops.constant) return {};
  const Literal& literal = attribute<Literal>(*producer, "value");
  const auto size = static_cast<std::size_t>(size_of(literal.dtype));
  if (literal.bytes.empty() || literal.bytes.size() > max_uniform_bytes) return {};
  for (std::size_t at = size; at < literal.bytes.size(); at += size) {
    if (std::memcmp(literal.bytes.data(), literal.bytes.data() + at, size) != 0) return {};
  }
  if (literal.dtype == DType::i64) {  // not every i64 is a double
    std::int64_t value;
    std::memcpy(&value, literal.bytes.data(), sizeof value);
    if (value > (std::int64_t{1} << 53) || value < -(std::int64_t{1} << 53)) return {};
  }
  return read_element(literal.dtype, literal.bytes.data()).real();
}

bool Site::is_uniform(ValueId v, double number) const {
  const std::optional<double> found = uniform(v);
  return found && std::bit_cast<std::uint64_t>(*found) == std::bit_cast<std::uint64_t>(number);
}

bool Site::become(ValueId v) {
  if (graph.type(v) != type()) return false;
  replacement = v;
  return true;
}

bool Site::become(const Op* op, std::vector<ValueId> operands, Attrs attrs) {
  if (!op) return false;
  node.op = op;
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  return true;
}

ValueId Site::add(const Op& op, std::vector<ValueId> operands, Attrs attrs) {
  Node added{.op = &op,
             .operands = std::move(operands),
             .results = {},
             .attrs = std::move(attrs),
             .regions = {},
             .where = node.where,
             .checkpoint = node.checkpoint,
             .backward = node.backward};
  std::vector<Type> in;
  for (ValueId v : added.operands) in.push_back(graph.type(v));
  const std::vector<Type> out = op.infer({.op = &op,
                                          .in = in,
                                          .out = {},
                                          .attrs = &added.attrs,
                                          .regions = {},
                                          .where = node.where,
                                          .in_strides = {}});
  const NodeId id = graph.add_node(std::move(added), out);
  return graph[id].results[0];
}

Graph simplify(const Graph& graph, const KnownOps& ops) { return simplify(graph, ops, Rules(ops)); }

std::vector<RuleText> simplify_rules() {
  std::vector<RuleText> texts;
  for (const std::span<const Rule> list : {arithmetic_rules(), movement_rules()}) {
    for (const Rule& rule : list) texts.push_back({rule.name, rule.why});
  }
  return texts;
}

}  // namespace tidemark
