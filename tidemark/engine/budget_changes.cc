#include "tidemark/engine/budget_changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/engine/inverse_search.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/micro_batches.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/plan/passes/proposals.h"

namespace tidemark {
namespace {

// Would donating the argument help at all: does a result have the type of one of its tensors?
bool could_be_donated(const TracedFunction& function, const Graph& traced, std::size_t argument) {
  if (function.donated[argument]) return false;
  const auto begin = function.types.begin();
  return std::any_of(
      begin + static_cast<std::ptrdiff_t>(function.argument_begin(argument)),
      begin + static_cast<std::ptrdiff_t>(function.argument_ends[argument]), [&](const Type& type) {
        return std::ranges::any_of(traced.outputs(), [&](ValueId v) { return traced.type(v) == type; });
      });
}

// All of them with everything undone and in the smallest forms that are allowed. Whether one fits is seen
// with loops that keep as little as they may, how fast it is with what they had better keep.
class Changes {
 public:
  explicit Changes(const Unplannable& call)
      : call_(call),
        options_(call.options),
        here_(call.function),
        quick_(plan_options(options_, call.control)) {
    here_.types.assign(call.types.begin(), call.types.end());
    quick_.one_round = true;  // that it fits is asked, not how fast it is
    quick_.effort = quick_.effort.at_most(Effort::quick);
    quick_.floor = false;
  }

  std::vector<Proposal> list() {
    const std::optional<BatchAxis> axis = find_batch(here_, options_.batch_arguments, call_.where);
    if (axis) smaller_batch(*axis);
    if (axis && options_.accumulate.is_plain()) micro_batches(*axis);
    another_memory();
    donations();
    if (!options_.allow.has(Choice::recompute)) recomputing();
    if (!options_.lossy) lossy_copies();
    fewer_demands();
    return std::move(list_);
  }

 private:
  Graph lowered(const Graph& traced, const std::optional<Lossy>& lossy) const {
    const Choices allow = lossy ? options_.allow.with(Choice::compress) : options_.allow;
    return lower_backward_values(traced, extreme_values(traced, lossy, allow).back());
  }
  // A change that leads to a graph to be traced; planned with these options.
  using Traced = std::function<Graph(std::int64_t size)>;
  Proposal proposal(std::string what, const Traced& traced, PlanOptions options,
                    const std::optional<Lossy>& lossy) const {
    const std::vector<std::string>& skip = options_.program.skip_optimisations;
    const std::int64_t loops = options.allow.has(Choice::recompute) ? 0 : unlimited_memory;
    Proposal made{.what = std::move(what), .graph = {}, .options = std::move(options)};
    made.graph = [this, traced, lossy, loops, &skip](std::int64_t size) {
      return prepare_graph(lowered(traced(size), lossy), skip, nullptr, loops, target_of(quick_));
    };
    made.with_loops = [this, traced, lossy, &skip](std::int64_t size,
                                                   const PlanOptions& with) -> std::optional<Plan> {
      const Graph graph = lowered(traced(size), lossy);
      if (!loop_memory_range(graph).any) return {};
      PlanWithLoops found = plan_with_loops(graph, skip, with);
      if (!found.plan) return {};
      return std::move(found.plan).value();
    };
    return made;
  }
  Proposal proposal(std::string what, const Traced& traced) const {
    return proposal(std::move(what), traced, quick_, options_.lossy);
  }
  Proposal same_graph(std::string what, PlanOptions options) const {
    return proposal(
        std::move(what), [this](std::int64_t) { return call_.traced; }, std::move(options), options_.lossy);
  }
  void add(Proposal change) { list_.push_back(std::move(change)); }
  // Extra time counts from what this call would take.
  void add_timed(Proposal change) {
    change.seconds = call_.seconds;
    add(std::move(change));
  }

  void smaller_batch(const BatchAxis& axis) {
    Proposal change = proposal(
        "batch", [this, axis](std::int64_t batch) { return here_.trace(axis.resized(here_.types, batch)); });
    change.from = axis.size;
    change.unit = std::max<std::int64_t>(1, options_.accumulate.count);
    add(std::move(change));
  }

