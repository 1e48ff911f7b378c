// --allow, what plans may do to stay within a budget, and the options that provide for it: --tier, --split.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/engine/compile_options.h"
#include "tidemark/plan/choices.h"
#include "tidemark/plan/spill/tier.h"

namespace tidemark::cli {

// "recompute,disk": names separated by commas. Throws Error on anything else, with the names there are.
Choices parse_choices(std::string_view text);
std::string choices_type();  // the names, as the type name of such an option (tools/help/option_values.h)

// What other options provide for.
struct ChoiceMeans {
  bool host = false, disk = false, split = false;
};
// Of the tiers, `host` is the host's memory; every other one counts as a disk.
bool names_host(const std::vector<TierBudget>& tiers);
bool names_disk(const std::vector<TierBudget>& tiers);
std::vector<TierBudget> allowed_tiers(std::vector<TierBudget> tiers, const Choices& allow);
// Throws Error where something is allowed that no other option provides for.
void check_means(const Choices& allow, const ChoiceMeans& means);

void add_tier_option(CLI::App& command, std::vector<TierBudget>& tiers);
void add_lossy_option(CLI::App& command, std::optional<Lossy>& lossy);

}  // namespace tidemark::cli
