// Runs that are killed: a child process that ends itself with SIGKILL in the middle of a step, chosen by the
// test.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/support/reversals.h"

namespace tidemark::schedule::testing {

// A ring that dies after so many calls of its step or its reverse. Its steps decide something, too: the step
// size comes from a counter that only ever moves on, so that a step decided again would be another.
struct MortalRing : Ring {
  std::int64_t calls_left = -1;  // below zero: it lives
  std::int64_t calls = 0;

  void live() {
    ++calls;
    if (calls_left >= 0 && calls_left-- == 0) ::kill(::getpid(), SIGKILL);
  }
  void advance(State& x, Steps range) {
    for (Step i = range.begin; i < range.end; ++i) {
      live();
      Ring::advance(x, {i, i + 1});
    }
  }
  State record(State& x, Step i) {
    live();
    return Ring::record(x, i);
  }
  void reverse(const State& x, Adjoint& a, Step i) {
    live();
    Ring::reverse(x, a, i);
  }
};

// How many calls a whole run takes.
template <class Plan>
std::int64_t calls_of(const Plan& plan, const RunOptions& options) {
  MortalRing ring;
  Ring::State state = Ring::initial();
  Ring::Adjoint adjoint = Ring::zero();
  run(ring, state, adjoint, plan, options);
  return ring.calls;
}

// Starts the run in a child that dies after `calls` calls. True when it did die of that.
template <class Plan>
bool run_and_die(const Plan& plan, const RunOptions& options, std::int64_t calls) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      MortalRing ring;
      ring.calls_left = calls;
      Ring::State state = Ring::initial();
      Ring::Adjoint adjoint = Ring::zero();
      run(ring, state, adjoint, plan, options);
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace tidemark::schedule::testing
