#include "tidemark/solve/dag/dag.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/base/text_file.h"

namespace tidemark {
namespace {

// Without control characters, and not longer than a line bears; never cut inside a character.
std::string printable(std::string_view name) {
  constexpr std::size_t longest = 60;
  std::string text;
  for (char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = (byte & 0xC0) == 0x80;  // inside a character of UTF-8
    if (text.size() >= longest && !continues) return text + "…";
    text += byte < 0x20 || byte == 0x7F ? '?' : c;
  }
  return text;
}

}  // namespace

std::string node_label(const Dag& dag, int node) {
  return fmt::format("node {} `{}`", node, printable(dag.names[static_cast<std::size_t>(node)]));
}

RematProblem problem_of(const Dag& dag) {
  const auto n = static_cast<std::size_t>(dag.size());
  OrderParts parts;
  parts.before.resize(n);
  parts.makes.resize(n);
  for (int i = 0; i < dag.size(); ++i) parts.makes[static_cast<std::size_t>(i)] = {i};
  for (const DagEdge& edge : dag.edges)
    parts.before[static_cast<std::size_t>(edge.consumer)].push_back(edge.producer);
  parts.uses = parts.before;
  parts.scratch.assign(n, 0);
  parts.size = dag.bytes;
  parts.reuses.resize(n);
  parts.pinned.assign(n, false);
  parts.present.assign(n, false);

  RematProblem problem;
  problem.model = make_model(std::move(parts));
  problem.cost = dag.cost;
  problem.repeatable.assign(n, true);
  problem.closed_by = IntLists(std::vector<std::vector<int>>(n));
  problem.budget = std::numeric_limits<std::int64_t>::max();
  return problem;
}

Dag read_dag(const std::string& path) {
  return dag_from_json(read_text_file(path, "a graph", Bytes(max_dag_file_bytes)), path);
}

std::string to_json(const Dag& dag) {
  using Json = nlohmann::ordered_json;
  std::string text = "{\"nodes\": [";
  for (std::size_t i = 0; i < dag.names.size(); ++i) {
    const Json node = {{"name", dag.names[i]},
                       {"cost", dag.cost[i]},
                       {"bytes", dag.bytes[i]},
                       {"backward", static_cast<bool>(dag.backward[i])}};
    text += (i == 0 ? "\n  " : ",\n  ") + node.dump();
  }
  text += "\n],\n\"edges\": [";
  for (std::size_t i = 0; i < dag.edges.size(); ++i) {
    text += fmt::format("{}[{}, {}]", i == 0 ? "" : ", ", dag.edges[i].producer, dag.edges[i].consumer);
  }
  return text + "]}\n";
}

}  // namespace tidemark
