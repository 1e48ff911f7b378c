#include "tidemark/engine/local_function.h"

#include <fmt/format.h>

#include "tidemark/engine/disk_loop_search.h"
#include "tidemark/engine/micro_batches.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/print.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark {

FunctionCall::FunctionCall() = default;
FunctionCall::~FunctionCall() = default;

std::unique_ptr<CompiledFunction> make_function(const CompileOptions& options, SourceLine where) {
  return std::make_unique<LocalFunction>(options, where);
}

namespace {

// Of all that a graph's plan and its errors depend on.
GraphHash hash_of(const Graph& traced) {
  const std::string text = print(traced);
  const std::span bytes = std::as_bytes(std::span(text));
  return {hash_graph(traced), schedule::checksum(bytes, 1), schedule::checksum(bytes, 2)};
}

// What a plan was made with, for reports that plan again: the caller's own functions are not asked then.
std::shared_ptr<const CompileOptions> options_to_report(const CompileOptions& options, const Graph& traced) {
  auto kept = std::make_shared<CompileOptions>(options);
  kept->memory = memory_beside_held(options, traced);
  kept->memory_left = {};
  kept->progress = {};
  kept->stop = {};
  return kept;
}

// What plans of one function differ by.
std::string key_of_budget(const CompileOptions& options) {
  if (!options.memory) return "";
  return fmt::format("|{}{}", options.memory->count, options.disk ? "|disk" : "");
}

StandIns stand_ins(const CompileOptions& options) {
  if (!options.allow.has(Choice::compress)) return StandIns::none;
  return options.lossy ? StandIns::lossy : StandIns::exact;
}

std::string key_of_forms(const std::vector<SourceLine>& refused) {
  std::string key;
  for (const SourceLine& line : refused) key += fmt::format("|without {}:{}", line.file, line.line);
  return key;
}

// For other types than the caller's: if the user's code refuses them with an exception of its own, that is no
// failure of the caller's call, but an answer.
TracedCall<std::any> traced_as_a_trial(const FunctionCall& call, std::span<const Type> types,
                                       SourceLine where) {
  const auto refused = [&](std::string_view why) {
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("the function cannot be traced for another batch: {}", why), .where = where});
  };
  try {
    return call.trace_types(types);
  } catch (const Error&) {
    throw;
  } catch (const InternalError&) {
    throw;
  } catch (const std::exception& error) {
    refused(error.what());
  } catch (...) {
    refused("it threw something that is no std::exception");
  }
  return {};
}

}  // namespace

void ReplaceByTypes::on_tensor(Tensor& tensor) { tensor = Tensor::of_type(types_[next_++]); }

void EmptyTensors::on_tensor(Tensor& tensor) { tensor = Tensor(); }

void FixedKey::begin_argument(const void* type) { on_fixed(fmt::format("{}", fmt::ptr(type))); }
void FixedKey::end_argument() { call_.argument_ends.push_back(call_.tensors.size()); }
void FixedKey::on_tensor(Tensor& tensor) { call_.tensors.push_back(tensor); }

void FixedKey::on_fixed(std::string_view text) {
  fmt::format_to(std::back_inserter(call_.fixed), "{}:{}", text.size(), text);
}

// Each part with its length in front, so that no text can end early and pass for two.
std::string FunctionCall::key() const {
  std::string key = fmt::format("{}:{}", fixed.size(), fixed);
  for (std::size_t end : argument_ends) key += fmt::format("{},", end);
  for (const Tensor& tensor : tensors) {
    const std::string type = tensor.empty() ? "" : to_string(tensor.type());
    key += fmt::format("{}:{}", type.size(), type);
  }
  return key;
}

TracedCall<std::any> LocalFunction::traced(const FunctionCall& call, bool to_run) const {
  check_options(options_, call.argument_ends.size(), where_, to_run);
  const MarkedReads marked(stand_ins(options_));
  const std::vector<SourceLine> lines = refused_forms();
  const RefusedForms refused(lines);
  TracedCall<std::any> traced = call.trace();
  traced.mark_donated(options_.donate);
  return traced;
}

TracedFunction LocalFunction::function_of(const FunctionCall& call, const std::string& captures) const {
  TracedFunction function;
  for (const Tensor& tensor : call.tensors) function.types.push_back(tensor.type());
  function.argument_ends = call.argument_ends;
  function.donated.assign(call.argument_ends.size(), false);
  for (int a : options_.donate) function.donated[static_cast<std::size_t>(a)] = true;
  function.fixed = call.fixed + captures;
  function.trace = [this, &call](std::span<const Type> types) {
    const MarkedReads marked(stand_ins(options_));
    const std::vector<SourceLine> lines = refused_forms();
    const RefusedForms refused(lines);
    TracedCall<std::any> traced = traced_as_a_trial(call, types, where_);
    traced.mark_donated(options_.donate);
    return std::move(*traced.graph);
  };
  return function;
}

