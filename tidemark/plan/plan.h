// A Plan says everything about a run before it happens: which buffers exist, in which memory, where they lie
// there and how long, and which steps happen on which bytes, on which lane, behind which others. It is plain
// data. The executor follows it and decides nothing; the verifier, the summary, the page and the command line
// read the same struct.
//
//   offset │   ┌───────b1───────┐              time runs in steps; a buffer lives in [begin, end);
//          │   │                │┌──b3──┐      buffers that are alive together never overlap;
//          │┌─────b0─────┐┌─────b2──────┐      the height of the picture is the arena's
//          └┴────────────┴┴─────────────┴──▶ step
//
// Memory a program holds = bound inputs (the caller's memory, used in place) + the arena (all else, outputs
// included), in each memory. The first memory is the one that computing happens in and that an everyday
// budget is about.
//
// A lane runs its steps in the order of the list; steps of different lanes run side by side, unless one waits
// for the other. `a` happens before `b` when they are on one lane in that order, or `b` waits for `a`,
// transitively; a group of steps is one kernel, so it begins when all that its steps wait for has ended, and
// has ended as a whole. The list itself is one of the orders in which things may happen: a step waits for
// earlier ones only.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/ids.h"
#include "tidemark/base/shape.h"
#include "tidemark/ir/codec.h"
#include "tidemark/ir/hint.h"
#include "tidemark/plan/algorithms.h"

namespace tidemark {

class Graph;
struct RegionFacts;  // ir/op.h

// Whose memory a buffer is. argument: the caller's, that of an input; arena: the plan's own; result: the
// caller's, named for an output at each run (regions); tile: nowhere as a whole, made and used up piece by
// piece while its group of steps runs.
enum class Binding : std::uint8_t { argument, arena, result, tile };
enum class Purpose : std::uint8_t { input, donated, value, output, scratch };
std::string_view name_of(Binding binding);
std::string_view name_of(Purpose purpose);

struct Buffer {
  Binding binding = Binding::arena;
  Purpose purpose = Purpose::value;
  std::int64_t bytes = 0;   // as needed, not rounded
  std::int64_t offset = 0;  // in the arena of its memory, a multiple of that memory's alignment; 0 elsewhere
  std::int32_t slot =
      -1;  // of an argument: the number of the input; of a result: of the output; -1 elsewhere
  std::int32_t begin = 0;        // first step that touches it
  std::int32_t end = 0;          // one past the last; outputs and bound inputs live to the end
  ValueId value = {};            // whom it was made for (the first value it holds); invalid for scratch
  std::int32_t memory = 0;       // number of the memory it is in
  const Codec* codec = nullptr;  // the form of what it holds; null: plain
};

// Where a value is when a step reads or writes it.
struct Ref {
  ValueId value;
  BufferId buffer;
  std::int64_t offset = 0;  // bytes from the buffer's start to the value's first element
  Strides strides;          // in elements; dense for everything that is not a view
};

// compute: runs a node. copy: a value from one buffer to another, in the form that it has. encode, decode:
// from plain to the form of the result's buffer, and back. fetch: the host reads the value; no result.
enum class StepKind : std::uint8_t { compute, copy, encode, decode, fetch };
std::string_view name_of(StepKind kind);

struct Step {
  StepKind kind = StepKind::compute;
  NodeId node = {};  // of a compute step; computing a node a second time is a recomputation
  std::vector<Ref> in = {}, out = {};
  BufferId scratch = {};  // invalid when the kernel needs none
  // Steps in a row with the same number run as one kernel, which takes the elements of their common result
  // shape in tiles: all of them for one tile, then for the next. -1: by itself.
  std::int32_t group = -1;
  std::int32_t lane = 0;
  std::vector<std::int32_t> waits = {};  // earlier steps, on other lanes, that must have ended
};

inline constexpr std::string_view first_memory_name = "ram";

// A memory that the plan uses, and what it uses of it.
struct PlanMemory {
  std::string name = {};
  std::int64_t alignment = buffer_alignment;  // of its buffers
  std::int64_t input_bytes = 0;               // bound memory
  std::int64_t arena_bytes = 0;               // height of the arena, a multiple of the alignment
  std::int64_t lower_bound = 0;  // no plan of this order and these buffers is below: bound + maximum load
  std::int64_t budget = 0;       // what the peak had to stay within; 0: nothing was asked
  std::int64_t peak() const { return input_bytes + arena_bytes; }
};

// What runs steps one after the other. A compute lane computes on the buffers of one memory; any lane copies
// and codes.
struct Lane {
  std::string name = {};
  bool computes = true;
  std::int32_t memory = 0;  // that a compute lane works in
};

// What became of a hint: a keep, a recompute, a checkpoint, a compress or an offload.
struct HintReport {
  HintKind kind = HintKind::keep;
  std::string name = {};  // of the value or the checkpoint; may be empty
  SourceLine where = {};
  ValueId value = {};  // whose memory it is about; invalid for checkpoints
  bool honoured = false;
  std::string reason = {};      // why it has no effect
  std::int64_t bytes = 0;       // not stored over the gap; for a keep: stored
  std::int64_t kept_bytes = 0;  // of the inside, within a checkpoint's memory
  int runs = 0;                 // steps added; of an offload, copies
  double seconds = 0;           // predicted, of those
};

// Values that kernels make for themselves, because that is faster than writing and reading them.
struct Duplicates {
  int values = 0;      // each as often as a kernel makes it so
  int steps = 0;       // that the plan has more for it
  double seconds = 0;  // saved, as predicted
};

inline constexpr std::string_view cpu_target_name = "cpu";

struct Plan;
// How the regions of a node run: planned once, run at every iteration. Their arenas lie in the scratch of the
// node's step, at its start, one over the other.
struct NodePlans {
  NodeId node;
  std::vector<Plan> regions;  // as the node's
};

struct Plan {
  std::string target{cpu_target_name};        // for which it was made (ir/target.h)
  std::int64_t alignment = buffer_alignment;  // of the first memory's buffers
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<Ref> outputs;            // as the graph's outputs; all dense
  std::vector<NodePlans> bodies = {};  // of the nodes with regions, in the order of nodes
  // A region's plan: outputs that are made here are written where the caller says, the others copied there at
  // the end.
  bool binds_outputs = false;

