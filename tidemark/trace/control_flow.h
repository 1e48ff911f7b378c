// Loops and branches as parts of a program. The functions given are traced once, whatever the number of
// steps; what they use from outside is captured. All nest in any way and have derivatives of any order.
//
//   repeat(n, step, u)             step(step(… step(u))); step takes u, or u and the number of the step (i64)
//   scan(body, h, xs)              body(h, x) -> h, or {h, y}: gives h, or {h, ys}; x is the slice of xs at
//                                  each step
//   while_loop(test, body, u)      u = body(u) while test(u), a scalar bool, holds
//   cond(p, f, g, x, …)            f(x, …) if the scalar bool p holds, else g(x, …)
//
// u, h, xs and ys are trees of tensors. What is carried from step to step keeps its shapes and dtypes.
#pragma once
#include <optional>

#include "tidemark/base/bytes.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/step_scope.h"
#include "tidemark/trace/traced_call.h"

namespace tidemark {

struct LoopOptions {
  // For the states that are kept for the gradient. None: as the budget of the program allows; without a
  // budget, everything is kept that saves computing.
  std::optional<Bytes> memory = {};
  // Of a disk, for what the loop keeps beyond that: a memory of the plan, used where that is predicted to be
  // faster. Not inside of other loops and branches.
  Bytes disk = {};
  // On that disk: one for all loops of a function. Empty: that of compile or of another loop, else the
  // system's for temporary files.
  std::string folder = "";
};

struct WhileOptions {
  std::optional<std::int64_t> max_steps = {};  // more are an error
  std::optional<Bytes> memory = {};  // for the states that are kept for the gradient, as in LoopOptions
};

namespace detail {

struct Carried {
  std::vector<Tensor> tensors;
  std::vector<std::string> paths;
};
template <class Tree>
Carried carried(const Tree& tree) {
  Carried list;
  for_each_tensor(tree, [&](const std::string& path, const Tensor& tensor) {
    list.tensors.push_back(tensor);
    list.paths.push_back(path);
  });
  return list;
}

// `body`: inputs are the carried tensors, a slice of each x, then `captured`.
std::vector<Tensor> apply_loop(const Graph& body, const Carried& carry, std::int64_t trips,
                               std::span<const Tensor> xs, std::span<const Tensor> captured,
                               const LoopOptions& options, SourceLine where);
std::vector<Tensor> apply_while(const Graph& test, std::span<const Tensor> test_inputs, const Graph& body,
                                std::span<const Tensor> body_inputs, const Carried& carry,
                                const WhileOptions& options, SourceLine where);
std::vector<Tensor> apply_cond(const Tensor& predicate, const Graph& when_true,
                               std::span<const Tensor> true_inputs, const Graph& when_false,
                               std::span<const Tensor> false_inputs, std::size_t arguments, SourceLine where);
// How many slices all of them have.
std::int64_t scanned_length(const Carried& xs, SourceLine where);
Tensor slice_type(const Tensor& xs);

template <class Call>
std::span<const Tensor> captures_of(const Call& call) {
  return std::span(call.inputs).subspan(call.argument_ends.back());
}

template <class F, class... Args>
auto trace_step(const F& step, const std::tuple<Args...>& arguments, SourceLine where) {
  const StepScope scope;
  return trace_call(step, arguments, where);
}

template <class T>
struct CarryAndOutput : std::false_type {};
template <class A, class B>
struct CarryAndOutput<std::pair<A, B>> : std::true_type {};

}  // namespace detail

template <class Step, class Tree>
Tree repeat(std::int64_t steps, const Step& step, const Tree& start, LoopOptions options = {},
            SourceLine where = std::source_location::current()) {
  const detail::Carried carry = detail::carried(start);
  const auto run = [&](const auto& call, std::span<const Tensor> xs) {
    static_assert(std::is_same_v<std::decay_t<decltype(call.result)>, Tree>,
                  "repeat: the step must return what it takes");
    return with_tensors(
        start, detail::apply_loop(*call.graph, carry, steps, xs, detail::captures_of(call), options, where));
  };
  if constexpr (std::is_invocable_v<const Step&, const Tree&, const Tensor&>) {
    const Tensor numbers = arange(std::max<std::int64_t>(steps, 0), DType::i64, where);
    return run(detail::trace_step(step, std::tuple(start, Tensor::of_type({DType::i64, {}})), where),
               {&numbers, 1});
  } else {
    return run(detail::trace_step(step, std::tuple<Tree>(start), where), {});
  }
}

template <class Body, class Tree, class Inputs>
auto scan(const Body& body, const Tree& start, const Inputs& xs, LoopOptions options = {},
          SourceLine where = std::source_location::current()) {
  const detail::Carried carry = detail::carried(start), inputs = detail::carried(xs);
  const std::int64_t steps = detail::scanned_length(inputs, where);
  const auto call = detail::trace_step(body, std::tuple(start, map_tree(detail::slice_type, xs)), where);
  const std::vector<Tensor> all = detail::apply_loop(*call.graph, carry, steps, inputs.tensors,
                                                     detail::captures_of(call), options, where);
  const std::span<const Tensor> results(all);
  using Result = std::decay_t<decltype(call.result)>;
  if constexpr (std::is_same_v<Result, Tree>) {
    return with_tensors(start, results);
  } else {
    static_assert(detail::CarryAndOutput<Result>::value,
                  "scan: the body must return what it carries, or a pair of that and an output");
    static_assert(std::is_same_v<std::decay_t<decltype(call.result.first)>, Tree>,
                  "scan: the body must return first what it carries");
    const std::size_t carries = carry.tensors.size();
    return std::pair(with_tensors(start, results.first(carries)),
                     with_tensors(call.result.second, results.subspan(carries)));
  }
}

template <class Test, class Body, class Tree>
Tree while_loop(const Test& test, const Body& body, const Tree& start, WhileOptions options = {},
                SourceLine where = std::source_location::current()) {
  const auto goes_on = trace_call(test, std::tuple<Tree>(start), where);
  const auto call = trace_call(body, std::tuple<Tree>(start), where);
  static_assert(std::is_same_v<std::decay_t<decltype(call.result)>, Tree>,
                "while_loop: the body must return what it takes");
  return with_tensors(start,
                      detail::apply_while(*goes_on.graph, detail::captures_of(goes_on), *call.graph,
                                          detail::captures_of(call), detail::carried(start), options, where));
}

template <class OnTrue, class OnFalse, class... Args>
auto cond(const Operand& predicate, const OnTrue& when_true, const OnFalse& when_false, const Args&... args) {
  const SourceLine where = predicate.where();
  const std::tuple<Args...> arguments(args...);
  const auto on_true = trace_call(when_true, arguments, where);
  const auto on_false = trace_call(when_false, arguments, where);
  static_assert(std::is_same_v<decltype(on_true.result), decltype(on_false.result)>,
                "cond: both branches must return the same kind of tree");
  const std::size_t count = on_true.argument_ends.empty() ? 0 : on_true.argument_ends.back();
  return with_tensors(on_true.result, detail::apply_cond(predicate.tensor(), *on_true.graph, on_true.inputs,
                                                         *on_false.graph, on_false.inputs, count, where));
}

}  // namespace tidemark
