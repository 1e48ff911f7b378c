#include "tidemark/engine/micro_batches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tidemark/base/error.h"
#include "tidemark/engine/inverse_search.h"
#include "tidemark/ops/registry.h"
#include "tidemark/opt/split_batch.h"

namespace tidemark {
namespace {

std::vector<std::int64_t> divisors(std::int64_t batch) {
  std::vector<std::int64_t> list;
  for (std::int64_t d = 1; d * d <= batch; ++d) {
    if (batch % d != 0) continue;
    list.push_back(d);
    if (d * d != batch) list.push_back(batch / d);
  }
  std::ranges::sort(list);
  return list;
}

BatchAxis batch_of(const TracedFunction& function, const CompileOptions& options, SourceLine where) {
  std::optional<BatchAxis> axis = find_batch(function, options.batch_arguments, where);
  if (axis && axis->size > 0) return *std::move(axis);
  fail(ErrorCode::bad_plan_option,
       {.what = "accumulate was given, and no argument holds a batch",
        .expected =
            "an argument, not donated, whose tensors share their first axis, and a function that can be "
            "traced with another length of it",
        .where = where,
        .help = "name the arguments: batch_arguments = {…}; tensors that have the batch are arguments, not "
                "captured"});
}

std::vector<int> arguments_with(const BatchAxis& axis, const TracedFunction& function) {
  std::vector<int> list;
  for (std::size_t a = 0; a < function.argument_ends.size(); ++a) {
    const std::size_t first = function.argument_begin(a);
    if (first < function.argument_ends[a] && axis.has[first]) list.push_back(static_cast<int>(a));
  }
  return list;
}

void check_count(std::int64_t batch, std::int64_t count, SourceLine where) {
  if (count <= batch && batch % count == 0) return;
  std::vector<std::int64_t> some = divisors(batch);
  constexpr std::size_t most = 12;
  const bool more = some.size() > most;
  some.resize(std::min(some.size(), most));
  fail(ErrorCode::bad_plan_option,
       {.what =
            fmt::format("accumulate: a batch of {} cannot be cut into {} equal micro-batches", batch, count),
        .expected = fmt::format("a number that divides it: {}{}", fmt::join(some, ", "), more ? ", …" : ""),
        .where = where,
        .help = "fill the batch up with examples of weight 0, or let the budget choose: "
                "{.accumulate = td::automatic}"});
}

// The function for a micro-batch of these types. A failure is told as what it means here.
Graph traced_small(const TracedFunction& function, std::span<const Type> types, std::int64_t examples,
                   SourceLine where) {
  try {
    return function.trace(types);
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("accumulate: the function cannot be computed for a micro-batch of {}: {}",
                              examples, parts.what),
          .expected = parts.expected,
          .where = parts.where.known() ? parts.where : where,
          .help = "pass tensors that have the batch as arguments, and name those: batch_arguments = {…}"});
  }
}

Graph cut_graph(const TracedFunction& function, std::span<const Type> types, const Graph& full,
                const BatchAxis& axis, std::int64_t count, SourceLine where) {
  std::int64_t batch = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (axis.has[i]) batch = types[i].shape[0];
  }
  check_count(batch, count, where);
  const std::int64_t examples = batch / count;
  const Graph small = traced_small(function, axis.resized(types, examples), examples, where);
  std::vector<bool> batched = axis.has;
  batched.resize(full.inputs().size(), false);  // what is captured has none
  return split_batch({.full = full, .small = small, .batched = batched, .parts = count, .where = where},
                     find_op);
}

CutFunction cut_along(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                      const BatchAxis& axis, std::int64_t count, SourceLine where) {
  CutFunction cut{function, traced, options, {}};
  cut.options.accumulate = count;
  if (count == 1) return cut;
  cut.traced = cut_graph(function, function.types, traced, axis, count, where);
  cut.function.trace = [function, axis, count, where](std::span<const Type> types) {
    return cut_graph(function, types, function.trace(types), axis, count, where);
  };
  cut.options.batch_arguments = arguments_with(axis, function);
  cut.micro_batches = {.count = count, .examples = axis.size / count};
  return cut;
}

