// The derivatives users ask for, each a function from functions to functions. They nest in any order: what
// they make is traced like anything else. All derivatives at once are in jacobian.h.
//
//   grad(f)(x, …)            gradient of a scalar f with respect to its first argument, as a tree like it
//   grad<0, 2>(f)(…)         with respect to several arguments, as a tuple
//   value_and_grad(f)(x, …)  the value too; f may return {loss, anything}: the rest is passed through
//   vjp(f, x)                {f(x), pullback}; pullback(seed) may be called any number of times
//   jvp(f, x, v)             {f(x), derivative along v}
//   hvp(f, x, v)             Hessian of a scalar f times v
#pragma once
#include <algorithm>
#include <memory>

#include "tidemark/trace/traced_call.h"

namespace tidemark {

struct SplitVjp;

namespace detail {

// The non-template part: checks, transforms and applies.
std::vector<Tensor> apply_gradient(const Graph& graph, std::span<const Tensor> inputs,
                                   const std::vector<bool>& wrt, SourceLine where);
std::vector<Tensor> apply_jvp(const Graph& graph, std::span<const Tensor> inputs, std::size_t arguments,
                              std::span<const Tensor> tangents, SourceLine where);
void check_seeds(std::span<const Tensor> seeds, std::span<const Tensor> like, std::string_view what,
                 SourceLine where);

struct Pulled {
  std::vector<Tensor> outputs, residuals;
  std::shared_ptr<const SplitVjp> split;
};
Pulled apply_forward(const Graph& graph, std::span<const Tensor> inputs, const std::vector<bool>& wrt,
                     SourceLine where);
std::vector<Tensor> apply_backward(const Pulled& pulled, std::span<const Tensor> seeds, SourceLine where);

template <int... Wrt, class... Args>
auto gradient_tree(const std::tuple<Args...>& arguments, std::span<const Tensor> gradients) {
  std::size_t next = 0;
  const auto filled = [&](const auto& argument) {
    const std::size_t count = tensors_of(argument).size();
    next += count;
    return with_tensors(argument, gradients.subspan(next - count, count));
  };
  if constexpr (sizeof...(Wrt) == 1) {
    return filled(std::get<Wrt...>(arguments));
  } else {
    return std::tuple{filled(std::get<Wrt>(arguments))...};  // braces: evaluated left to right
  }
}

}  // namespace detail

template <int... Wrt, class F>
auto value_and_grad(F f, SourceLine where = std::source_location::current()) {
  if constexpr (sizeof...(Wrt) == 0) {
    return value_and_grad<0>(std::move(f), where);
  } else {
    return [f = std::move(f), where](const auto&... args) {
      if constexpr (!detail::TraceableLoss<F, std::decay_t<decltype(args)>...>) {
        detail::explain_no_loss<F, std::decay_t<decltype(args)>...>();
      }
      static_assert(((Wrt >= 0 && Wrt < static_cast<int>(sizeof...(args))) && ...),
                    "grad<I>(f) differentiates by argument I: this call has fewer arguments");
      const std::tuple<std::decay_t<decltype(args)>...> arguments(
          args...);  // spelt out: a single pair stays one argument
      const auto call = trace_call(f, arguments, where);
      static constexpr int wrt[] = {Wrt...};
      const std::vector<Tensor> all_outputs =
          detail::apply_gradient(*call.graph, call.inputs, call.inputs_of(wrt), where);
      const std::span<const Tensor> outputs(all_outputs);
      const std::size_t values = call.outputs;
      return std::pair(with_tensors(call.result, outputs.first(values)),
                       detail::gradient_tree<Wrt...>(arguments, outputs.subspan(values)));
    };
  }
}

template <int... Wrt, class F>
auto grad(F f, SourceLine where = std::source_location::current()) {
  return [g = value_and_grad<Wrt...>(std::move(f), where)](const auto&... args) { return g(args...).second; };
}

template <class F, class Tree>
auto jvp(F f, const Tree& x, const Tree& v, SourceLine where = std::source_location::current()) {
  const auto call = trace_call(f, std::tuple<Tree>(x), where);
  const std::vector<Tensor> tangents = tensors_of(v);
  const std::vector<Tensor> all_outputs =
      detail::apply_jvp(*call.graph, call.inputs, call.argument_ends[0], tangents, where);
  const std::span<const Tensor> outputs(all_outputs);
  const std::size_t values = call.outputs;
  return std::pair(with_tensors(call.result, outputs.first(values)),
                   with_tensors(call.result, outputs.subspan(values)));
}

template <class F, class Tree>
auto vjp(F f, const Tree& x, SourceLine where = std::source_location::current()) {
  auto call = trace_call(f, std::tuple<Tree>(x), where);
  std::vector<bool> wrt(call.inputs.size(), false);
  std::fill_n(wrt.begin(), call.argument_ends[0], true);
  auto pulled =
      std::make_shared<const detail::Pulled>(detail::apply_forward(*call.graph, call.inputs, wrt, where));
  auto value = with_tensors(call.result, pulled->outputs);
  auto pullback = [pulled, x, where](const decltype(value)& seed) {
    return with_tensors(x, detail::apply_backward(*pulled, tensors_of(seed), where));
  };
  return std::pair(std::move(value), std::move(pullback));
}

template <class F, class Tree>
auto hvp(F f, const Tree& x, const Tree& v, SourceLine where = std::source_location::current()) {
  return jvp(grad(std::move(f), where), x, v, where).second;
}

}  // namespace tidemark
