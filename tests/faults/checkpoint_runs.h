// Runs of checkpoint_main.cc, and what they said.
#pragma once
#include <csignal>
#include <sstream>
#include <string>
#include <vector>

#include "tests/faults/child.h"

namespace tidemark::testing {

struct CheckpointRun {
  bool killed = false;
  int status = 0;
  long resumed = -1, events = 0;
  long least = 0, most = 0;  // budgets, of a run without one
  std::string state;         // of a run that came to its end
  std::string all;           // what it said
};

inline CheckpointRun run_with_checkpoints(const std::string& folder, long kill_at, long budget = 0) {
  Child child({TIDEMARK_CHECKPOINT_CHILD, folder, std::to_string(kill_at), std::to_string(budget)});
  CheckpointRun run;
  while (const auto line = child.hear()) {
    run.all += *line + "\n";
    if (line->starts_with("resumed ")) run.resumed = std::stol(line->substr(8));
    if (line->starts_with("memory ")) std::istringstream(line->substr(7)) >> run.least >> run.most;
    if (line->starts_with("events ")) run.events = std::stol(line->substr(7));
    if (line->starts_with("state ")) run.state = line->substr(6);
  }
  run.status = child.ended();
  run.killed = run.status == -SIGKILL && run.state.empty();
  return run;
}

}  // namespace tidemark::testing
