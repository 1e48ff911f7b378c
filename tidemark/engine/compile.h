// compile(f): a function that is traced and planned at its first call for each set of argument types, then
// reused. What f uses from outside it reads at every call, as f itself would (captures.h).
//
//   auto step = td::compile(td::value_and_grad(loss), {.memory = 64_MiB});
//   auto [value, grads] = step(params, x, y);
//   fmt::print("{}", step.plan().summary());
//
// Any number of threads may call it at once. With a budget they take turns, so that it is kept; without one
// they run side by side, each in an arena of its own. A call of types that are planned does not wait for the
// planning of others.
#pragma once
#include <string>

#include "tidemark/base/result.h"
#include "tidemark/engine/compiled_function.h"
#include "tidemark/engine/session.h"
#include "tidemark/plan/report/infeasible_budget.h"

namespace tidemark {

// A tree of tensors with the same types and no values: what prepare, try_prepare, frontier and others take as
// well.
template <class Tree>
Tree types_of(const Tree& tree) {
  return map_tree([](const Tensor& t) { return Tensor::of_type(t.type()); }, tree);
}

namespace detail {

template <class T>
inline constexpr char type_tag = 0;  // its address tells types apart, also those of the same name

}  // namespace detail

template <class F>
class Compiled {
 public:
  Compiled(F f, const CompileOptions& options, SourceLine where)
      : state_(std::make_shared<State>(std::move(f), options, where)) {}

  // Throws InfeasibleBudget, at the line of the call of compile, when no plan for these types is within the
  // budget.
  template <class... Args>
  auto operator()(const Args&... args) const {
    if constexpr (detail::Traceable<F, Args...>) {
      using Result = std::decay_t<decltype(state_->f(args...))>;
      if (outermost_trace != 0) return Result(state_->f(args...));  // in another trace just the function
      const CompiledFunction::Results results = state_->function->run(Arguments<Args...>(*state_, args...));
      return with_tensors(std::any_cast<const Result&>(*results.tree), results.tensors);
    } else {
      detail::explain_not_traceable<F, Args...>();
    }
  }

