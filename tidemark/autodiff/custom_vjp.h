// custom_vjp(f, pullback): f with a derivative of the user's own.
//
//   auto clipped = td::custom_vjp([](td::Tensor x) { return x; },
//                                 [](td::Tensor x, td::Tensor y, td::Tensor seed) {
//                                   return td::clamp(seed, -1, 1);
//                                 });
//
// The pullback gets the arguments, the result and the seed, and returns the gradient: a tree like the
// argument, or a tuple of them for several arguments.
#pragma once
#include "tidemark/trace/traced_call.h"

namespace tidemark {
namespace detail {

// Makes the call: operands are the arguments (the first `arguments` inputs of both graphs), then both
// captures.
std::vector<Tensor> apply_custom_vjp(const Graph& function, std::span<const Tensor> function_inputs,
                                     const Graph& pullback, std::span<const Tensor> pullback_inputs,
                                     std::size_t arguments, SourceLine where);

}  // namespace detail

template <class F, class Pullback>
auto custom_vjp(F f, Pullback pullback, SourceLine where = std::source_location::current()) {
  return [f = std::move(f), pullback = std::move(pullback), where](const auto&... args) {
    const std::tuple<std::decay_t<decltype(args)>...> arguments(args...);
    const auto call = trace_call(f, arguments, where);
    const auto result = types_only(call);
    const auto back = trace_call(pullback, std::tuple(args..., result, result), where);
    return with_tensors(call.result, detail::apply_custom_vjp(*call.graph, call.inputs, *back.graph,
                                                              back.inputs, call.argument_ends.back(), where));
  };
}

}  // namespace tidemark