// Cut into as many as there may be: with a single example per micro-batch some functions do something else.
CutFunction cut_finest(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                       const BatchAxis& axis, SourceLine where) {
  std::vector<std::int64_t> counts = micro_batch_counts(axis.size);
  for (; counts.size() > 1; counts.pop_back()) {
    try {
      return cut_along(function, traced, options, axis, counts.back(), where);
    } catch (const Error&) {
      if (counts.size() == 2) throw;  // not even in the fewest: that says why
    }
  }
  return cut_along(function, traced, options, axis, 1, where);
}

}  // namespace

std::vector<std::int64_t> micro_batch_counts(std::int64_t batch) {
  std::vector<std::int64_t> list;
  for (std::int64_t d : divisors(batch)) {
    if (list.empty() || 2 * d >= 3 * list.back() || d == batch) list.push_back(d);
  }
  return list;
}

JudgedCuts judged_cuts(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                       SearchControl* control, SourceLine where) {
  constexpr double no_time = 1e-3;  // a share of it that is not worth cutting the batch for
  const BatchAxis axis = batch_of(function, options, where);
  JudgedCuts cuts;
  std::vector<JudgedCut>& list = cuts.list;
  if (!options.memory) {
    list.push_back({cut_along(function, traced, options, axis, 1, where), 0, 0});
    return cuts;
  }
  const std::vector<std::int64_t> counts = micro_batch_counts(axis.size);
  CompileOptions beside_held = options;
  beside_held.memory = memory_beside_held(options, traced);
  PlanOptions quick = plan_options(beside_held, control);
  quick.one_round = true;
  quick.effort = quick.effort.at_most(Effort::quick);
  quick.floor = false;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::optional<CutFunction> cut;
    try {
      cut = cut_along(function, traced, options, axis, counts[i], where);
    } catch (const Error&) {  // what cannot be cut is computed as a whole, if that fits
      if (!cuts.why_not) cuts.why_not = std::current_exception();
      continue;
    }
    const TimeShare share(control, 0.5 / static_cast<double>(counts.size() - i));
    const PlanWithValues planned =
        plan_with_values(cut->traced, options.lossy, options.program.skip_optimisations, quick);
    const Plan& plan = planned.plan ? planned.plan.value() : planned.plan.error().smallest;
    const double seconds = planned.plan ? plan.seconds : std::numeric_limits<double>::infinity();
    list.push_back({*std::move(cut), seconds, plan.least_seconds});
    if (counts[i] == 1 && planned.plan && plan.extra_time() < no_time) break;
  }
  std::ranges::reverse(list);
  std::ranges::stable_sort(list, {}, &JudgedCut::seconds);
  if (list.size() > 1) cuts.why_not = {};
  return cuts;
}

CutFunction cut_function(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                         std::int64_t count, SourceLine where) {
  return cut_along(function, traced, options, batch_of(function, options, where), count, where);
}

CutFunction cut_to_plan(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                        SearchControl* control, SourceLine where) {
  if (!options.accumulate.is_automatic)
    return cut_function(function, traced, options, options.accumulate.count, where);
  JudgedCuts cuts = judged_cuts(function, traced, options, control, where);
  if (cuts.why_not && std::isinf(cuts.list.front().seconds)) std::rethrow_exception(cuts.why_not);
  return std::move(cuts.list.front().cut);
}

CutFunction cut_to_report(const TracedFunction& function, const Graph& traced, const CompileOptions& options,
                          OpenCount otherwise, SourceLine where) {
  if (options.accumulate.is_plain()) return {function, traced, options, {}};
  if (options.accumulate.is_automatic && otherwise == OpenCount::most) {
    const BatchAxis axis = batch_of(function, options, where);
    try {
      return cut_finest(function, traced, options, axis, where);
    } catch (const Error&) {  // it is computed as a whole, and so it is reported
      return cut_along(function, traced, options, axis, 1, where);
    }
  }
  return cut_to_plan(function, traced, options, nullptr, where);
}

}  // namespace tidemark
