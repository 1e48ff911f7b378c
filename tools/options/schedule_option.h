// The question that the options of `tidemark schedule` put.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "tidemark/schedule/plan.h"

namespace tidemark::cli {

struct ScheduleOption {
  // As they were written; empty: not given.
  std::string steps, kind, slots, memory, disk, state, record, write_cost, read_cost, forward_cost,
      reverse_cost;

  // Throws Error for values that are wrong, CLI::ParseError for options that are missing.
  schedule::Question question() const;
  // What was given replaces what the header of a list says.
  schedule::Question over(schedule::Question header) const;

 private:
  void set_sizes(schedule::Question& question) const;
  void set_costs(schedule::Question& question) const;
  std::vector<schedule::Level> levels() const;
};

void add_schedule_options(CLI::App& command, ScheduleOption& option);

}  // namespace tidemark::cli
