#include "tidemark/engine/saved_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/base/text_file.h"
#include "tidemark/engine/loop_folder.h"
#include "tidemark/engine/micro_batches.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/prepare_graph.h"
#include "tidemark/engine/state_safety.h"
#include "tidemark/ir/print.h"
#include "tidemark/plan/report/plan_hash.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark {
namespace {

// Without names, lines and hints.
Graph bare(const Graph& graph) {
  Graph made;
  std::vector<ValueId> image(graph.values().size());
  const auto images = [&](const std::vector<ValueId>& values) {
    std::vector<ValueId> list;
    for (const ValueId v : values) list.push_back(image[v.index]);
    return list;
  };
  for (const Input& input : graph.inputs())
    image[input.value.index] = made.add_input(graph.type(input.value), {}, input.donated);
  for (const Node& node : graph.nodes()) {
    std::vector<Type> types;
    for (const ValueId v : node.results) types.push_back(graph.type(v));
    Node copy{.op = node.op,
              .operands = images(node.operands),
              .results = {},
              .attrs = node.attrs,
              .regions = {},
              .where = {}};
    for (const Graph& region : node.regions) copy.regions.push_back(bare(region));
    const NodeId added = made.add_node(std::move(copy), types);
    for (std::size_t r = 0; r < node.results.size(); ++r)
      image[node.results[r].index] = made[added].results[r];
  }
  for (const ValueId v : graph.outputs()) made.add_output(image[v.index]);
  return made;
}

// Equal ones in a row as one: "6 × f32[32, 32], f32[64, 32]".
std::string types_text(const Graph& graph, const std::vector<ValueId>& values) {
  constexpr int most = 8;
  std::string text;
  std::size_t i = 0;
  for (int shown = 0; i < values.size() && shown < most; ++shown) {
    const Type& type = graph.type(values[i]);
    const std::size_t first = i;
    while (i < values.size() && graph.type(values[i]) == type) ++i;
    if (first > 0) text += ", ";
    text += i - first == 1 ? to_string(type) : fmt::format("{} × {}", i - first, to_string(type));
  }
  return i < values.size() ? fmt::format("{}, … {} in all", text, values.size()) : text;
}

std::string described(const Graph& graph) {
  std::vector<ValueId> inputs;
  for (const Input& input : graph.inputs()) inputs.push_back(input.value);
  return fmt::format("({}) -> ({}), {} nodes", types_text(graph, inputs), types_text(graph, graph.outputs()),
                     graph.nodes().size());
}

std::int64_t limit_of(std::int64_t bytes) { return bytes == unlimited_memory ? -1 : bytes; }
std::int64_t bytes_of(std::int64_t limit) { return limit < 0 ? unlimited_memory : limit; }

LoopMemory loops_of(const PlanOrigin& origin) {
  LoopMemory memory;
  memory.several_steps = origin.several_steps;
  for (const PlanOrigin::Loop& loop : origin.loops) {
    memory.limits.push_back({.own = bytes_of(loop.own),
                             .inside = bytes_of(loop.inside),
                             .segments = loop.segments,
                             .again = loop.again,
                             .on_disk = loop.on_disk});
  }
  return memory;
}

[[noreturn]] void refuse_file(const std::string& path, std::string what, SourceLine where,
                              std::string expected = "a plan that save_plan wrote of this function") {
  fail(ErrorCode::bad_plan_file,
       {.what = fmt::format("the plan in {} {}", path, what),
        .expected = std::move(expected),
        .where = where,
        .help = "compile without `plans`, call the function once and save its plan again"});
}

[[noreturn]] void refuse_options(const std::string& path, std::string what, std::string expected,
                                 SourceLine where) {
  fail(ErrorCode::bad_plan_option, {.what = fmt::format("the plan in {} {}", path, what),
                                    .expected = std::move(expected),
                                    .where = where});
}

// What waits for the backward pass, as far as the options and the values themselves allow it.
BackwardValues values_of(const PlanOrigin& origin, const Graph& traced, const CompileOptions& options,
                         const std::string& path, SourceLine where) {
  const double error = options.lossy ? options.lossy->error : 0;
  if (origin.drift > error)
    refuse_options(path, fmt::format("has forward values that are off by up to {}", origin.drift),
                   fmt::format("lossy copies to be allowed: {{.lossy = {{{{{}}}}}}}", origin.drift), where);
  if (static_cast<std::size_t>(origin.undone) > invertible_calls(traced, origin.drift))
    refuse_file(path, fmt::format("undoes {} couplings, and there are fewer", origin.undone), where);
  BackwardValues values{
      .undone = static_cast<std::size_t>(origin.undone), .forms = {}, .drift = origin.drift};
  const Graph undone = lower_inverses(traced, values.undone, values.drift);
  const std::vector<Residual> residuals = residuals_of(undone);
  if (origin.forms.size() != residuals.size())
    refuse_file(
        path,
        fmt::format("has forms of {} values, and {} may have one", origin.forms.size(), residuals.size()),
        where);
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const std::string& name = origin.forms[i];
    const Residual& residual = residuals[i];
    std::optional<Form> form;
    if (!name.empty()) {
      form = form_named(name);
      const Type& type = residual.graph->type(residual.value);
      if (!form || !may_wait_in(residual, *form))
        refuse_file(path,
                    fmt::format("has a value of {} wait as `{}`, which it cannot", to_string(type), name),
                    where);
      const bool lossless = is_exact(*form) || form == residual.asked;
      if (!lossless && (!residual.tolerant || error_of(*form, type.dtype) > error))
        refuse_options(
            path,
            fmt::format("has values wait as `{}`, with an error of {}", name, error_of(*form, type.dtype)),
            "lossy copies with such an error to be allowed: {.lossy = {{…}}}", where);
    }
    values.forms.push_back(form);
  }
  return values;
}

