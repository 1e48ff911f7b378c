// Something tried in a process of its own, so that a crash or an endless loop is a result like any other. The
// process that calls this has no threads.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

#include "tests/programs/check.h"

namespace tidemark::testing {

// How long something may take: in seconds of the processor, since a busy machine is no fault of what is
// tried; what waits for ever takes none, so there is an end on the wall's clock too, much later.
struct Patience {
  double processor_seconds;
  double wall_seconds() const { return 20 * processor_seconds; }
};
double processor_seconds_of(pid_t process);

struct Outcome {
  Finding finding;  // where it ended; what: also "crashed: …" and "no end after … s"
  bool crashed = false;
};

// `body` says as it goes what it is at, through the function it is given.
using Progress = std::function<void(const Finding&)>;
Outcome run_apart(Patience patience, const std::function<void(const Progress&)>& body);

}  // namespace tidemark::testing
