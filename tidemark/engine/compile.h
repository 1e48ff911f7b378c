// compile(f): a function that is traced and planned at its first call for each set of argument types, then reused. What f
// uses from outside it reads at every call, as f itself would (captures.h).
//
//   auto step = td::compile(td::value_and_grad(loss), {.memory = 64_MiB});
//   auto [value, grads] = step(params, x, y);
//   fmt::print("{}", step.plan().summary());
//
// Any number of threads may call it at once. With a budget they take turns, so that it is kept; without one they run side by
// side, each in an arena of its own. A call of types that are planned does not wait for the planning of others.
#pragma once
#include <string>
#include <typeindex>

#include "tidemark/engine/function_state.h"
#include "tidemark/engine/session.h"
#include "tidemark/ops/control/loop_forecast.h"
#include "tidemark/trace/traced_call.h"

namespace tidemark {

// A plan together with the graph it is for.
struct PlannedGraph {
  const Graph& graph;
  const Plan& plan;
  std::string summary() const;
  // Of results that a call hands out beside the caller's own memory: while they are held, later calls take as much more.
  Bytes handed_out() const;
  // What reversing its loops takes; without those that keep everything.
  std::vector<LoopForecast> loops() const;
  std::string to_json() const;
  Bytes peak() const { return Bytes(plan.peak()); }
  std::shared_ptr<const Program> program = {};  // keeps both, also when the function forgets them
};

// A tree of tensors with the same types and no values: what prepare, try_prepare, frontier and others take as well.
template <class Tree>
Tree types_of(const Tree& tree) {
  return map_tree([](const Tensor& t) { return Tensor::of_type(t.type()); }, tree);
}

namespace detail {

enum class KeyPart { all, fixed_values };
template <KeyPart part, class... Args>
std::string cache_key(const Args&... args) {
  std::string key;
  // Each part with its length in front, so that no text can end early and pass for two.
  const auto add = [&](std::string_view text) { key += fmt::format("{}:{}", text.size(), text); };
  const auto on_tensor = [&](const std::string&, const Tensor& tensor) {
    if constexpr (part == KeyPart::all) add(to_string(tensor.type()));
  };
  const auto on_static = [&](const std::string&, const auto& value) {
    if constexpr (std::is_enum_v<std::decay_t<decltype(value)>>) {
      add(fmt::format("{}", static_cast<std::int64_t>(value)));
    } else {
      add(fmt::format("{}", value));
    }
  };
  ((add(typeid(Args).name()), walk_tree(args, "", on_tensor, on_static)), ...);
  return key;
}

void mark_donated(Graph& graph, const std::vector<bool>& donated);
std::uint64_t hash_of(const Graph& traced);  // of all that its plan and its errors depend on
[[noreturn]] void not_yet_planned(SourceLine where);

}  // namespace detail

template <class F>
class Compiled {
 public:
  Compiled(F f, CompileOptions options, SourceLine where)
      : state_(std::make_shared<State>(std::move(f), std::move(options), where)) {}

  // Throws InfeasibleBudget, at the line of the call of compile, when no plan for these types is within the budget.
  template <class... Args>
  auto operator()(const Args&... args) const {
    using Result = std::decay_t<decltype(state_->f(args...))>;
    if (current_trace()) return Result(state_->f(args...));  // inside another trace it is just the function
    std::vector<Tensor> inputs;
    (for_each_tensor(args, [&](const std::string&, const Tensor& tensor) { inputs.push_back(tensor); }), ...);
    const std::shared_ptr<CompiledCall> call = planned(inputs, args...);
    return with_tensors(std::any_cast<const Result&>(call->result),
                        call->program->run(inputs, state_->where));
  }

  // Traces and plans for arguments of these types without running. Arguments with values: memory is reserved too.
  template <class... Args>
  PlannedGraph prepare(const Args&... args) const {
    std::vector<Tensor> captured;
    const std::shared_ptr<CompiledCall> call = planned(captured, args...);
    bool values = true;
    (for_each_tensor(args, [&](const std::string&, const Tensor& tensor) { values &= tensor.is_data(); }),
     ...);
    if (values) call->program->reserve(state_->where);
    return planned_graph(call->program);
  }
  // The same without throwing when the budget is too small.
  template <class... Args>
  Result<PlannedGraph, InfeasibleBudget> try_prepare(const Args&... args) const {
    try {
      return prepare(args...);
    } catch (const InfeasibleBudget& infeasible) {
      return infeasible;
    }
  }

