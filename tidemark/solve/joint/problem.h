// One decision space: keep, recompute, move away, compress, invert, and modes, as one problem over several
// memories and lanes.
//
//   task       makes items out of items, on a lane, at a cost
//   required   a list of choices; of each, one task must run first, in the order of the list. A choice of
//              several tasks is a task with modes: a loop that keeps more or fewer states, a body that is
//              planned tighter.
//   optional   every other task: it runs never or often. A value that may be moved away has two of them,
//              out and in; one that may be compressed an encode and a decode; one that may be inverted an
//              inverse.
//   item       bytes in one memory. It may have several makers; whoever made it last, readers read that.
//
// A schedule is a list of entries. The first lane conducts: its tasks run one after the other, as listed. A
// task of another lane has two entries. At `begin` it is handed to its lane, which runs what it is handed one
// after the other; at `end` the first lane waits until it has ended. Between the two, what it reads and what
// it makes is in memory, and nobody may read what it makes.
//
//   compute   a   b   begin(out x)   c   d   end(out x)   e   begin(in x)   f   end(in x)   g(x)
//   x         ├────────────────────────────────────┤          ├─────────────────────────────────┤
//   copies                      [═══ out x ═══]                      [═ in x ═]
//
// The cost of a schedule is its makespan: with one lane, the sum of what runs. Everything about memory
// follows from the list, so that the plan made of it needs no more waits than the entries say.
//
// A plain problem of recomputation (solve/remat/problem.h) is the special case of one memory, one lane, one
// task to a choice and no optional tasks.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tidemark/solve/remat/problem.h"

namespace tidemark {

struct JointTask {
  double cost = 0;  // of one run, in seconds or any other unit; not negative
  int lane = 0;
  std::vector<int> uses = {}, makes = {};  // items, each once
  std::int64_t scratch = 0;                // bytes in the first memory, of a task of the first lane
  std::vector<InPlaceReuse> reuses = {};   // of a task of the first lane
  bool repeatable = true;                  // may run more than once
  std::vector<int> closed_by = {};         // choices: it may not run once one of these has
};

struct JointItem {
  std::int64_t bytes = 0;
  int memory = 0;
  bool pinned = false;  // alive to the end
};

inline constexpr std::int64_t no_budget = INT64_MAX;

enum class Part : std::uint8_t { whole, begin, end };
struct JointEntry {
  int task = 0;
  Part part = Part::whole;
  friend bool operator==(const JointEntry&, const JointEntry&) = default;
};
using JointSchedule = std::vector<JointEntry>;

struct JointProblem {
  std::vector<JointTask> tasks = {};
  std::vector<JointItem> items = {};
  std::vector<std::vector<int>> required = {};      // choices in a valid order
  std::vector<std::int64_t> budgets = {no_budget};  // per memory
  int lanes = 1;
  // Where choices use what only optional tasks make: a schedule to begin with, within the budgets or not.
  JointSchedule start = {};

  std::size_t memories() const { return budgets.size(); }
};

// What a schedule needs and takes, from nothing but the problem and the list: the searches' own evaluators
// are tested against it.
struct JointFigures {
  std::string error = {};                // why it is no schedule of the problem; empty: it is one
  std::vector<std::int64_t> peaks = {};  // per memory
  double makespan = 0;
  double stalled = 0;  // of the makespan, what the first lane waits for others

  bool fits(const JointProblem& problem) const;
};
JointFigures judge(const JointProblem& problem, const JointSchedule& schedule);

// Every choice once, by its first task, in order, nothing else; or the start that the problem has.
JointSchedule plain_schedule(const JointProblem& problem);

// The plain problem as a joint one: tasks and items keep their numbers, choice k is {k}. Its order is fixed.
JointProblem joint_of(const RematProblem& problem);
// The plain part of a joint problem: choice k is task k, in its first mode, with the budget of the first
// memory, in a fixed order. What lies in other memories, and optional tasks, are left out.
RematProblem plain_part(const JointProblem& problem);
bool is_plain(const JointProblem& problem);

// A way for `item` to another memory and back: a new item there, and an optional task each way. Returns the
// number of the new item.
struct TransferWay {
  int memory = 1;
  int out_lane = 1, in_lane = 1;
  double out_cost = 0, in_cost = 0;
};
int add_transfer(JointProblem& problem, int item, const TransferWay& way);
// A smaller form of `item` in its own memory, made and undone on a lane.
int add_codec(JointProblem& problem, int item, std::int64_t bytes, double encode_cost, double decode_cost,
              int lane = 0);

}  // namespace tidemark
