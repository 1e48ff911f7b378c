#include "tidemark/autodiff/expand.h"

#include "tidemark/autodiff/reverse.h"
#include "tidemark/ir/builder.h"

namespace tidemark {

Graph expand(const Graph& graph, const std::function<bool(const Node&)>& should_expand,
             ExpandRegions regions) {
  const auto& nodes = graph.nodes();
  const bool inside = regions == ExpandRegions::inside;
  const std::function<bool(const Node&)> concerns = [&](const Node& node) {
    return should_expand(node) || (inside && std::ranges::any_of(node.regions, [&](const Graph& region) {
                                     return std::ranges::any_of(region.nodes(), concerns);
                                   }));
  };
  if (std::none_of(nodes.begin(), nodes.end(), concerns)) return graph;

  Graph result;
  result.name = graph.name;
  Builder builder(result);
  std::vector<Var> image(graph.values().size());
  for (const Input& input : graph.inputs()) {
    image[input.value.index] = Var(builder, result.copy_input(graph, input));
  }
  copy_checkpoints(graph, result);
  std::vector<Var> in;
  for (const Node& node : nodes) {
    builder.set_origin(node);
    in.clear();
    for (ValueId v : node.operands) in.push_back(image[v.index]);
    std::vector<Var> out;
    if (should_expand(node)) {
      TM_CHECK(node.op->expand, "{} is to be expanded and has no expansion", node.op->name);
      const NodeCall call(graph, node);
      out = node.op->expand(
          {.builder = builder, .call = call, .in = in, .out = {}, .seed = {}, .calculus = &calculus});
    } else {
      std::vector<Graph> bodies = node.regions;
      if (inside) {
        for (Graph& body : bodies) body = expand(body, should_expand, regions);
      }
      out = builder.call(*node.op, in, node.attrs, std::move(bodies));
    }
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      image[node.results[r].index] = out[r];
      const std::string& name = graph[node.results[r]].name;
      if (!name.empty()) result[out[r].id()].name = name;
    }
  }
  for (ValueId v : graph.outputs()) result.add_output(image[v.index].id());
  copy_hints(graph, result, 0, ids_of(image));
  return expand(result, should_expand, regions);
}

}  // namespace tidemark
