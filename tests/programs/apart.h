// Something tried in a process of its own, so that a crash or an endless loop is a result like any other. The process that
// calls this has no threads.
#pragma once
#include <functional>
#include <string>

#include "tests/programs/check.h"

namespace tidemark::testing {

struct Outcome {
  Finding finding;  // where it ended; what: also "crashed: …" and "no end after … s"
  bool crashed = false;
};

// `body` says as it goes what it is at, through the function it is given.
using Progress = std::function<void(const Finding&)>;
Outcome run_apart(double seconds, const std::function<void(const Progress&)>& body);

}  // namespace tidemark::testing
