// Reverses a simulation of n steps inside byte budgets: makes the schedule, carries out its actions over the
// simulation's own states and records, and reports what it took.
//
//   struct Heat {                                    // nothing of it need be a tensor
//     void advance(State& u, Steps range);           // forward, nothing kept
//     Record record(State& u, Step i);               // one step forward, keeping what its reverse needs
//     void reverse(const Record& r, Adjoint& a, Step i);
//     void seed(const State& final, Adjoint& a);     // optional: the adjoint of the final state
//   };
//   auto report = run(heat, u0, adjoint, 1'000'000,
//                     {.levels = {{.bytes = 1_GiB}, {.bytes = 200_GiB, .directory = "/scratch"}}});
//
// Afterwards `adjoint` is what the reverse of step 0 left, and `u0` is any state. The bits do not depend on
// the levels, the kind, the options, or how often the run was killed and resumed.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tidemark/schedule/plan.h"
#include "tidemark/schedule/report.h"
#include "tidemark/schedule/run/simulation.h"

namespace tidemark::schedule {

struct RunLevel {  // fastest first; `slots` or `bytes`
  std::int64_t slots = -1;
  Bytes bytes{-1};
  std::string directory = "";  // empty: memory
  double write_cost =
      -1;  // of one state, in forward steps; below zero: measured for a directory, 0 for memory
  double read_cost = -1;
};

enum class Verify : std::uint8_t {
  none,  // checksums of files only
  replay  // every state is hashed at its first visit and compared at each recomputation: 8 bytes a step. A stepper with
  // `summary` and `deviation` is asked instead: 8 bytes and a summary a step
};

enum class Io : std::uint8_t {
  automatic,  // io_uring where there is one, else a thread
  uring,
  thread,
  blocking  // nothing in the background: a store ends before the next step begins
};

struct Progress {
  Step steps = 0, reversed = 0;
  Step forward = 0, predicted_forward = 0;  // steps, recorded ones too
  Bytes held = {};                          // by all levels, now
};

struct RunOptions {
  std::vector<RunLevel> levels = {};  // none: everything in memory, whatever it takes
  Kind kind = Kind::automatic;
  Verify verify = Verify::none;
  double tolerance = 0;  // the largest deviation of a replay, where the stepper compares for itself
  bool resume = false;   // keep a journal in the first directory, and go on from one that is there
  std::function<void(const Progress&)> progress = {};  // ten times a second, and at the end
  // Asked on the thread of the run before the first plan, before every action and before every forward step:
  // how many bytes of states the run may hold from now on, within what its level allows. It may shrink and
  // grow. The states that cost least to lose are dropped at once, and the rest is planned anew; the bits
  // stay. For one level in memory, of kind automatic or binomial, which then keep states alone.
  std::function<Bytes()> memory_left = {};

  std::string name =
      "run";  // of the folder `tidemark-NAME` within each directory; a run resumes its own only
  std::int64_t state_bytes = -1, record_bytes = -1;  // below zero: measured
  Io io = Io::automatic;
  bool direct = false;   // O_DIRECT where the file system can: past the page cache
  bool durable = false;  // a commit waits for the disk: resume after a power cut, too
  int buffers = 4;       // of one state each, for transfers in flight
  bool unnamed = false;  // files without names, gone with the process: states of one size, and no resuming
};

namespace detail {
Report run(Simulation& simulation, Step steps, const RunOptions& options);
Report run(Simulation& simulation, const Schedule& schedule, const RunOptions& options);
Report run_within_memory_left(Simulation& simulation, Step steps, const RunOptions& options);
// Throws Error `bad_run_option` for a run that cannot follow memory_left: `of` says which.
void refuse_memory_left(const RunOptions& options, const char* of);
Report run_while(Simulation& simulation, const std::function<bool(Step)>& more, const RunOptions& options);
}  // namespace detail

template <class S, class State, class Adjoint>
requires Stepper<S, State, Adjoint> && Snapshotter<State> Report run(S& stepper, State& state,
                                                                     Adjoint& adjoint, Step steps,
                                                                     const RunOptions& options = {}) {
  BoundSimulation<S, State, Adjoint> simulation(stepper, state, adjoint);
  return detail::run(simulation, steps, options);
}

// The same on a schedule of one's own. Its slots must fit the levels; a level that is not named is in memory.
template <class S, class State, class Adjoint>
requires Stepper<S, State, Adjoint> && Snapshotter<State> Report run(S& stepper, State& state,
                                                                     Adjoint& adjoint,
                                                                     const Schedule& schedule,
                                                                     const RunOptions& options = {}) {
  BoundSimulation<S, State, Adjoint> simulation(stepper, state, adjoint);
  return detail::run(simulation, schedule, options);
}

template <class Adjoint>
struct WhileResult {
  Adjoint adjoint;
  Report report;
};

// The same for a loop that ends when it ends: steps are taken while `more(state, i)`, asked once before each
// step i; then the adjoint starts as `final(state)`. States are kept on one level, of which slots or bytes
// must be given; its policy takes at most a few percent more steps than if the number had been known.
template <class S, class State, class Final, class More,
          class Adjoint = std::remove_cvref_t<std::invoke_result_t<Final&, const State&>>>
requires Stepper<S, State, Adjoint> && Snapshotter<State> && std::default_initializable<Adjoint>
    WhileResult<Adjoint> run_while(S& stepper, State& state, Final&& final, More&& more,
                                   const RunOptions& options) {
  WhileResult<Adjoint> result{};
  SeededBy<S, State, Adjoint, std::remove_reference_t<Final>> seeded{stepper, final};
  BoundSimulation<decltype(seeded), State, Adjoint> simulation(seeded, state, result.adjoint);
  result.report = detail::run_while(
      simulation, [&](Step i) { return more(std::as_const(state), i); }, options);
  return result;
}

}  // namespace tidemark::schedule
