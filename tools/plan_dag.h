// `tidemark plan FILE.dag.json`: fits a graph of costs and bytes into a budget, or judges a schedule of it.
#pragma once
#include <string>

#include "tools/exit_code.h"

namespace tidemark::cli {

struct DagCommand {
  std::string input;
  std::string memory = {};  // as given; empty: the least memory at no extra cost
  std::string effort = {};
  std::string schedule = {};  // write the schedule here
  std::string check = {};     // judge this schedule instead of searching
  bool fixed_order = false, json = false;
};

ExitCode plan_dag(const DagCommand& command);

}  // namespace tidemark::cli
