#include "tools/options/solver_option.h"

#include <fmt/format.h>

#include <algorithm>

namespace tidemark::cli {
namespace {

std::string cost_text(const std::optional<double>& cost) {
  return cost ? fmt::format("{:.6g}", *cost) : std::string("-");
}

nlohmann::ordered_json cost_json(const std::optional<double>& cost) {
  return cost ? nlohmann::ordered_json(*cost) : nlohmann::ordered_json(nullptr);
}

void list_solvers() {
  for (const SolverInfo& solver : solver_list())
    fmt::print("{:<9} {}\n{:<9} needs: {}\n", solver.name, solver.why, "", solver.needs);
}

// One name for each time that it is given, so that a model's name may follow.
void add_names(CLI::App& command, const std::string& option, std::vector<std::string>& names,
               const std::string& help, const std::string& otherwise) {
  command.add_option(option, names, help)
      ->default_str(otherwise)
      ->type_name("SOLVER")
      ->allow_extra_args(false);
}

}  // namespace

void add_solver_options(CLI::App& command, SolverOption& option) {
  add_names(command, "--solver", option.only, "ask only this search for recomputation; may be repeated",
            "all");
  add_names(command, "--without", option.without, "leave this search out; may be repeated", "none");
  command.add_flag_callback(
      "--list-solvers",
      [] {
        list_solvers();
        throw CLI::Success();
      },
      "the searches for recomputation, in the order in which they are asked");
}

void print_solvers(const SolverLog& log) {
  fmt::print("\nsolvers\n");
  if (std::ranges::all_of(log, [](const SolverRecord& solver) { return solver.runs == 0; })) {
    fmt::print("  none was asked\n");
    return;
  }
  fmt::print("  {:<9} {:>5} {:>12} {:>9} {:>14} {:>14}\n", "name", "runs", "work", "improved", "cost before",
             "cost after");
  for (const SolverRecord& solver : log) {
    if (!solver.chosen) {
      fmt::print("  {:<9} left out\n", solver.name);
      continue;
    }
    fmt::print("  {:<9} {:>5} {:>12} {:>9} {:>14} {:>14}\n", solver.name, solver.runs, solver.work_units,
               solver.improved, cost_text(solver.cost_before), cost_text(solver.cost_after));
  }
}

nlohmann::ordered_json solvers_json(const SolverLog& log) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const SolverRecord& solver : log) {
    if (!solver.chosen) continue;
    json.push_back({{"name", solver.name},
                    {"runs", solver.runs},
                    {"work", solver.work_units},
                    {"improved", solver.improved},
                    {"cost_before", cost_json(solver.cost_before)},
                    {"cost_after", cost_json(solver.cost_after)}});
  }
  return json;
}

}  // namespace tidemark::cli
