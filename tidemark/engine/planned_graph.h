// A plan together with the graph it is for: what a compiled function shows of itself.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/source.h"
#include "tidemark/engine/explain_plan.h"
#include "tidemark/ops/control/loop_forecast.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/report/host_calls.h"

namespace tidemark {

class Graph;
class Program;

struct PlannedGraph {
  const Graph& graph;
  const Plan& plan;
  std::string summary() const;
  // Of results that a call hands out beside the caller's own memory: while they are held, later calls take as
  // much more.
  Bytes handed_out() const;
  // What reversing its loops takes; without those that keep everything.
  std::vector<LoopForecast> loops() const;
  // What the device hands to the CPU, having no kernel for it; of a function that runs on the CPU: nothing.
  std::vector<HostCall> host_calls() const;
  // Value by value: what became of it, what that costs, and what else could have (explain_plan.h).
  Explanation explain(const ExplainOptions& wanted = {},
                      SourceLine where = std::source_location::current()) const;
  std::string to_json() const;  // with where it comes from, so that compile takes it ({.plans = …})
  // Writes that to a file, which is replaced as a whole or not at all. Throws Error at `where`.
  void save(const std::string& path, SourceLine where = {}) const;
  // A page to explore the plan with in a browser (docs/page.md): one file that needs nothing else. Throws
  // Error `bad_file` where it cannot be written.
  void write_html(const std::string& path) const;
  Bytes peak() const { return Bytes(plan.peak()); }
  std::shared_ptr<const Program> program = {};  // keeps both, also when the function forgets them
};

}  // namespace tidemark
