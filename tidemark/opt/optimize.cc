#include "tidemark/opt/optimize.h"

#include "tidemark/ir/compare.h"
#include "tidemark/ir/verify.h"
#include "tidemark/opt/accumulate.h"
#include "tidemark/opt/cse.h"
#include "tidemark/opt/dce.h"
#include "tidemark/opt/gather.h"
#include "tidemark/opt/narrow.h"
#include "tidemark/opt/simplify.h"

namespace tidemark {
namespace {

using Row = PassRow<Graph, OptOptions>;
constexpr bool optional = true;

// In rounds up to dce, until nothing changes; the others once after that.
constexpr std::string_view first_of_round = "simplify", first_after_rounds = "gather", the_end = "";
constexpr Row passes[] = {
    {{"simplify", optional, "first: exact algebra, which leaves nodes unused and makes others equal"},
     [](Graph graph, const OptOptions& options) { return simplify(graph, options.ops); }},
    {{"fold", optional, "after simplify, which exposes constants"},
     [](Graph graph, const OptOptions& options) { return fold(graph, options.ops, options.evaluate); }},
    {{"cse", optional, "after fold, which makes constants equal"},
     [](Graph graph, const OptOptions&) { return cse(graph); }},
    {{"dce", optional, "last in the round: everything before leaves dead nodes"},
     [](Graph graph, const OptOptions&) { return dce(graph); }},
    {{"gather", optional,
      "after the rounds: sums of products of parts become a product of the whole, and the parts' products "
      "go"},
     [](Graph graph, const OptOptions& options) { return dce(gather(graph, options.ops)); }},
    {{"accumulate", optional, "after gather: other sums of products become products that are added in place"},
     [](Graph graph, const OptOptions& options) { return accumulate(graph, options.ops); }},
    {{"narrow", optional, "after the rounds: it only moves nodes, and moves those that stay"},
     [](Graph graph, const OptOptions&) { return narrow(graph); }},
};

}  // namespace

Graph optimize(Graph graph, const OptOptions& options, OptReport* report) {
  PassDriver<Graph, OptOptions> driver(passes, options.skip);
  if (!options.evaluate || !options.ops.constant) driver.leave_out("fold");
  driver.watch([](const Graph& now, PassReport& pass) { pass.nodes_removed += std::ssize(now.nodes()); },
               [](const Graph& now, PassReport& pass) {
                 pass.nodes_removed -= std::ssize(now.nodes());
                 verify_or_internal(now, pass.name);
               });
  int rounds = 0;
  for (bool changed = true; changed && rounds < options.max_rounds; ++rounds) {
    Graph next = driver.run(graph, first_of_round, first_after_rounds, options);
    changed = !same_graph(next, graph);
    graph = std::move(next);
  }
  graph = driver.run(std::move(graph), first_after_rounds, the_end, options);
  if (report) *report = {.passes = driver.reports(), .rounds = rounds};
  return graph;
}

std::vector<PassInfo> opt_pass_list() { return infos_of(std::span<const Row>(passes)); }

}  // namespace tidemark