  // The smallest budget that fits, and what pins it; the budget of compile plays no part. As much work as planning.
  template <class... Args>
  SmallestBudget smallest(const Args&... args) const {
    check_options(state_->options, sizeof...(Args), state_->where);
    return smallest_budget(trace_marked(std::tuple<Args...>(args...)).graph, state_->options);
  }
  // Time against memory, from the smallest budget to no extra time: 16 plans.
  template <class... Args>
  std::vector<FrontierPoint> frontier(const Args&... args) const {
    check_options(state_->options, sizeof...(Args), state_->where);
    return frontier_points(trace_marked(std::tuple<Args...>(args...)).graph, state_->options, 16);
  }
  // The peak as a formula in the batch size, this plan's decisions kept.
  template <class... Args>
  std::optional<Footprint> footprint(const Args&... args) const {
    std::vector<Tensor> captured;
    const std::shared_ptr<Program> program = planned(captured, args...)->program;
    return with_traced(
        [&](const TracedFunction& function) {
          return footprint_of(function, state_->options, program->graph(), program->plan(), state_->where);
        },
        "", args...);
  }
  // The plan's summary, the smallest budget and the formula.
  template <class... Args>
  std::string report(const Args&... args) const {
    return prepare(types_of(args)...).summary() + budget_lines(smallest(args...), footprint(args...));
  }

  // Of the latest call.
  PlannedGraph plan(SourceLine where = std::source_location::current()) const {
    return planned_graph(latest(where));
  }
  Bytes arena_high_water(SourceLine where = std::source_location::current()) const {
    return Bytes(latest(where)->arena_high_water());
  }

  // Everything it holds between calls.
  FunctionMemory memory_report() const { return state_->memory(); }
  // Forgets what was traced and planned; the next call begins anew. For when something changed that a trace cannot see: a
  // C++ number, or which of several tensors a captured pointer points at.
  void forget() const { state_->forget(); }

 private:
  struct State : FunctionState {
    State(F function, CompileOptions options, SourceLine where)
        : FunctionState(std::move(options), where), f(std::move(function)) {}
    F f;
  };

  std::shared_ptr<Program> latest(SourceLine where) const {
    const std::shared_ptr<CompiledCall> call = state_->latest();
    if (!call) detail::not_yet_planned(where);
    return call->program;
  }
  static PlannedGraph planned_graph(std::shared_ptr<const Program> program) {
    return {program->graph(), program->plan(), program};
  }

  // use(TracedFunction), which is valid during the call. `captures`: their signature.
  template <class Use, class... Args>
  auto with_traced(const Use& use, const std::string& captures, const Args&... args) const {
    State& state = *state_;
    check_options(state.options, sizeof...(Args), state.where);
    TracedFunction function;
    function.fixed = detail::cache_key<detail::KeyPart::fixed_values>(args...) + captures;
    function.donated.assign(sizeof...(Args), false);
    for (int a : state.options.donate) function.donated[static_cast<std::size_t>(a)] = true;
    const auto add = [&](const auto& argument) {
      for (const Tensor& tensor : tensors_of(argument)) function.types.push_back(tensor.type());
      function.argument_ends.push_back(function.types.size());
    };
    (add(args), ...);
    function.trace = [&](std::span<const Type> types) {
      std::size_t next = 0;
      const auto resized = [&](const auto& tree) {
        return map_tree([&](const Tensor&) { return Tensor::of_type(types[next++]); }, tree);
      };
      return trace_marked(std::tuple<Args...>{resized(args)...}).graph;
    };
    return use(function);
  }

  // Traced, with its donated inputs marked.
  template <class... Args>
  auto trace_marked(const std::tuple<Args...>& arguments) const {
    auto traced = trace_call(state_->f, arguments, state_->where);
    detail::mark_donated(traced.graph, traced.inputs_of(state_->options.donate));
    return traced;
  }

  // Traced and planned before, or now. Appends the captured tensors to `inputs`.
  template <class... Args>
  std::shared_ptr<CompiledCall> planned(std::vector<Tensor>& inputs, const Args&... args) const {
    State& state = *state_;
    const std::string key = detail::cache_key<detail::KeyPart::all>(args...);
    if (std::shared_ptr<CompiledCall> found = state.find(key, inputs)) return found;
    const std::lock_guard planning(state.planning);
    if (std::shared_ptr<CompiledCall> found = state.find(key, inputs)) return found;  // planned meanwhile
    check_options(state.options, sizeof...(Args), state.where);
    auto traced = trace_marked(std::tuple<Args...>(args...));
    auto call = std::make_shared<CompiledCall>();
    const std::span<const Tensor> captured =
        std::span<const Tensor>(traced.inputs).subspan(traced.inputs.size() - traced.captured.size());
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    for_each_tensor(traced.result, [](const std::string&, Tensor& tensor) { tensor = Tensor(); });
    call->captures = Captures(captured, traced.captured, traced.reads);
    call->result = std::move(traced.result);
    call->graph_hash = detail::hash_of(traced.graph);
    call->program = state.find_program(key, call->graph_hash);
    if (!call->program) {
      PlannedFunction function = at_line(state.where, [&] {
        return with_traced(
            [&](const TracedFunction& f) {
              return plan_function(f, traced.graph, state.options, state.largest, state.where);
            },
            call->captures.signature(), args...);
      });
      call->program = std::make_shared<Program>(std::move(function.graph), std::move(function.plan),
                                                state.workspace, function.reserve);
    }
    state.insert(key, call);
    return call;
  }

  std::shared_ptr<State> state_;
};

template <class F>
Compiled<F> compile(F f, CompileOptions options = {}, SourceLine where = std::source_location::current()) {
  return Compiled<F>(std::move(f), std::move(options), where);
}

}  // namespace tidemark
