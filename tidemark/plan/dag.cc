#include "tidemark/plan/dag.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

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
  parts.take_overs.resize(n);
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

}  // namespace tidemark
