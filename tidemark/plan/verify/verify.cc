#include "tidemark/plan/verify/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tidemark/base/error.h"
#include "tidemark/plan/verify/problem_list.h"
#include "tidemark/plan/verify/verify_bodies.h"
#include "tidemark/plan/verify/verify_buffers.h"
#include "tidemark/plan/verify/verify_effects.h"
#include "tidemark/plan/verify/verify_figures.h"
#include "tidemark/plan/verify/verify_groups.h"
#include "tidemark/plan/verify/verify_lanes.h"
#include "tidemark/plan/verify/verify_memories.h"
#include "tidemark/plan/verify/verify_steps.h"

namespace tidemark {

std::vector<std::string> problems(const Graph& graph, const Plan& plan, const Target& target) {
  // Each part takes at its word what the parts before it found right: it would index out of range otherwise.
  ProblemList found;
  verify_target(graph, plan, target, found);
  if (found.empty()) verify_memories(plan, found);
  if (found.empty()) verify_buffers(graph, plan, found);
  if (found.empty()) verify_bodies(graph, plan, target, found);
  if (!found.empty()) return found.take();

  std::vector<std::int64_t> highest_load;
  for (std::size_t m = 0; m < memory_count(plan); ++m)
    highest_load.push_back(verify_overlaps(plan, m, found));
  StepVerifier steps(graph, plan, target, found);
  steps.play_all();
  verify_effects(graph, plan, found);
  // The list is one order in which things may happen. The others give the same values if no two lanes touch
  // the same bytes unordered.
  if (found.empty()) verify_groups(graph, plan, target, found);
  if (found.empty()) verify_lanes(plan, effect_pairs(graph, plan), found);
  steps.verify_outputs();
  verify_figures(graph, plan, target, highest_load, found);
  return found.take();
}

void verify_or_throw(const Graph& graph, const Plan& plan, const Target& target) {
  const std::vector<std::string> found = problems(graph, plan, target);
  if (!found.empty())
    throw InternalError(fmt::format("a plan fails verification:\n  {}", fmt::join(found, "\n  ")));
}

VerifiedPlan verified(const Graph& graph, Plan plan, const Target& target) {
  verify_or_throw(graph, plan, target);
  return VerifiedPlan(std::move(plan), target);
}

}  // namespace tidemark
