// A plan in the making. Every pass takes a Draft and returns it with one more thing decided:
//
//   views → windows      which values are only windows on another's memory and cost no step
//   donate → home        which values live in the memory of a donated input
//   order → executions   what runs when
//   remat → executions   what runs again, to stay within a budget: a node listed twice is a recomputation
//   release → executions  updates of donated memory as early as they can run
//   fuse → groups        which runs are one kernel, so that what passes between them needs no memory
//   duplicate → executions   what each kernel that reads it makes for itself
//   in_place → overwrites, liveness → buffers, layout → offsets
//
// A *root* is a value with memory of its own; every value is a window on exactly one root (itself, when no
// view).
#pragma once
#include <string>
#include <vector>

#include "tidemark/ir/graph.h"
#include "tidemark/ir/target.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/plan.h"
#include "tidemark/solve/remat/solvers.h"

namespace tidemark {

class SearchControl;
struct RematMemory;

struct Window {
  ValueId root;
  std::int64_t offset = 0;  // bytes from the root's first element to this value's first
  Strides strides;          // in elements
};

// One run of a node. The vectors have one entry per result once their pass has run.
struct Execution {
  NodeId node;
  int group = -1;                        // runs in a row with the same number are one kernel; -1: by itself
  std::vector<ValueId> overwrites = {};  // root whose memory the result takes over; invalid: none
  std::vector<BufferId> buffers = {};    // where the results go
  BufferId scratch = {};
  bool required = false;  // added because a hint asks for it; a search leaves it where it is
  // Made for its own group alone, where that is faster than reading it: others read the version before.
  bool duplicate = false;
};

// `first` must have run before `second` although no value flows: a reader before the writer that reuses its
// memory.
struct Precedence {
  NodeId first, second;
};

// What the user's hints ask of later passes (hints.h).
struct PlanHints {
  std::vector<bool> never_repeat;   // per node: runs once
  std::vector<bool> must_drop;      // per value: not in memory over its longest gap, but computed again
  std::vector<HintReport> reports;  // the graph's hints, then its checkpoints
};

// The plans of a graph's regions, made before anything else is decided.
struct RegionPlans {
  std::vector<NodePlans> bodies;                // as Plan::bodies
  std::vector<std::vector<RegionFacts>> facts;  // per node of the graph; empty: no node has regions
};

// Of one run of remat among several for the same graph.
struct RematShare {
  std::int64_t units = 0, floor_units = 0;  // as of RematLimits
  RematMemory* memory = nullptr;            // what the runs tell each other
};

struct Draft {
  Draft(const Graph& g, const Target& t);

  const Graph* graph;
  const Target* target;         // whose facts count
  std::vector<Window> windows;  // per value
  std::vector<ValueId> home;  // per value: the donated input in whose memory it lives; invalid: in the arena
  std::vector<Precedence> precedences;
  std::vector<Execution> executions;
  PlanHints hints;  // empty before the pass
  std::vector<Buffer> buffers;
  std::int64_t arena_bytes = 0;
  std::int64_t order_free_bound = 0;     // of the arena alone
  double work_factor = 1;                // of the searches' work; 1: a second or so for 10,000 nodes
  const Machine* machine;                // whose times count
  SearchControl* control = nullptr;      // of the planning that this is part of; may be null
  const RegionPlans* regions = nullptr;  // null: there are none
  bool binds_outputs = false;            // as the plan's
  bool has_disk = false;                 // spilling follows, to a disk among others
  bool order_is_given = false;           // first executions stay as they are listed
  bool may_repeat = true;                // nodes may run again to stay within a budget
  std::int64_t arena_budget = -1;        // what remat aims at; negative: no limit
  RematShare remat_share;                // what it may spend on that
  SolverChoice solvers;                  // those that remat asks
  SolverLog* solver_log = nullptr;       // what each of them did is added here; may be null
  bool rough_layout = false;             // addresses will be looked for again, with more work
  std::int64_t layout_height = -1;       // an arena that is low enough; negative: the lower, the better
  std::int64_t group_limit = -1;         // load up to which groups may lift it; negative: as high as it is
  std::vector<NodeId> warm_start;  // executions that were good for another budget, for remat to start from
  bool fits = true;                // remat found executions within the budget; else the lowest it could
  std::int64_t load_bound = 0;     // with a budget: no executions have a lower load in the arena
  bool groups = true;              // fuse follows: what runs again may be part of its readers' kernels
  double search_seconds = 0;       // of these executions, as remat counts
  double base_seconds = 0;         // of all nodes once, as remat counts
  // The same, and what must run again within the budget: no less, whatever is put into groups.
  double seconds_bound = 0;
  Duplicates duplicates;
  double repeat_seconds = 0;    // with duplicates: what running again for want of memory took before them
  std::int64_t work_units = 0;  // what the searches spent, counted in node visits

  ValueId root(ValueId v) const { return windows[v.index].root; }
  bool is_view(ValueId v) const { return root(v) != v; }
  // Nodes whose results are all views run no step.
  bool runs(const Node& node) const;
  std::int64_t root_bytes(ValueId v) const { return graph->type(root(v)).bytes(); }
  // Dense from the root's first byte to its last: writing it writes all of the root.
  bool covers_root(ValueId v) const;
};

// What a graph's node is called with under the draft's windows. Keep it alive while the call is used.
struct PlannedCall {
  PlannedCall(const Draft& draft, const Node& node);
  operator const Call&() const { return types.call; }  // NOLINT: implicit by design

  NodeCall types;
  std::vector<Strides> strides;
};

// May result `r` of `node` be written over operand `k`, going by the op's facts and the windows? Liveness is
// the caller's concern.
bool can_overwrite(const Draft& draft, const Node& node, const Call& call, int r, int k);

// Per root, the nodes that run and read it or a window on it, each once, in graph order.
std::vector<std::vector<NodeId>> root_readers(const Draft& draft);

// Which roots must survive to the end: the ones that outputs are windows on.
std::vector<bool> output_roots(const Draft& draft);

// The draft as text, for `--dump-after`.
std::string to_text(const Draft& draft);

}  // namespace tidemark
