// compile(f): a function that is traced and planned at its first call for each set of argument types, then reused.
//
//   auto step = td::compile(td::value_and_grad(loss));
//   auto [value, grads] = step(params, x, y);
//   fmt::print("{}", step.plan().summary());
#pragma once
#include <any>
#include <map>
#include <string>
#include <typeindex>

#include "tidemark/engine/program.h"
#include "tidemark/engine/session.h"
#include "tidemark/trace/traced_call.h"

namespace tidemark {

struct CompileOptions {
  // Arguments (by position) whose tensors the function may overwrite: results of the same type take their memory.
  // The caller's handles to them become stale; use what the function returns.
  std::vector<int> donate = {};
  ProgramOptions program = {};
};

// A plan together with the graph it is for.
struct PlannedGraph {
  const Graph& graph;
  const Plan& plan;
  std::string summary() const { return tidemark::summary(graph, plan); }
  std::string to_json() const;
  Bytes peak() const { return Bytes(plan.peak()); }
};

namespace detail {

// One traced and planned instance of a compiled function.
struct CompiledCall {
  std::unique_ptr<Program> program;
  std::vector<Tensor> captures;
  std::any result;  // the result tree, its tensors to be replaced
};

template <class... Args>
std::string cache_key(const Args&... args) {
  std::string key;
  const auto on_tensor = [&](const std::string&, const Tensor& tensor) {
    key += to_string(tensor.type()) + ";";
  };
  const auto on_static = [&](const std::string&, const auto& value) {
    if constexpr (std::is_enum_v<std::decay_t<decltype(value)>>) {
      key += fmt::format("{};", static_cast<std::int64_t>(value));
    } else {
      key += fmt::format("{};", value);
    }
  };
  ((key += typeid(Args).name(), walk_tree(args, "", on_tensor, on_static)), ...);
  return key;
}

void mark_donated(Graph& graph, const std::vector<bool>& donated);
void check_donate(const std::vector<int>& donate, std::size_t arguments, SourceLine where);
[[noreturn]] void not_yet_planned(SourceLine where);

}  // namespace detail

template <class F>
class Compiled {
 public:
  Compiled(F f, CompileOptions options, SourceLine where)
      : state_(std::make_shared<State>(State{std::move(f), std::move(options), where, {}, nullptr})) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    using Result = std::decay_t<decltype(state_->f(args...))>;
    if (current_trace()) return Result(state_->f(args...));  // inside another trace it is just the function
    detail::CompiledCall& call = planned(args...);
    std::vector<Tensor> inputs;
    (for_each_tensor(args, [&](const std::string&, const Tensor& tensor) { inputs.push_back(tensor); }), ...);
    inputs.insert(inputs.end(), call.captures.begin(), call.captures.end());
    return with_tensors(std::any_cast<const Result&>(call.result), call.program->run(inputs, state_->where));
  }

  // Traces and plans for arguments of these types without running.
  template <class... Args>
  PlannedGraph prepare(const Args&... args) const {
    planned(args...);
    return plan();
  }

  // Of the latest call.
  PlannedGraph plan(SourceLine where = std::source_location::current()) const {
    const Program& program = latest(where);
    return {program.graph(), program.plan()};
  }
  Bytes arena_high_water(SourceLine where = std::source_location::current()) const {
    return Bytes(latest(where).arena_high_water());
  }

 private:
  struct State {
    F f;
    CompileOptions options;
    SourceLine where;
    std::map<std::string, detail::CompiledCall> calls;  // by argument types and fixed values
    detail::CompiledCall* latest = nullptr;
  };

  const Program& latest(SourceLine where) const {
    if (!state_->latest) detail::not_yet_planned(where);
    return *state_->latest->program;
  }

  template <class... Args>
  detail::CompiledCall& planned(const Args&... args) const {
    State& state = *state_;
    const std::string key = detail::cache_key(args...);
    const auto found = state.calls.find(key);
    if (found != state.calls.end()) return *(state.latest = &found->second);
    detail::check_donate(state.options.donate, sizeof...(Args), state.where);
    auto traced = trace_call(state.f, std::tuple(args...), state.where);
    detail::mark_donated(traced.graph, traced.inputs_of(state.options.donate));
    detail::CompiledCall call;
    call.captures.assign(
        traced.inputs.begin() +
            static_cast<std::ptrdiff_t>(traced.argument_ends.empty() ? 0 : traced.argument_ends.back()),
        traced.inputs.end());
    for_each_tensor(traced.result, [](const std::string&, Tensor& tensor) { tensor = Tensor(); });
    call.result = std::move(traced.result);
    call.program = std::make_unique<Program>(traced.graph, state.options.program, default_device());
    return *(state.latest = &(state.calls[key] = std::move(call)));
  }

  std::shared_ptr<State> state_;
};

template <class F>
Compiled<F> compile(F f, CompileOptions options = {}, SourceLine where = std::source_location::current()) {
  return Compiled<F>(std::move(f), std::move(options), where);
}

}  // namespace tidemark
