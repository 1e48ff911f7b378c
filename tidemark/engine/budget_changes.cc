#include "tidemark/engine/budget_changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/engine/inverse_search.h"
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

// All of them with everything undone and in the smallest forms that are allowed, and loops that keep as
// little as they may.
class Changes {
 public:
  explicit Changes(const Unplannable& call)
      : call_(call),
        options_(call.options),
        here_(call.function),
        quick_(plan_options(options_, call.control)),
        loops_(options_.allow.has(Choice::recompute) ? 0 : unlimited_memory) {
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
  Graph prepared(const Graph& traced, const std::optional<Lossy>& lossy) const {
    return prepare_graph(lowered(traced, lossy), options_.program.skip_optimisations, nullptr, loops_,
                         target_of(quick_));
  }
  Graph prepared(const Graph& traced) const { return prepared(traced, options_.lossy); }
  std::function<Graph(std::int64_t)> same_graph() const {
    return [this](std::int64_t) { return prepared(call_.traced); };
  }

  void smaller_batch(const BatchAxis& axis) {
    list_.push_back(
        {.what = "batch",
         .graph = [this, axis](
                      std::int64_t batch) { return prepared(here_.trace(axis.resized(here_.types, batch))); },
         .options = quick_,
         .from = axis.size,
         .unit = std::max<std::int64_t>(1, options_.accumulate.count)});
  }

  void micro_batches(const BatchAxis& axis) {
    std::vector<std::int64_t> counts = micro_batch_counts(axis.size);
    counts.erase(counts.begin());  // the batch as it is
    if (counts.empty()) return;
    list_.push_back({.what = "computing the batch in {} micro-batches, with accumulate,",
                     .graph =
                         [this](std::int64_t count) {
                           return prepared(
                               cut_function(here_, call_.traced, options_, count, call_.where).traced);
                         },
                     .options = quick_,
                     .sizes = std::move(counts),
                     .seconds = call_.seconds});
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
    list_.push_back({.what = options_.device ? "allowing {} of the host's memory" : "allowing {} of disk",
                     .graph = same_graph(),
                     .options = std::move(with_more),
                     .finds_tier = true,
                     .seconds = call_.seconds});
  }

  void donations() {
    constexpr int most = 3;
    int count = 0;
    for (std::size_t a = 0; a < here_.argument_ends.size() && count < most; ++a) {
      if (!could_be_donated(here_, call_.traced, a)) continue;
      ++count;
      list_.push_back({.what = fmt::format("donating argument {}", a),
                       .graph =
                           [this, a](std::int64_t) {
                             Graph given = call_.traced;
                             for (std::size_t i = here_.argument_begin(a); i < here_.argument_ends[a]; ++i)
                               given.inputs()[i].donated = true;
                             return prepared(given);
                           },
                       .options = quick_,
                       .seconds = call_.seconds});
    }
  }

  void recomputing() {
    PlanOptions again = quick_;
    again.allow = again.allow.with(Choice::recompute);
    list_.push_back({.what = "allowing recompute",
                     .graph =
                         [this](std::int64_t) {
                           return prepare_graph(lowered(call_.traced, options_.lossy),
                                                options_.program.skip_optimisations, nullptr, 0,
                                                target_of(quick_));
                         },
                     .options = std::move(again),
                     .seconds = call_.seconds});
  }

  void lossy_copies() {
    constexpr double error = 4e-3;  // enough for 8 bits
    list_.push_back(
        {.what = fmt::format("allowing lossy copies for the backward pass, {{.error = {}}},", error),
         .graph =
             [this](std::int64_t) {
               const MarkedReads marked(StandIns::lossy);
               return prepared(here_.trace(here_.types), Lossy{error});
             },
         .options = quick_,
         .seconds = call_.seconds});
  }

  void fewer_demands() {
    if (quick_.fixed_order) {
      PlanOptions free = quick_;
      free.fixed_order = false;
      list_.push_back({.what = "leaving the order free", .graph = same_graph(), .options = std::move(free)});
    }
    if (!call_.traced.hints().empty() || !call_.traced.checkpoints().empty()) {
      PlanOptions unhinted = quick_;
      unhinted.skip.emplace_back("hints");
      list_.push_back(
          {.what = "planning without the hints", .graph = same_graph(), .options = std::move(unhinted)});
    }
    if (!options_.effort.seconds && plan_options(options_).effort.factor < Effort::normal.factor) {
      PlanOptions normal = quick_;
      normal.effort = Effort::normal;
      normal.floor = true;
      list_.push_back({.what = "normal effort", .graph = same_graph(), .options = std::move(normal)});
    }
  }

  const Unplannable& call_;
  const CompileOptions& options_;
  TracedFunction here_;
  PlanOptions quick_;
  const std::int64_t loops_;
  std::vector<Proposal> list_;
};

}  // namespace

std::vector<std::string> changes_for(const Unplannable& call) {
  Changes changes(call);
  return changes_that_fit(changes.list(), target_of(plan_options(call.options)));
}

}  // namespace tidemark