std::int64_t micro_batches_of(const PlanOrigin& origin, const CompileOptions& options,
                              const std::string& path, SourceLine where) {
  const Accumulate& asked = options.accumulate;
  if (!asked.is_automatic && asked.count != origin.micro_batches)
    refuse_options(path, fmt::format("computes the batch in {} micro-batches", origin.micro_batches),
                   fmt::format("as many to be asked for: {{.accumulate = {}}}, and not {}",
                               origin.micro_batches, asked.count),
                   where);
  return origin.micro_batches;
}

// The memories beside the first: those that the options give, in that order, and no more of each.
void fit_memories(Plan& plan, const Graph& traced, const CompileOptions& options, const std::string& path,
                  SourceLine where) {
  std::vector<TierBudget> tiers = plan_options(options).tiers;
  const bool of_loops = tiers.empty() && loop_folder(traced) && !options.device;
  if (of_loops && !plan.further.empty())
    tiers.push_back({std::string(disk_memory_name), plan.further[0].budget});
  for (std::size_t m = 0; m < plan.further.size(); ++m) {
    PlanMemory& memory = plan.further[m];
    if (m >= tiers.size() || tiers[m].memory != memory.name)
      refuse_options(path, fmt::format("has values wait in the memory `{}`", memory.name),
                     memory.name == disk_memory_name ? "a disk: {.disk = {{\"/scratch\", 20_GiB}}, …}"
                                                     : "memory of the host: {.host = 16_GiB, …}",
                     where);
    if (memory.peak() > tiers[m].bytes)
      fail(ErrorCode::infeasible_budget,
           {.what = fmt::format("the plan in {} takes {} of the memory `{}`", path,
                                to_string(Bytes(memory.peak())), memory.name),
            .expected = fmt::format("at most {}", to_string(Bytes(tiers[m].bytes))),
            .where = where});
    memory.budget = tiers[m].bytes;
  }
}

// From what was traced, by the decisions that are recorded.
Graph prepared_by(const std::string& path, const PlanOrigin& origin, const Graph& traced,
                  const PlannedFunction& made, const CompileOptions& options, const Target& target,
                  SourceLine where) {
  const std::vector<std::string>& skip = options.program.skip_optimisations;
  const Graph unlowered = prepare_unlowered(lower_backward_values(traced, made.values), skip, target);
  if (!origin.loops.empty() && origin.loops.size() != loop_modes(unlowered).size())
    refuse_file(path,
                fmt::format("decides about {} loops, and there are {}", origin.loops.size(),
                            loop_modes(unlowered).size()),
                where);
  Graph graph;
  try {
    graph = prepare_lowered(unlowered, skip, nullptr, made.loops, target);
  } catch (const InternalError&) {  // decisions that no search takes
    refuse_file(path, "decides what these loops cannot do", where);
  }
  for (const std::int64_t input : origin.undonated) {
    if (input < std::ssize(graph.inputs())) graph.inputs()[static_cast<std::size_t>(input)].donated = false;
  }
  const std::string name = fingerprint_of(graph);
  if (name == origin.prepared) return graph;
  fail(ErrorCode::bad_plan_file,
       {.what = fmt::format("the plan in {} is of the graph {}, and this function was made into {}", path,
                            origin.prepared, name),
        .expected = "a plan that the same version of the library wrote, with the same skip_optimisations",
        .where = where,
        .help = "compile without `plans`, call the function once and save its plan again"});
}

}  // namespace

std::string fingerprint_of(const Graph& graph) {
  const std::string text = print(bare(graph));
  return hash_text(schedule::checksum(std::as_bytes(std::span(text)), 1));
}

