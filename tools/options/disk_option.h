// --disk FOLDER --disk-memory N: values may wait in a folder of this machine.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tidemark/plan/spill/tier.h"

namespace tidemark::cli {

struct DiskOption {
  std::string folder;
  std::optional<std::int64_t> bytes;

  bool given() const { return !folder.empty(); }
  // Throws Error where one of the two is missing.
  void check() const;
  // What the plan may take of it, behind `tiers`; and the machine that it is of: `machine`, where that has a
  // disk, else with its rates measured in the folder. Throws Error bad_file where the folder takes no files.
  void add_to(std::vector<TierBudget>& tiers, std::optional<Machine>& machine) const;
};
void add_disk_options(CLI::App& command, DiskOption& option);

}  // namespace tidemark::cli