std::shared_ptr<CompiledCall> LocalFunction::find(const std::string& key, std::vector<Tensor>& inputs) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<CompiledCall> found = calls_.find(key, inputs);
  if (found) latest_ = found;
  return found;
}

// Traced before for another budget, or now; without a program. Appends the captured tensors to `inputs`.
std::shared_ptr<CompiledCall> LocalFunction::traced_call(const FunctionCall& call,
                                                         const std::string& arguments,
                                                         std::vector<Tensor>& inputs) {
  auto made = std::make_shared<CompiledCall>();
  {
    const std::lock_guard lock(mutex_);
    if (const std::shared_ptr<CompiledCall> known = calls_.find_traced(arguments, inputs)) {
      *made = *known;
      made->program.reset();
      return made;
    }
  }
  TracedCall<std::any> trace = traced(call);
  const std::span<const Tensor> captured =
      std::span<const Tensor>(trace.inputs).subspan(trace.inputs.size() - trace.captured.size());
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  made->captures = Captures(captured, trace.captured, trace.reads);
  if (options_.device) made->captures.move_constants(device_, where_);
  made->result = std::move(trace.result);
  made->graph_hash = hash_of(*trace.graph);
  made->arguments = arguments;
  made->traced = std::move(trace.graph);
  return made;
}

// Traced and planned before, or now. Appends the captured tensors to `inputs`.
std::shared_ptr<CompiledCall> LocalFunction::planned(const FunctionCall& call, std::vector<Tensor>& inputs) {
  const CompileOptions options = options_now();
  const std::string forms = key_of_forms(refused_forms());
  const std::string arguments = call.key() + forms;
  const std::string budget = key_of_budget(options);
  const std::string key = arguments + budget;
  if (std::shared_ptr<CompiledCall> found = find(key, inputs)) return found;
  const std::lock_guard planning(planning_);
  if (std::shared_ptr<CompiledCall> found = find(key, inputs)) return found;  // planned meanwhile
  const std::shared_ptr<CompiledCall> made = traced_call(call, arguments, inputs);
  {
    const std::lock_guard lock(mutex_);
    made->program = calls_.find_program(key, made->graph_hash);
  }
  if (!made->program) {
    TracedFunction function = function_of(call, made->captures.signature());
    function.fixed += forms + budget;
    PlannedFunction planned = at_line(where_, [&] {
      return saved_.empty() ? plan_function(function, *made->traced, options, largest_, where_)
                            : saved_.planned(function, *made->traced, options, where_);
    });
    PlanOrigin origin = origin_of(*made->traced, planned);
    if (const auto folder = loop_folder(*made->traced); folder && !planned.plan.further.empty())
      use_folder(*folder);
    made->program =
        std::make_shared<Program>(std::move(planned.graph), std::move(planned.plan), workspace_,
                                  planned.reserve, std::move(planned.values), planned.micro_batches,
                                  std::move(origin), options_to_report(options, *made->traced));
  }
  if (!options.memory) made->traced.reset();
  const std::lock_guard lock(mutex_);
  calls_.insert(key, made);
  latest_ = made;
  return made;
}

CompileOptions LocalFunction::options_now() const {
  CompileOptions options = options_;
  if (options.memory) options.memory = Bytes(memory_.load());
  if (options.disk && disk_failure()) {
    options.disk.reset();
    options.allow = options.allow.without(Choice::disk);  // loops do without it too
  }
  return options;
}

void LocalFunction::set_memory(Bytes memory, SourceLine where) {
  if (!options_.memory) {
    fail(ErrorCode::bad_plan_option,
         {.what = "a budget was set for a function that was compiled without one",
          .where = where,
          .help = "compile it with the largest budget it will have: {.memory = 1_GiB}"});
  }
  if (memory.count <= 0) {
    fail(ErrorCode::bad_plan_option, {.what = fmt::format("a budget of {} bytes", memory.count),
                                      .expected = "more than nothing, such as 64_MiB",
                                      .where = where});
  }
  limit_ = memory.count;
  use_memory(memory.count, where);
}

void LocalFunction::use_memory(std::int64_t bytes, SourceLine where) {
  if (memory_.exchange(bytes) > bytes) Workspace::Lease(*workspace_, where).release();
}

// Budgets lie at fixed ratios below the one that was given or set, so that few plans serve whatever is left.
void LocalFunction::follow_memory_left() {
  if (!options_.memory_left || !options_.memory) return;
  const std::int64_t left = options_.memory_left().count;
  std::int64_t budget = limit_.load();
  while (budget > std::max<std::int64_t>(left, 1)) budget -= (budget + 7) / 8;
  if (budget > 0 && budget != memory_.load()) use_memory(budget, where_);
}

SmallestBudget LocalFunction::smallest(const FunctionCall& call) const {
  const CutFunction cut = cut_to_report(function_of(call, ""), *traced(call, false).graph, options_now(),
                                        OpenCount::most, where_);
  return smallest_budget(cut.traced, cut.options);
}

