#include "tidemark/opt/optimize.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "tidemark/base/error.h"
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

struct Pass {
  std::string_view name;
  bool in_rounds;  // else once at the end
  Graph (*run)(const Graph&, const OptOptions&);
};

constexpr Pass passes[] = {
    {"simplify", true,
     [](const Graph& graph, const OptOptions& options) { return simplify(graph, options.ops); }},
    {"fold", true,
     [](const Graph& graph, const OptOptions& options) {
       return fold(graph, options.ops, options.evaluate);
     }},
    {"cse", true, [](const Graph& graph, const OptOptions&) { return cse(graph); }},
    {"dce", true, [](const Graph& graph, const OptOptions&) { return dce(graph); }},
    {"gather", false,
     [](const Graph& graph, const OptOptions& options) { return dce(gather(graph, options.ops)); }},
    {"accumulate", false,
     [](const Graph& graph, const OptOptions& options) { return accumulate(graph, options.ops); }},
    {"narrow", false, [](const Graph& graph, const OptOptions&) { return narrow(graph); }},
};

class Driver {
 public:
  explicit Driver(const OptOptions& options) : options_(options) {
    const std::vector<std::string_view> names = opt_pass_names();
    for (const std::string& name : options.skip) {
      if (std::ranges::find(names, name) != names.end()) continue;
      fail(ErrorCode::bad_attribute, {.what = fmt::format("there is no pass '{}' to skip", name),
                                      .expected = fmt::format("{}", fmt::join(names, ", "))});
    }
    for (const Pass& pass : passes) report_.passes.push_back({.name = pass.name});
  }

  Graph run(Graph graph) {
    for (bool changed = true; changed && report_.rounds < options_.max_rounds;) {
      ++report_.rounds;
      std::optional<Graph> next = run_passes(graph, true);
      changed = next && !same_graph(*next, graph);
      if (next) graph = std::move(*next);
    }
    std::optional<Graph> last = run_passes(graph, false);
    return last ? std::move(*last) : std::move(graph);
  }

  OptReport take_report() { return std::move(report_); }

 private:
  bool skips(const Pass& pass) const {
    if (pass.name == "fold" && (!options_.evaluate || !options_.ops.constant)) return true;
    return std::ranges::find(options_.skip, pass.name) != options_.skip.end();
  }

  // nullopt: every pass is skipped.
  std::optional<Graph> run_passes(const Graph& graph, bool in_rounds) {
    std::optional<Graph> current;
    for (std::size_t i = 0; i < std::size(passes); ++i) {
      const Pass& pass = passes[i];
      if (pass.in_rounds != in_rounds || skips(pass)) continue;
      const Graph& before = current ? *current : graph;
      const auto start = std::chrono::steady_clock::now();
      Graph after = pass.run(before, options_);
      OptPassReport& report = report_.passes[i];
      report.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      report.nodes_removed += std::ssize(before.nodes()) - std::ssize(after.nodes());
      ++report.runs;
      verify_or_internal(after, pass.name);
      current = std::move(after);
    }
    return current;
  }

  const OptOptions& options_;
  OptReport report_;
};

}  // namespace

Graph optimize(const Graph& graph, const OptOptions& options, OptReport* report) {
  Driver driver(options);
  Graph result = driver.run(graph);
  if (report) *report = driver.take_report();
  return result;
}

std::vector<std::string_view> opt_pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& pass : passes) names.push_back(pass.name);
  return names;
}

}  // namespace tidemark
