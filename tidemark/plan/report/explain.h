// A plan explained value by value: what became of each that waits for the backward pass or is large, what
// that costs, and what else could have become of it. Plain data; `to_text` and `to_json` show it.
//
//    12.00 MiB  %255 contract transformer.cc:28   kept
//               recompute   peak -12.00 MiB, time +4.21 ms   not needed: the budget is met
//
// Nothing here is told after the fact. The decisions are read off the plan. Each alternative is a plan of its
// own that the verifier has accepted, from which its peak and its predicted time are taken; how that plan
// came about is its `Basis`. Where there is none, the figures say that they are estimates, or that there are
// none.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/source.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/report/peak_split.h"

namespace tidemark {

// What became of a value.
enum class Decision : std::uint8_t {
  argument,    // the caller's memory: there from the first step to the last
  result,      // a result of the program: there from when it is made to the last step
  kept,        // it stays in memory until its last reader
  recomputed,  // it is let go, and made again for a later reader
  compressed,  // it waits in a smaller form
  host,        // it waits in the host's memory
  disk,        // it waits on a disk
  inverted,    // it is computed back from what was made of it
  fused,       // it is never in memory as a whole: kernels make it for themselves, piece by piece
  brief,       // it does not wait: whoever reads it comes right behind
};
inline constexpr int decision_count = 10;
std::string_view name_of(Decision decision);

// Where the figures of an alternative come from.
enum class Basis : std::uint8_t {
  edited,    // this plan with that one thing changed, everything else as it is
  planned,   // a plan of its own within the same budget, in which that one thing is fixed
  estimate,  // the cost model alone: no plan was made, and there is no figure for the peak
  none,      // it cannot be, or was not looked at: `why` says which
};
std::string_view name_of(Basis basis);

struct Alternative {
  Decision decision = Decision::recomputed;
  Basis basis = Basis::none;
  bool fits = false;             // its peak is within the budget, if there is one
  std::int64_t peak = 0;         // edited, planned: of the first memory; else 0
  std::int64_t peak_change = 0;  // edited, planned: to this plan's, exact; else 0
  double seconds_change = 0;     // to this plan's, predicted
  std::string why = {};          // why the plan does not do it
  std::optional<double> seconds_per_mib()
      const;  // that it takes for each MiB that it frees; none: it frees none
};

// Who makes or reads a value.
struct ExplainedCall {
  std::uint32_t node = 0;
  std::string op = {};
  std::string where = {};  // "train.cc:16"; empty where it is not known
  bool backward = false;   // it first runs when the forward pass is over
};

struct ExplainedValue {
  std::uint32_t value = 0;  // its number in its graph: %255
  std::string name = {};    // the user's, or the path of an argument; may be empty, and several may share one
  std::string type = {};    // "f32[8, 256, 1536]"
  std::int64_t bytes = 0;
  PeakRole role = PeakRole::temporaries;
  int region = 0;  // in Explanation::regions

  std::optional<ExplainedCall> producer = {};  // none: an argument
  std::vector<ExplainedCall> consumers = {};   // each once, in the order of the graph
  bool crosses = false;                        // made before the forward pass is over, and read behind it
  bool at_peak = false;                        // in the first memory at the step where the plan peaks

  Decision decision = Decision::kept;
  int runs = 1;  // of its maker, duplicates that are faster not counted; 0: an argument, a window
  std::int64_t waiting_bytes = 0;  // that it takes of the first memory while it waits
  double seconds = 0;              // predicted to make it once, by a kernel of its own
  double cost_seconds = 0;         // what the decision takes: runs again, or copies beside computing
  std::string why = {};
  std::vector<Alternative> alternatives = {};
  // What becomes of it in the plans for a little less and a little more memory (Explanation::prices); none:
  // there is no such plan.
  std::optional<Decision> with_less = {}, with_more = {};
};

// Where values are: the program itself, or a body of a loop or a branch, whose values are there once however
// often it runs.
struct ExplainedRegion {
  std::string name = {};  // empty: the program; "body of loop (train.cc:12)"
  // The way there: the number of a node and which of its regions, again and again.
  std::vector<std::uint32_t> path = {};
};

// What the plan for a little more or less memory is predicted to take.
struct BudgetPrice {
  std::int64_t change = 0;    // of the budget, in bytes
  bool fits = false;          // a plan was found
  double seconds_change = 0;  // to this plan's
  int changed = 0;            // values of the list of which something else becomes
  double seconds_per_mib() const;
};

struct ExplainedHead {
  std::optional<std::int64_t> budget = {};
  std::int64_t peak = 0;
  std::int64_t lower_bound = 0;                // no plan of this order is below
  std::int64_t order_free_bound = 0;           // none in any order, with these views and donations
  std::optional<std::int64_t> smallest = {};   // budget that a plan was found for
  std::optional<std::int64_t> free_peak = {};  // of the plan without a budget
  double seconds = 0, least_seconds = 0, seconds_bound = 0;  // as of Plan
  PeakSplit holds;                                           // what the peak is made of
  std::string plan_hash = {}, target = {};
  double extra_time() const { return least_seconds > 0 ? seconds / least_seconds - 1 : 0; }
};

struct Explanation {
  ExplainedHead head;
  std::vector<BudgetPrice> prices;       // less, then more; empty without a budget
  std::vector<ExplainedRegion> regions;  // the program first
  std::vector<ExplainedValue> values;    // by region, the largest first, then in the order of the graph
  std::size_t left_out = 0;              // values that are in the list but were not asked for
  std::vector<HintReport> hints;         // those without effect first, with the reason
};

// A page: the head, the values with their alternatives, the hints.
std::string to_text(const Explanation& explanation);
// The same as an object of JSON, with all of its fields; docs/explain.md lists them.
std::string to_json(const Explanation& explanation);

}  // namespace tidemark
