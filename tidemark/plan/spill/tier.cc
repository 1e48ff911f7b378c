#include "tidemark/plan/spill/tier.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

std::string names_of(const Machine& machine) {
  std::vector<std::string> names;
  for (const MachineMemory& memory : machine.further) names.push_back(memory.name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<Tier> tiers_of(const Machine& machine, const std::vector<TierBudget>& budgets) {
  std::vector<Tier> tiers;
  for (const TierBudget& asked : budgets) {
    const auto fail = [&](std::string what, std::string expected) {
      throw Error(ErrorCode::bad_plan_option, {.what = std::move(what), .expected = std::move(expected)});
    };
    const auto memory = std::ranges::find(machine.further, asked.memory, &MachineMemory::name);
    if (memory == machine.further.end()) {
      fail(fmt::format("the machine `{}` has no memory `{}`", machine.name, asked.memory),
           fmt::format("one of its further memories: {}", names_of(machine)));
    }
    if (asked.bytes < 0) fail(fmt::format("{} bytes of `{}`", asked.bytes, asked.memory), "0 bytes or more");
    if (std::ranges::count(tiers, asked.memory, &Tier::name) > 0)
      fail(fmt::format("the memory `{}` is named twice", asked.memory), "each memory once");
    const int number = static_cast<int>(memory - machine.further.begin()) + 1;
    const Link *out = find_link(machine, 0, number), *in = find_link(machine, number, 0);
    if (!out || !in) {
      fail(fmt::format("the machine `{}` has no link to `{}` and back", machine.name, asked.memory),
           "links both ways, as `tidemark machine` measures them");
    }
    tiers.push_back({.name = asked.memory, .budget = asked.bytes, .out = out, .in = in});
  }
  return tiers;
}

}  // namespace tidemark