  // Traces and plans for arguments of these types without running. Arguments with values: memory is reserved
  // too.
  template <class... Args>
  PlannedGraph prepare(const Args&... args) const {
    return state_->function->prepare(Arguments<Args...>(*state_, args...));
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

  // The smallest budget that fits, and what pins it; the budget of compile plays no part. As much work as
  // planning.
  template <class... Args>
  SmallestBudget smallest(const Args&... args) const {
    return state_->function->smallest(Arguments<Args...>(*state_, args...));
  }
  // Time against memory, from the smallest budget to no extra time: 16 plans.
  template <class... Args>
  std::vector<FrontierPoint> frontier(const Args&... args) const {
    return state_->function->frontier(Arguments<Args...>(*state_, args...), 16);
  }
  // The peak as a formula in the batch size, this plan's decisions kept. None where there is no batch, or the
  // graph itself depends on it.
  template <class... Args>
  std::optional<Footprint> footprint(const Args&... args) const {
    return state_->function->footprint(Arguments<Args...>(*state_, args...));
  }
  // The peak without a budget as formulas in sizes of your own: `arguments_at(sizes)` returns, as a tuple,
  // the arguments of a call with those sizes, or their types (types_of, result_types). Plans at some sizes.
  template <class ArgumentsAt>
  SizeFormulas formulas(std::vector<SizeAxis> axes, const ArgumentsAt& arguments_at) const {
    return size_formulas(std::move(axes), [&](std::span<const std::int64_t> sizes) {
      return std::apply(
          [&]<class... Args>(const Args&... args) {
            return state_->function->peak(Arguments<Args...>(*state_, args...));
          },
          arguments_at(sizes));
    });
  }
  // What a sixteenth more of the budget, and of the disk, would save (memory_prices.h).
  template <class... Args>
  std::vector<MemoryPrice> prices(const Args&... args) const {
    return state_->function->prices(Arguments<Args...>(*state_, args...));
  }
  // How far lossy copies of what waits for the backward pass (CompileOptions::lossy, compress) bring the
  // results of this call from exact ones. Runs it twice, without a budget; donates nothing.
  template <class... Args>
  GradientError gradient_error(const Args&... args) const {
    return state_->function->gradient_error(Arguments<Args...>(*state_, args...));
  }
  // The plan's summary, the smallest budget and the formula.
  template <class... Args>
  std::string report(const Args&... args) const {
    return prepare(types_of(args)...).summary() + budget_lines(smallest(args...), footprint(args...));
  }

  // Of the latest call.
  PlannedGraph plan(SourceLine where = std::source_location::current()) const {
    return state_->function->plan(where);
  }
  // Writes the plan of the latest call to a file. A function compiled with {.plans = {path}} runs by it,
  // without a search: in another process, or on another machine of the kind. Of a function that was called
  // on a GPU, the algorithms that the call ran with are part of it.
  void save_plan(const std::string& path, SourceLine where = std::source_location::current()) const {
    plan(where).save(path, where);
  }
  Bytes arena_high_water(SourceLine where = std::source_location::current()) const {
    return state_->function->arena_high_water(where);
  }

  // Times every kernel of the calls that begin from now on, or not any more. On the CPU that takes one look
  // at the clock for each kernel; docs/profiles.md says what it takes on a GPU. Switching it on begins anew.
  void record_profile(bool on = true) const { state_->function->record_profile(on); }
  // What was recorded: the latest 32 calls of the latest call's types (profile.h).
  Profile profile(SourceLine where = std::source_location::current()) const {
    return state_->function->profile(where);
  }

  // Another budget for calls that begin from now on: more or less than before, which may have been planned
  // for already or is planned for at the next call, without tracing anew. Calls that run are waited for, and
  // the memory beyond the budget is given back. Only of a function that was compiled with a budget.
  void set_memory(Bytes memory, SourceLine where = std::source_location::current()) const {
    state_->function->set_memory(memory, where);
  }

  // Everything it holds between calls.
  FunctionMemory memory_report() const { return state_->function->memory(); }
  // Forgets what was traced and planned; the next call begins anew. For when something changed that a trace
  // cannot see: a C++ number, or which of several tensors a captured pointer points at.
  void forget() const { state_->function->forget(); }

 private:
  struct State {
    State(F user, const CompileOptions& options, SourceLine line)
        : f(std::move(user)), where(line), function(make_function(options, line)) {}
    F f;
    SourceLine where;
    std::unique_ptr<CompiledFunction> function;
  };

  // One call's arguments with their types forgotten. Lives as long as the call.
  template <class... Args>
  class Arguments final : public FunctionCall {
   public:
    Arguments(const State& function, const Args&... args) : function_(function), given_(args...) {
      FixedKey key(*this);
      const auto add = [&]<class Argument>(const Argument& argument) {
        key.begin_argument(&detail::type_tag<Argument>);
        walk_tree(argument, key);
        key.end_argument();
      };
      (add(args), ...);
    }

    TracedCall<std::any> trace() const override { return traced(std::tuple<Args...>(given_)); }
    TracedCall<std::any> trace_types(std::span<const Type> types) const override {
      std::tuple<Args...> resized(given_);
      ReplaceByTypes replacing(types);
      std::apply([&](auto&... argument) { (walk_tree(argument, replacing), ...); }, resized);
      return traced(resized);
    }

   private:
    TracedCall<std::any> traced(const std::tuple<Args...>& arguments) const {
      auto call = trace_call(function_.f, arguments, function_.where);
      EmptyTensors emptying;
      walk_tree(call.result, emptying);
      return {std::move(static_cast<TracedGraph&>(call)), std::move(call.result)};
    }

    const State& function_;
    std::tuple<const Args&...> given_;
  };

  std::shared_ptr<State> state_;
};

template <class F>
Compiled<F> compile(F f, const CompileOptions& options = {},
                    SourceLine where = std::source_location::current()) {
  return Compiled<F>(std::move(f), options, where);
}

}  // namespace tidemark