PlanOrigin origin_of(const Graph& traced, const PlannedFunction& planned) {
  PlanOrigin origin{.traced = fingerprint_of(traced),
                    .prepared = fingerprint_of(planned.graph),
                    .function = described(traced),
                    .micro_batches = planned.micro_batches.count,
                    .undone = static_cast<std::int64_t>(planned.values.undone),
                    .drift = planned.values.drift};
  for (const std::optional<Form>& form : planned.values.forms)
    origin.forms.push_back(form ? name_of(*form) : "");
  origin.several_steps = planned.loops.several_steps;
  for (const LoopLimit& limit : planned.loops.limits) {
    origin.loops.push_back({.own = limit_of(limit.own),
                            .inside = limit_of(limit.inside),
                            .segments = limit.segments,
                            .again = limit.again,
                            .on_disk = limit.on_disk});
  }
  for (std::size_t i = 0; i < traced.inputs().size(); ++i) {
    if (traced.inputs()[i].donated && !planned.graph.inputs()[i].donated)
      origin.undonated.push_back(static_cast<std::int64_t>(i));
  }
  return origin;
}

SavedPlans::SavedPlans(const std::vector<std::string>& paths, SourceLine where) {
  for (const std::string& path : paths) {
    PlanFile file;
    try {
      file = plan_file_from_json(read_text_file(path, "a plan"));
    } catch (const Error& error) {
      ErrorParts parts = error.parts();
      if (error.code() == ErrorCode::bad_plan_file) parts.what = fmt::format("{}: {}", path, parts.what);
      parts.where = where;
      parts.help = "save_plan(path) of a compiled function that was called writes one";
      fail(error.code(), std::move(parts));
    }
    if (!file.origin.known())
      refuse_file(path, "does not say which function it is of", where, "the field `origin`");
    files_.push_back({path, std::move(file.plan), std::move(file.origin)});
  }
}

PlannedFunction SavedPlans::made_from(const File& file, const TracedFunction& function, const Graph& traced,
                                      const CompileOptions& options, SourceLine where) {
  const PlanOptions search = plan_options(options);
  const Target& target = target_of(search);
  if (file.plan.target != target.name)
    refuse_options(file.path, fmt::format("is for `{}`", file.plan.target),
                   fmt::format("one for `{}`, where this function runs", target.name), where);
  PlannedFunction made{.graph = {}, .plan = file.plan};
  const std::int64_t count = micro_batches_of(file.origin, options, file.path, where);
  const CutFunction cut = count > 1 ? cut_function(function, traced, options, count, where)
                                    : CutFunction{function, traced, options, {}};
  made.micro_batches = cut.micro_batches;
  made.values = values_of(file.origin, cut.traced, options, file.path, where);
  made.loops = loops_of(file.origin);
  made.graph = prepared_by(file.path, file.origin, cut.traced, made, options, target, where);
  fit_memories(made.plan, traced, options, file.path, where);
  made.plan.budget = options.memory ? options.memory->count : 0;
  const std::vector<std::string> wrong = problems(made.graph, made.plan, target);
  if (!wrong.empty()) refuse_file(file.path, fmt::format("is not right: {}", wrong[0]), where);
  if (!inputs_at_risk(made.graph, made.plan).empty())
    refuse_file(file.path, "overwrites what is donated while calls can still fail", where);
  made.reserve = made.plan.arena_bytes;
  return made;
}

PlannedFunction SavedPlans::planned(const TracedFunction& function, const Graph& traced,
                                    const CompileOptions& options, SourceLine where) const {
  const std::string name = fingerprint_of(traced);
  std::vector<const File*> list;
  for (const File& file : files_) {
    if (file.origin.traced == name) list.push_back(&file);
  }
  if (list.empty()) {
    std::vector<std::string> notes;
    for (const File& file : files_)
      notes.push_back(fmt::format("{} is of {}: {}", file.path, file.origin.traced, file.origin.function));
    notes.push_back(fmt::format("this call is of {}: {}", name, described(traced)));
    fail(ErrorCode::bad_plan_file,
         {.what = "none of the files in `plans` has a plan of this function with these arguments",
          .expected = "a plan of the same graph: the same operations on the same types, in the same order",
          .where = where,
          .help = "save the plan of such a call, and name its file too: {.plans = {\"a.json\", \"b.json\"}}",
          .notes = std::move(notes)});
  }
  const std::optional<Bytes> memory = memory_beside_held(options, traced);
  const auto peak = [](const File* file) { return file->plan.peak(); };
  if (const File* const least = *std::ranges::min_element(list, {}, peak);
      memory && peak(least) > memory->count)
    fail(ErrorCode::infeasible_budget,
         {.what = fmt::format("the plan in {} takes {} ({} bytes)", least->path,
                              to_string(Bytes(peak(least))), peak(least)),
          .expected = fmt::format("at most the budget, {} ({} bytes)", to_string(*memory), memory->count),
          .where = where,
          .help = "give that much, or save the plan of a call with this budget"});
  std::erase_if(list, [&](const File* file) { return memory && peak(file) > memory->count; });
  const File& file = **std::ranges::min_element(list, {}, [](const File* f) { return f->plan.seconds; });
  return made_from(file, function, traced, options, where);
}

}  // namespace tidemark
