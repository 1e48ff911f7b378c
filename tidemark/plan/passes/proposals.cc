#include "tidemark/plan/passes/proposals.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tidemark {
namespace {

std::optional<Plan> plan_at(const Proposal& proposal, const Target& target, std::int64_t size) {
  try {
    const Graph graph = proposal.graph(size);
    Result<Plan, Infeasible> planned = try_plan(graph, target, proposal.options);
    if (planned) return std::move(planned).value();
  } catch (const Error&) {  // the model cannot be built this way
  }
  return {};
}

bool out_of_time(const Proposal& proposal) {
  return proposal.options.control && proposal.options.control->time_is_up();
}

std::string describe(const std::string& change, const Plan& plan) {
  std::string text = fmt::format("{} fits ({}", change, to_string(Bytes(plan.peak())));
  if (plan.extra_time() >= 0.0005) text += fmt::format(", {:+.1f}% time", 100 * plan.extra_time());
  return text + ")";
}

// Halving the interval between what fits and what does not. Large graphs get few turns: each is a plan.
std::optional<std::string> largest_that_fits(const Proposal& proposal, const Target& target) {
  constexpr std::size_t large_graph = 3000;
  // In units; high is too much.
  std::int64_t low = std::max<std::int64_t>(1, (proposal.least + proposal.unit - 1) / proposal.unit);
  std::int64_t high = (proposal.from + proposal.unit - 1) / proposal.unit;
  if (low >= high) return {};
  std::optional<Plan> best = plan_at(proposal, target, low * proposal.unit);
  if (!best) return {};
  const int turns = best->steps.size() > large_graph ? 4 : 7;
  for (int turn = 0; turn < turns && high - low > 1 && !out_of_time(proposal); ++turn) {
    const std::int64_t middle = low + (high - low) / 2;
    if (std::optional<Plan> plan = plan_at(proposal, target, middle * proposal.unit)) {
      low = middle;
      best = std::move(plan);
    } else {
      high = middle;
    }
  }
  return describe(fmt::format("{} {} → {}", proposal.what, proposal.from, low * proposal.unit), *best);
}

}  // namespace

std::vector<std::string> changes_that_fit(std::span<const Proposal> proposals, const Target& target,
                                          std::size_t most) {
  std::vector<std::string> changes;
  for (const Proposal& proposal : proposals) {
    if (changes.size() >= most || out_of_time(proposal)) break;
    if (proposal.from > 0) {
      if (std::optional<std::string> change = largest_that_fits(proposal, target)) changes.push_back(*change);
    } else if (const std::optional<Plan> plan = plan_at(proposal, target, 0)) {
      changes.push_back(describe(proposal.what, *plan));
    }
  }
  return changes;
}

}  // namespace tidemark
