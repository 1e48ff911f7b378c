// From a graph to a verified plan: runs the passes of pipeline.cc, times them, and lets the caller skip or watch them.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/plan/draft.h"
#include "tidemark/plan/plan.h"

namespace tidemark {

struct PlanOptions {
  std::vector<std::string> skip = {};  // passes by name; only the optional ones
  double effort = 1;                   // of the searches, in work units: 2 may take twice as long
  std::function<void(std::string_view pass, const Draft& draft)> after = {};  // e.g. to dump to_text(draft)
  bool check_every_pass = false;  // finish and verify the draft after each pass, and report its peak
};

struct PassReport {
  std::string_view name;
  bool skipped = false;
  double seconds = 0;
  std::int64_t work_units = 0;  // node visits of a search; the same on every machine
  std::int64_t peak = 0;        // if the plan were finished here; only with check_every_pass
};
struct PipelineReport {
  std::vector<PassReport> passes;
};

// The passes in order: name, whether it may be skipped, why it stands where it does.
struct PassInfo {
  std::string_view name;
  bool optional = false;
  std::string_view why;
};
std::vector<PassInfo> pass_list();

// Least memory at no extra compute. The plan has passed the verifier. Throws Error for an unknown name in `skip`.
Plan make_plan(const Graph& graph, const PlanOptions& options = {}, PipelineReport* report = nullptr);

}  // namespace tidemark
