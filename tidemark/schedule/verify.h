// Follows a stream of actions on an abstract machine that knows which state and which record lies where, and
// counts for itself. It shares nothing with what makes schedules, so that one is evidence for the other.
#pragma once
#include <optional>
#include <string>

#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

struct Fault {
  std::int64_t index = 0;  // of the action, from 0; one past the last when the stream ends too early
  std::optional<Action> action;
  std::string what;
  bool over_budget = false;  // right, had there been more room
};

struct Verdict {
  std::optional<Fault> fault;
  std::int64_t actions = 0;
  // What was counted: advances, recorded, peaks, writes, reads, cost; `slots` is one more than the highest
  // slot used. A record in a slot is a write, a reverse from a slot a read.
  Promise seen;
};

// Against the question: every action finds what it names, slots and bytes stay within each level after every
// action, steps are reversed from the last to the first, each once. Stops at the first fault.
Verdict verify(const Question& question, ActionStream& actions);

// The same, and the counts are what was promised. Empty: all is well.
std::optional<std::string> verify(const Question& question, const Schedule& schedule);

}  // namespace tidemark::schedule
