// How a plan comes about, top to bottom. Before the first pass the draft is a valid, wasteful plan: the given order,
// every value in memory of its own. Each pass keeps it valid and makes it smaller, so any optional one can be left out.
#include "tidemark/plan/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tidemark/base/error.h"
#include "tidemark/plan/passes.h"
#include "tidemark/plan/verify.h"

namespace tidemark {
namespace {

struct Pass {
  PassInfo info;
  Draft (*run)(Draft);
};

constexpr bool optional = true, required = false;

const Pass passes[] = {
    {{"views", optional, "first: it settles which nodes run at all and whose memory a read keeps alive"},
     views},
    {{"donate", optional,
      "before order: a home in a donated input asks that its readers run first, which the order must "
      "respect"},
     donate},
    {{"order", optional,
      "before in_place: its evaluator counts the take-overs that each order allows, so none need be fixed "
      "yet"},
     order},
    {{"in_place", optional, "after order: who is the last reader is known only now"}, in_place},
    {{"liveness", required, "after everything that decides who shares memory with whom"}, liveness},
    {{"layout", required, "last: addresses follow from lifetimes"}, layout},
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check_names(const std::vector<std::string>& skip) {
  for (const std::string& name : skip) {
    const auto pass = std::ranges::find(passes, name, [](const Pass& p) { return p.info.name; });
    if (pass != std::end(passes) && pass->info.optional) continue;
    std::string names;
    for (const Pass& p : passes) {
      if (p.info.optional) names += fmt::format("{}{}", names.empty() ? "" : ", ", p.info.name);
    }
    fail(ErrorCode::bad_plan_option,
         {.what = pass == std::end(passes) ? fmt::format("there is no pass `{}`", name)
                                           : fmt::format("the pass `{}` cannot be skipped", name),
          .expected = names});
  }
}

// The required passes that are still missing, and the figures.
Plan finish_now(Draft draft) { return finish(layout(liveness(std::move(draft)))); }

}  // namespace

std::vector<PassInfo> pass_list() {
  std::vector<PassInfo> list;
  for (const Pass& pass : passes) list.push_back(pass.info);
  return list;
}

Plan make_plan(const Graph& graph, const PlanOptions& options, PipelineReport* report) {
  check_names(options.skip);
  Draft draft(graph);
  draft.effort = options.effort;
  for (const Pass& pass : passes) {
    PassReport entry{.name = pass.info.name, .skipped = std::ranges::count(options.skip, pass.info.name) > 0};
    if (!entry.skipped) {
      const auto start = std::chrono::steady_clock::now();
      const std::int64_t before = draft.work_units;
      draft = pass.run(std::move(draft));
      entry.seconds = seconds_since(start);
      entry.work_units = draft.work_units - before;
      if (options.after) options.after(pass.info.name, draft);
      if (options.check_every_pass) {
        const Plan so_far = finish_now(draft);
        verify_or_throw(graph, so_far);
        entry.peak = so_far.peak();
      }
    }
    if (report) report->passes.push_back(entry);
  }
  const auto start = std::chrono::steady_clock::now();
  Plan plan = finish(draft);
  verify_or_throw(graph, plan);
  if (report) {
    report->passes.push_back({.name = "verify", .seconds = seconds_since(start), .peak = plan.peak()});
  }
  return plan;
}

}  // namespace tidemark
