#include "tools/options/choice_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tidemark/base/error.h"
#include "tools/help/option_values.h"
#include "tools/options/number_option.h"

namespace tidemark::cli {
namespace {

std::vector<TierBudget> parse_tiers(const std::vector<std::string>& texts) {
  std::vector<TierBudget> tiers;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0) {
      fail(ErrorCode::bad_plan_option,
           {.what = fmt::format("--tier {}", text), .expected = "a memory and bytes, such as disk=20GiB"});
    }
    tiers.push_back({text.substr(0, sign), parse_size("--tier", text.substr(sign + 1))});
  }
  return tiers;
}

Lossy lossy_within(double error) {
  if (!(error > 0 && error < 1))
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("--lossy {}", error), .expected = "a share between 0 and 1, such as 0.004"});
  return {.error = error};
}

}  // namespace

Choices parse_choices(std::string_view text) {
  Choices choices{Choice::keep};
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    std::string_view name = rest.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    const std::optional<Choice> choice = choice_named(name);
    if (!choice) {
      std::vector<std::string_view> names;
      for (const Choice known : all_choices) names.push_back(name_of(known));
      fail(ErrorCode::bad_plan_option,
           {.what = fmt::format("--allow {}: '{}' is nothing a plan can do", text.substr(0, 60),
                                name.substr(0, 60)),
            .expected = fmt::format("some of {}, separated by commas", fmt::join(names, ", "))});
    }
    choices = choices.with(*choice);
    if (comma == std::string_view::npos) return choices;
    rest.remove_prefix(comma + 1);
  }
}

std::string choices_type() {
  std::vector<std::string> names;
  for (const Choice choice : all_choices) names.emplace_back(name_of(choice));
  return alternatives(names) + ",…";
}

bool names_host(const std::vector<TierBudget>& tiers) {
  return std::ranges::any_of(tiers, [](const TierBudget& tier) { return tier.memory == host_memory_name; });
}
bool names_disk(const std::vector<TierBudget>& tiers) {
  return std::ranges::any_of(tiers, [](const TierBudget& tier) { return tier.memory != host_memory_name; });
}

std::vector<TierBudget> allowed_tiers(std::vector<TierBudget> tiers, const Choices& allow) {
  std::erase_if(tiers, [&](const TierBudget& tier) {
    return !allow.has(tier.memory == host_memory_name ? Choice::host : Choice::disk);
  });
  return tiers;
}

void check_means(const Choices& allow, const ChoiceMeans& means) {
  if (!allow.named()) return;
  const auto need = [&](Choice choice, bool there, std::string_view option) {
    if (!allow.has(choice) || there) return;
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("--allow names {}, and there is no {}", name_of(choice), option),
          .help = fmt::format("give {} too, or leave {} out", option, name_of(choice))});
  };
  need(Choice::host, means.host, "--tier host");
  need(Choice::disk, means.disk, "--tier");
  need(Choice::split, means.split, "--split");
}

void add_tier_option(CLI::App& command, std::vector<TierBudget>& tiers) {
  command
      .add_option_function<std::vector<std::string>>(
          "--tier", [&tiers](const std::vector<std::string>& texts) { tiers = parse_tiers(texts); },
          "a further memory of the machine, and the bytes that may be taken of it (disk=20GiB): values wait "
          "there "
          "where that is faster than computing them again; may be given more than once")
      ->allow_extra_args(false)
      ->type_name("NAME=BYTES")
      ->default_str("none");
}

void add_lossy_option(CLI::App& command, std::optional<Lossy>& lossy) {
  command
      .add_option_function<double>(
          "--lossy", [&lossy](double error) { lossy = lossy_within(error); },
          "what waits for the backward pass may do so in a form with this error, a share of the largest "
          "number "
          "nearby (0.004: 8 bits per number); built-in models only")
      ->type_name("ERROR")
      ->default_str("exact forms alone");
}

}  // namespace tidemark::cli