std::vector<FrontierPoint> LocalFunction::frontier(const FunctionCall& call, int points) const {
  const CutFunction cut =
      cut_to_report(function_of(call, ""), *traced(call, false).graph, options_now(), OpenCount::one, where_);
  return frontier_points(cut.traced, cut.options, points);
}

std::optional<Footprint> LocalFunction::footprint(const FunctionCall& call) {
  std::vector<Tensor> captured;
  const std::shared_ptr<const Program> program = planned(call, captured)->program;
  const TracedFunction function = function_of(call, "");
  const std::int64_t count = program->micro_batches().count;
  if (count == 1) return footprint_of(function, options_now(), *program, where_);
  const CutFunction cut = cut_function(function, *traced(call).graph, options_now(), count, where_);
  return footprint_of(cut.function, cut.options, *program, where_);
}

SizedPeak LocalFunction::peak(const FunctionCall& call) const {
  const CompileOptions options = options_now();
  if (options.memory) {
    fail(ErrorCode::bad_plan_option,
         {.what = "formulas of the peak were asked for, and there is a budget: that is the peak",
          .where = where_,
          .help = "compile it without .memory; .footprint() says what this plan takes for other batches"});
  }
  LargestPlans largest;
  const PlannedFunction planned =
      plan_function(function_of(call, ""), *traced(call, false).graph, options, largest, where_);
  return sized_peak(planned.graph, planned.plan);
}

std::vector<MemoryPrice> LocalFunction::prices(const FunctionCall& call) {
  const CompileOptions options = options_now();
  if (!options.memory) {
    fail(ErrorCode::bad_plan_option, {.what = "prices of memory were asked for, and there is no budget",
                                      .where = where_,
                                      .help = "compile it with one: {.memory = 1_GiB}"});
  }
  std::vector<Tensor> captured;
  const std::int64_t count = planned(call, captured)->program->micro_batches().count;
  const Graph whole = std::move(*traced(call).graph);
  const Graph graph =
      count == 1 ? whole : cut_function(function_of(call, ""), whole, options, count, where_).traced;
  CompileOptions beside_held = options;
  beside_held.memory = memory_beside_held(options, whole);
  std::optional<SearchControl> control = control_for(options);
  std::vector<MemoryPrice> prices =
      memory_prices(graph, options.lossy, options.program.skip_optimisations,
                    plan_options(beside_held, control ? &*control : nullptr), where_);
  if (control) control->finish();
  return prices;
}

GradientError LocalFunction::gradient_error(const FunctionCall& call) {
  std::vector<Tensor> captured;
  const std::shared_ptr<const Program> program = planned(call, captured)->program;
  TracedCall<std::any> trace = traced(call);
  const std::int64_t count = program->micro_batches().count;
  if (count > 1)
    *trace.graph = cut_function(function_of(call, ""), *trace.graph, options_now(), count, where_).traced;
  return gradient_error_of(std::move(*trace.graph), trace.inputs, program->backward_values(),
                           options_.program.skip_optimisations, device_, program->target(), where_);
}

std::shared_ptr<const Program> LocalFunction::latest(SourceLine where, std::string_view asked_for) const {
  const std::lock_guard lock(mutex_);
  if (latest_) return latest_->program;
  fail(ErrorCode::structure_mismatch,
       {.what = fmt::format("a compiled function was asked for its {} before its first call", asked_for),
        .where = where,
        .help = asked_for == "plan" ? "call it once, or prepare(arguments…) it, which plans without running"
                                    : "call it first; a profile needs record_profile() before the calls"});
}

PlannedGraph LocalFunction::plan(SourceLine where) const {
  const std::shared_ptr<const Program> program = latest(where, "plan");
  return {program->graph(), program->plan(), program};
}

Bytes LocalFunction::arena_high_water(SourceLine where) const {
  return Bytes(latest(where, "use of memory")->arena_high_water());
}

void LocalFunction::record_profile(bool on) {
  const std::lock_guard lock(mutex_);
  recording_ = on ? ++sessions_ : 0;
}

Profile LocalFunction::profile(SourceLine where) const {
  const std::shared_ptr<const Program> program = latest(where, "profile");
  int session = 0;
  {
    const std::lock_guard lock(mutex_);
    session = sessions_;
  }
  const PlanOptions options = plan_options(options_, nullptr);
  Machine machine = options.machine ? *options.machine : reference_machine();
  const auto is_disk = [](const PlanMemory& memory) { return memory.name == disk_memory_name; };
  if (std::ranges::any_of(program->plan().further, is_disk)) machine = with_disk(std::move(machine));
  if (std::optional<Profile> profile = program->profile(session, machine)) return *std::move(profile);
  fail(ErrorCode::structure_mismatch,
       {.what = session == 0 ? "a compiled function was asked for its profile, and nothing was recorded"
                             : "no call was recorded of the types of the latest one",
        .where = where,
        .help = "record_profile() before the calls; a call that fails is not recorded"});
}

void LocalFunction::forget() {
  const std::scoped_lock lock(planning_, mutex_);
  calls_.clear();
  largest_.clear();
  latest_.reset();
}

}  // namespace tidemark
