// The values of --solver and --without: which searches for recomputation are asked; and what each of them
// did.
#pragma once
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tidemark/solve/remat/solvers.h"

namespace tidemark::cli {

struct SolverOption {
  std::vector<std::string> only, without;  // names, as given

  SolverChoice choice() const { return {only, without}; }  // throws Error for a name that no solver has
};

// --solver, --without, and --list-solvers, which prints the table and ends the command.
void add_solver_options(CLI::App& command, SolverOption& option);

void print_solvers(const SolverLog& log);
nlohmann::ordered_json solvers_json(const SolverLog& log);  // those that were chosen

}  // namespace tidemark::cli