  void micro_batches(const BatchAxis& axis) {
    std::vector<std::int64_t> counts = micro_batch_counts(axis.size);
    counts.erase(counts.begin());  // the batch as it is
    if (counts.empty()) return;
    Proposal change =
        proposal("computing the batch in {} micro-batches, with accumulate,", [this](std::int64_t count) {
          return cut_function(here_, call_.traced, options_, count, call_.where).traced;
        });
    change.sizes = std::move(counts);
    add_timed(std::move(change));
  }

  // A disk, or on a device the host's memory; more of it, where there is some already.
  void another_memory() {
    const Machine& machine = quick_.machine ? *quick_.machine : reference_machine();
    const std::string_view name = options_.device ? host_memory_name : disk_memory_name;
    const auto memory = std::ranges::find(machine.further, name, &MachineMemory::name);
    if (memory == machine.further.end() || !options_.program.plan.tiers.empty()) return;
    PlanOptions with_more = quick_;
    with_more.allow = with_more.allow.with(options_.device ? Choice::host : Choice::disk);
    const auto known = std::ranges::find(with_more.tiers, name, &TierBudget::memory);
    if (known != with_more.tiers.end()) {
      if (known->bytes >= memory->bytes) return;
      with_more.tiers.erase(known);
    }
    with_more.tiers.push_back({std::string(name), memory->bytes});  // the last is the one that is found
    Proposal change = same_graph(options_.device ? "allowing {} of the host's memory" : "allowing {} of disk",
                                 std::move(with_more));
    change.finds_tier = true;
    add_timed(std::move(change));
  }

  void donations() {
    constexpr int most = 3;
    int count = 0;
    for (std::size_t a = 0; a < here_.argument_ends.size() && count < most; ++a) {
      if (!could_be_donated(here_, call_.traced, a)) continue;
      ++count;
      add_timed(proposal(fmt::format("donating argument {}", a), [this, a](std::int64_t) {
        Graph given = call_.traced;
        for (std::size_t i = here_.argument_begin(a); i < here_.argument_ends[a]; ++i)
          given.inputs()[i].donated = true;
        return given;
      }));
    }
  }

  void recomputing() {
    PlanOptions again = quick_;
    again.allow = again.allow.with(Choice::recompute);
    add_timed(same_graph("allowing recompute", std::move(again)));
  }

  void lossy_copies() {
    constexpr double error = 4e-3;  // enough for 8 bits
    add_timed(proposal(
        fmt::format("allowing lossy copies for the backward pass, {{.error = {}}},", error),
        [this](std::int64_t) {
          const MarkedReads marked(StandIns::lossy);
          return here_.trace(here_.types);
        },
        quick_, Lossy{error}));
  }

  void fewer_demands() {
    if (quick_.fixed_order) {
      PlanOptions free = quick_;
      free.fixed_order = false;
      add(same_graph("leaving the order free", std::move(free)));
    }
    if (!call_.traced.hints().empty() || !call_.traced.checkpoints().empty()) {
      PlanOptions unhinted = quick_;
      unhinted.skip.emplace_back("hints");
      add(same_graph("planning without the hints", std::move(unhinted)));
    }
    if (!options_.effort.seconds && plan_options(options_).effort.factor < Effort::normal.factor) {
      PlanOptions normal = quick_;
      normal.effort = Effort::normal;
      normal.floor = true;
      add(same_graph("normal effort", std::move(normal)));
    }
  }

  const Unplannable& call_;
  const CompileOptions& options_;
  TracedFunction here_;
  PlanOptions quick_;
  std::vector<Proposal> list_;
};

}  // namespace

std::vector<std::string> changes_for(const Unplannable& call) {
  Changes changes(call);
  return changes_that_fit(changes.list(), target_of(plan_options(call.options)));
}

}  // namespace tidemark
