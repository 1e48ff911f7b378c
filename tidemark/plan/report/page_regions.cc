#include "tidemark/plan/report/page_regions.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace tidemark {
namespace {

constexpr std::int32_t no_region = -1;

// "arg0.parameters.blocks.3.w" → "blocks.3.w", and so is "arg0.blocks.3.w" if it is differentiated; empty for
// what is no parameter.
std::string_view parameter_path(const Graph& graph, ValueId v) {
  constexpr std::string_view field = "parameters.", argument = "arg";
  const std::string_view name = graph[v].name;
  const std::size_t at = name.find(field);
  if (at != std::string_view::npos && (at == 0 || name[at - 1] == '.')) return name.substr(at + field.size());
  if (!graph.inputs()[graph[v].result].differentiated) return {};
  const std::size_t dot = name.find('.');
  const bool has_letters =
      dot != std::string_view::npos &&
      std::ranges::any_of(name.substr(dot), [](unsigned char c) { return std::isalpha(c) != 0; });
  return name.starts_with(argument) && has_letters ? name.substr(dot + 1) : name;
}

// The first `parts` of a path; all but the last part where it has no more.
std::string_view first_parts(std::string_view path, int parts) {
  const std::size_t last = path.rfind('.');
  std::size_t end = 0;
  for (int k = 0; k < parts; ++k) {
    const std::size_t dot = path.find('.', end + (k > 0));
    if (dot == std::string_view::npos) break;
    end = dot;
  }
  if (end == 0) return last == std::string_view::npos ? path : path.substr(0, last);
  return path.substr(0, end);
}

// Numbers names in the order in which they are asked for.
class RegionNumbers {
 public:
  std::int32_t number(std::string_view name) {
    const auto [at, is_new] = numbers_.emplace(name, static_cast<std::int32_t>(numbers_.size()));
    if (is_new) names.emplace_back(name);
    return at->second;
  }
  std::vector<std::string> names;

 private:
  std::map<std::string, std::int32_t, std::less<>> numbers_;
};

// Parts with parameters: a node of the forward pass is in the last of the parts that what it reads is in. One
// behind it is where the parameters and the values of the forward pass are that it reads; where there are
// none, as far back as the gradients that it reads have come.
GraphRegions by_parameters(const Graph& graph, const std::vector<Phase>& phases, int parts) {
  RegionNumbers numbers;
  std::vector<std::int32_t> of_value(graph.values().size(), no_region);
  std::vector<bool> is_first(graph.values().size(), false);  // a parameter, or of the forward pass
  GraphRegions regions{.of_node = std::vector<std::int32_t>(graph.nodes().size(), no_region)};
  for (const bool forward : {true, false}) {
    for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
      if ((phases[n] == Phase::forward) != forward) continue;
      const Node& node = graph.nodes()[n];
      std::int32_t last = no_region, least = no_region;
      for (const ValueId v : node.operands) {
        if (of_value[v.index] == no_region && graph.is_input(v)) {
          const std::string_view path = parameter_path(graph, v);
          if (path.empty()) continue;
          of_value[v.index] = numbers.number(first_parts(path, parts));
          is_first[v.index] = true;
        }
        const std::int32_t region = of_value[v.index];
        if (region == no_region) continue;
        if (is_first[v.index]) {
          last = std::max(last, region);
        } else {
          least = least == no_region ? region : std::min(least, region);
        }
      }
      const std::int32_t region = last != no_region ? last : least;
      regions.of_node[n] = region;
      for (const ValueId v : node.results) of_value[v.index] = region, is_first[v.index] = forward;
    }
  }
  regions.names = std::move(numbers.names);
  return regions;
}

GraphRegions by_lines(const Graph& graph, bool by_file) {
  RegionNumbers numbers;
  GraphRegions regions;
  for (const Node& node : graph.nodes()) {
    const std::string line = short_form(node.where);
    regions.of_node.push_back(
        line.empty() ? no_region : numbers.number(by_file ? line.substr(0, line.rfind(':')) : line));
  }
  regions.names = std::move(numbers.names);
  return regions;
}

}  // namespace

GraphRegions regions_of(const Graph& graph, const std::vector<Phase>& phases, std::size_t most) {
  for (int parts = 4; parts > 0; --parts) {
    GraphRegions regions = by_parameters(graph, phases, parts);
    if (regions.names.size() > 1 && regions.names.size() <= most) return regions;
  }
  for (const bool by_file : {false, true}) {
    GraphRegions regions = by_lines(graph, by_file);
    if (regions.names.size() <= most) return regions;
  }
  return {.of_node = std::vector<std::int32_t>(graph.nodes().size(), no_region)};
}

}  // namespace tidemark
