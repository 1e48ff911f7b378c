#include "tidemark/plan/passes/proposals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace tidemark {
namespace {

// Nodes, those of regions too.
std::int64_t size_of(const Graph& graph) {
  auto size = static_cast<std::int64_t>(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    for (const Graph& region : node.regions) size += size_of(region);
  }
  return size;
}

// Plans of proposals, as many as somebody waits for who has made a mistake: small graphs get all they ask
// for; of 20,000 nodes eight are planned, and no proposal takes more than a third of what is left.
class Plans {
 public:
  explicit Plans(const Target& target) : target_(target) {}

  // That it fits. What a tier must hold follows from what loops keep in it.
  std::optional<Plan> at(const Proposal& proposal, std::int64_t size) {
    try {
      if (proposal.finds_tier) {
        if (std::optional<Plan> plan = with_loops(proposal, size)) return plan;
      }
      const Graph graph = proposal.graph(size);
      nodes_left_ -= size_of(graph) * (proposal.options.tiers.empty() ? 1 : plans_with_tiers);
      Result<Plan, Infeasible> planned = try_plan(graph, target_, proposal.options);
      if (planned) return std::move(planned).value();
    } catch (const Error&) {  // the model cannot be built this way
    }
    return {};
  }
  // The plan that will be made of the change, where it is no slower than the one that says that it fits.
  Plan told(const Proposal& proposal, std::int64_t size, Plan fits) {
    if (proposal.finds_tier) return fits;
    std::optional<Plan> plan = with_loops(proposal, size);
    return plan && plan->seconds <= fits.seconds ? *std::move(plan) : fits;
  }
  // True: there are some left for another proposal.
  bool begin(const Proposal& proposal) {
    until_ = std::max<std::int64_t>(0, nodes_left_ - nodes_left_ / 3);
    return !are_enough(proposal);
  }
  bool are_enough(const Proposal& proposal) const {
    return nodes_left_ <= until_ || (proposal.options.control && proposal.options.control->time_is_up());
  }

 private:
  static constexpr std::int64_t plans_with_tiers = 5;  // in one memory, that one with tiers takes

  static std::optional<Plan> with_loops(const Proposal& proposal, std::int64_t size) {
    return proposal.with_loops ? proposal.with_loops(size, proposal.options) : std::nullopt;
  }

  const Target& target_;
  std::int64_t nodes_left_ = 160'000, until_ = 0;
};

std::string describe(const Proposal& proposal, const std::string& change, const Plan& plan) {
  const double extra = proposal.seconds > 0 ? plan.seconds / proposal.seconds - 1 : plan.extra_time();
  std::string text = fmt::format("{} fits ({}", change, to_string(Bytes(plan.peak())));
  if (extra >= 0.0005) text += fmt::format(", {:+.1f}% time", 100 * extra);
  return text + ")";
}

std::string with_size(std::string text, const std::string& size) {
  const std::size_t place = text.find("{}");
  return place == std::string::npos ? text : text.replace(place, 2, size);
}

// The next of 4, 5, 6 and 7 times a power of two, and how people write it.
std::int64_t round_bytes(std::int64_t bytes) {
  std::int64_t unit = 1024;
  while (7 * unit < bytes) unit *= 2;
  return std::max<std::int64_t>(4, (bytes + unit - 1) / unit) * unit;
}
std::string text_of(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> names = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = static_cast<double>(bytes);
  std::size_t name = 0;
  while (amount >= 1024 && name + 1 < names.size()) amount /= 1024, ++name;
  return fmt::format("{:g}{}", amount, names[name]);
}

// What is enough is seen in a plan with as much as it likes; whether a plan is found with just that, by
// planning it.
std::optional<std::string> smallest_tier(const Proposal& proposal, Plans& plans) {
  constexpr int tries = 3;
  Proposal tried = proposal;
  const auto tier = tried.options.tiers.size() - 1;
  std::optional<Plan> plan = plans.at(tried, 0);
  if (!plan) return {};
  std::int64_t bytes = plan->further.size() > tier ? round_bytes(plan->further[tier].peak()) : 0;
  for (int k = 0; k < tries && bytes > 0 && !plans.are_enough(proposal); ++k, bytes *= 2) {
    tried.options.tiers[tier].bytes = bytes;
    plan = plans.at(tried, 0);
    if (plan) return describe(proposal, with_size(proposal.what, text_of(bytes)), *plan);
  }
  return {};
}

// Halves the interval between what fits and what does not.
std::optional<std::string> fastest_size(const Proposal& proposal, Plans& plans) {
  std::size_t low = 0, high = proposal.sizes.size() - 1;  // high fits
  std::optional<Plan> best = plans.at(proposal, proposal.sizes[high]);
  if (!best) return {};
  std::int64_t size = proposal.sizes[high];
  while (low < high && !plans.are_enough(proposal)) {
    const std::size_t middle = low + (high - low) / 2;
    std::optional<Plan> plan = plans.at(proposal, proposal.sizes[middle]);
    plan ? high = middle : low = middle + 1;
    if (!plan || plan->seconds > best->seconds) continue;
    best = std::move(plan);
    size = proposal.sizes[middle];
  }
  return describe(proposal, with_size(proposal.what, std::to_string(size)),
                  plans.told(proposal, size, *std::move(best)));
}

// Halving the interval between what fits and what does not.
std::optional<std::string> largest_that_fits(const Proposal& proposal, Plans& plans) {
  constexpr int most_turns = 7;
  // In units; high is too much.
  std::int64_t low = std::max<std::int64_t>(1, (proposal.least + proposal.unit - 1) / proposal.unit);
  std::int64_t high = (proposal.from + proposal.unit - 1) / proposal.unit;
  if (low >= high) return {};
  std::optional<Plan> best = plans.at(proposal, low * proposal.unit);
  if (!best) return {};
  for (int turn = 0; turn < most_turns && high - low > 1 && !plans.are_enough(proposal); ++turn) {
    const std::int64_t middle = low + (high - low) / 2;
    if (std::optional<Plan> plan = plans.at(proposal, middle * proposal.unit)) {
      low = middle;
      best = std::move(plan);
    } else {
      high = middle;
    }
  }
  const std::string change = fmt::format("{} {} → {}", proposal.what, proposal.from, low * proposal.unit);
  return describe(proposal, change, plans.told(proposal, low * proposal.unit, *std::move(best)));
}

std::optional<std::string> change_of(const Proposal& proposal, Plans& plans) {
  if (proposal.from > 0) return largest_that_fits(proposal, plans);
  if (proposal.finds_tier) return smallest_tier(proposal, plans);
  if (!proposal.sizes.empty()) return fastest_size(proposal, plans);
  std::optional<Plan> plan = plans.at(proposal, 0);
  if (!plan) return {};
  return describe(proposal, proposal.what, plans.told(proposal, 0, *std::move(plan)));
}

}  // namespace

std::vector<std::string> changes_that_fit(std::span<const Proposal> proposals, const Target& target,
                                          std::size_t most) {
  std::vector<std::string> changes;
  Plans plans(target);
  for (const Proposal& proposal : proposals) {
    if (changes.size() >= most || !plans.begin(proposal)) break;
    if (std::optional<std::string> change = change_of(proposal, plans)) changes.push_back(*std::move(change));
  }
  return changes;
}

}  // namespace tidemark