  // Of the first memory. `further` are the others, beginning with memory 1.
  std::int64_t input_bytes = 0;  // bound memory
  std::int64_t arena_bytes = 0;  // height of the arena, a multiple of the alignment
  std::int64_t peak() const { return input_bytes + arena_bytes; }
  std::int64_t lower_bound = 0;  // no plan of this order and these buffers is below: bound + maximum load
  std::vector<PlanMemory> further = {};
  std::vector<Lane> lanes = {{.name = "compute"}};

  std::int64_t order_free_bound = 0;  // with these views and donations, none is below in any order
  std::int64_t store_all_bytes =
      0;                   // inputs + every value in memory of its own: what a plain tape would hold
  double flops = 0;        // of all steps, recomputation included
  double bytes_moved = 0;  // of a group, what its steps read from outside, each once, and write there

  std::int64_t budget = 0;   // what the peak had to stay within; 0: nothing was asked
  double seconds = 0;        // predicted for all steps, on the machine planned for
  double least_seconds = 0;  // if nothing were recomputed for want of memory
  double seconds_bound =
      0;  // no plan within the budget, with these views, donations, groups and duplicates, is predicted faster
  double extra_time() const { return least_seconds > 0 ? seconds / least_seconds - 1 : 0; }

  Duplicates duplicates;
  PlannedAlgorithms algorithms = {};  // of a plan that was run and written down; those of its regions too

  std::vector<HintReport> hints;  // the graph's hints, then its checkpoints
};

std::size_t memory_count(const Plan& plan);
PlanMemory memory_of(const Plan& plan, std::size_t memory);  // its figures, the first's too
// One memory, one lane that computes, nothing coded: what every device can run.
bool is_plain(const Plan& plan);

RegionFacts facts_of(const Plan& region);
// One per region of the node, empty where it has none.
std::vector<RegionFacts> region_facts(const Plan& plan, NodeId node);

// Does this result of the step lie where the step, or one before it in its group, reads?
bool is_in_place(const Plan& plan, std::size_t step, const Ref& out);

// One past the last step of the group that the step is in; the next step where it is by itself.
std::size_t group_end(const Plan& plan, std::size_t step);
std::size_t kernel_count(const Plan& plan);  // launches: groups, and steps by themselves

// The compute step with the most bytes of the first memory alive.
std::int32_t peak_step(const Plan& plan);

// A page of text: peak, bound, what lives at the peak and from which line.
std::string summary(const Graph& graph, const Plan& plan);

// Every step with the places it reads and writes, one line each: what golden tests compare.
std::string to_text(const Graph& graph, const Plan& plan);

}  // namespace tidemark
