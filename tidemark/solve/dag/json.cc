// Files of other programs too: fields that are not ours are overlooked, whatever is in them.
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "tidemark/base/json_reader.h"
#include "tidemark/solve/dag/dag.h"
#include "tidemark/solve/dag/edges.h"

namespace tidemark {
namespace {

constexpr std::string_view root_form = R"({"nodes": [...], "edges": [[producer, consumer], ...]})";
constexpr std::string_view node_form = R"({"name": "conv1", "cost": 90, "bytes": 4096, "backward": false})";
constexpr std::string_view edge_form = "[producer, consumer], two indices of nodes";
constexpr JsonFileKind dag_file{
    .name = "", .code = ErrorCode::bad_file, .syntax_code = ErrorCode::syntax, .form = root_form};

bool is_number(const JsonReader& value) {
  return value.kind() == JsonKind::integer || value.kind() == JsonKind::fraction;
}

class DagReader {
 public:
  DagReader(std::string_view text, std::string_view origin)
      : file_(intern(origin.empty() ? "graph" : origin)), document_(text, dag_file, file_) {}

  Dag read() {
    const JsonReader root(document_);
    if (root.kind() != JsonKind::object)
      reject(root, fmt::format("the file holds {}, not a graph", name_of(root.kind())), root_form);
    const JsonReader nodes = list(root, "nodes"), edges = list(root, "edges");
    nodes.each([&](const JsonReader& node) { read_node(node); });
    if (dag_.names.empty()) reject(nodes, "the graph has no nodes", "at least one node");
    std::vector<RawEdge> raw;
    edges.each([&](const JsonReader& edge) { raw.push_back(read_edge(edge, raw.size())); });
    dag_.edges = checked_edges(dag_, raw, file_);
    return std::move(dag_);
  }

 private:
  [[noreturn]] void reject(const JsonReader& value, std::string what, std::string_view expected) const {
    fail(ErrorCode::bad_file, {.what = std::move(what),
                               .expected = std::string(expected),
                               .where = SourceLine(file_, value.line())});
  }

  JsonReader list(const JsonReader& root, std::string_view name) const {
    const std::optional<JsonReader> found = root.find(name);
    if (!found) reject(root, fmt::format("the list `{}` is missing", name), root_form);
    if (found->kind() != JsonKind::list)
      reject(*found, fmt::format("`{}` is {}, not a list", name, name_of(found->kind())), root_form);
    return *found;
  }

  void read_node(const JsonReader& node) {
    const std::size_t number = dag_.names.size();
    if (node.kind() != JsonKind::object)
      reject(node, fmt::format("node {} is {}, not an object", number, name_of(node.kind())), node_form);
    const std::optional<JsonReader> name = node.find("name"), cost = node.find("cost"),
                                    bytes = node.find("bytes"), backward = node.find("backward");
    dag_.names.push_back(name && name->kind() == JsonKind::text ? name->text() : "");
    if (name && name->kind() != JsonKind::text) reject_kind(*name, "name");
    for (auto [field, value] : {std::pair("name", &name), {"cost", &cost}, {"bytes", &bytes}}) {
      if (!*value) reject_node(node, fmt::format("the field `{}` is missing", field), node_form);
    }
    if (backward && backward->kind() != JsonKind::boolean) reject_kind(*backward, "backward");
    dag_.cost.push_back(quantity(*cost, "cost"));
    if (quantity(*bytes, "bytes") > static_cast<double>(max_dag_bytes))
      reject_node(*bytes, "`bytes` is too large: " + bytes->number_text(), "at most 2^61 bytes");
    if (!bytes->whole())
      reject_node(*bytes, "`bytes` is not a whole number: " + bytes->number_text(), "a whole number");
    dag_.bytes.push_back(*bytes->whole());
    dag_.backward.push_back(backward && backward->boolean());

    total_bytes_ += dag_.bytes.back();  // both at most 2^61
    total_cost_ += dag_.cost.back();
    if (total_bytes_ > max_dag_bytes)
      reject_node(node, "with its `bytes` all values together overflow", "at most 2^61 bytes in all");
    if (!(total_cost_ <= max_dag_cost))
      reject_node(node, "with its `cost` all costs together overflow",
                  fmt::format("at most {} in all", max_dag_cost));
    if (number == static_cast<std::size_t>(std::numeric_limits<int>::max()))
      reject_node(node, "too many nodes", "fewer");
  }

  double quantity(const JsonReader& value, std::string_view field) const {
    if (!is_number(value)) reject_kind(value, field);
    if (value.number() < 0)
      reject_node(value, fmt::format("`{}` is negative: {}", field, value.number_text()), "0 or more");
    return value.number();
  }

  // Of the last node.
  [[noreturn]] void reject_node(const JsonReader& value, std::string_view what,
                                std::string_view expected) const {
    const int number = dag_.size() - 1;
    const std::string node =
        dag_.names.back().empty() ? fmt::format("node {}", number) : node_label(dag_, number);
    reject(value, fmt::format("{}: {}", node, what), expected);
  }
  [[noreturn]] void reject_kind(const JsonReader& value, std::string_view field) const {
    reject_node(value, fmt::format("`{}` is {}", field, name_of(value.kind())), node_form);
  }

  RawEdge read_edge(const JsonReader& edge, std::size_t number) const {
    if (edge.kind() != JsonKind::list)
      reject(edge, fmt::format("edge {} is {}, not a list", number, name_of(edge.kind())), edge_form);
    const auto reject_edge = [&](const JsonReader& value, std::string_view what) {
      reject(value, fmt::format("edge {} {}", number, what), edge_form);
    };
    std::int64_t ends[2] = {};
    std::size_t count = 0;
    edge.each([&](const JsonReader& end) {
      if (!is_number(end)) reject_edge(end, fmt::format("holds {}", name_of(end.kind())));
      if (!end.whole())
        reject_edge(end, fmt::format("holds {}, which is no index of a node", end.number_text()));
      if (count == 2) reject_edge(end, "has more than 2 entries");
      ends[count++] = *end.whole();
    });
    if (count != 2) reject_edge(edge, fmt::format("has {} of 2 entries", count));
    return {.producer = ends[0], .consumer = ends[1], .line = edge.line()};
  }

  std::string_view file_;
  JsonDocument document_;
  Dag dag_;
  std::int64_t total_bytes_ = 0;
  double total_cost_ = 0;
};

}  // namespace

Dag dag_from_json(std::string_view text, std::string_view origin) { return DagReader(text, origin).read(); }

}  // namespace tidemark
