// Whether a function can be traced, said in one line where it cannot: compilers otherwise answer a wrong loss
// with pages about our templates.
#pragma once
#include <type_traits>

#include "tidemark/trace/tree.h"

namespace tidemark::detail {

template <class T>
struct TreeFacts {
  static constexpr bool tree = StaticLeaf<T> || HasFields<T>;  // of members of a struct `walk` complains
  static constexpr bool tensors = HasFields<T>;                // whether there may be any
};
template <>
struct TreeFacts<Tensor> {
  static constexpr bool tree = true, tensors = true;
};
template <class T>
struct TreeFacts<std::vector<T>> : TreeFacts<T> {};
template <class T, std::size_t N>
struct TreeFacts<std::array<T, N>> : TreeFacts<T> {};
template <class T>
struct TreeFacts<std::map<std::string, T>> : TreeFacts<T> {};
template <class... T>
struct TreeFacts<std::tuple<T...>> {
  static constexpr bool tree = (TreeFacts<T>::tree && ...), tensors = (TreeFacts<T>::tensors || ...);
};
template <class A, class B>
struct TreeFacts<std::pair<A, B>> : TreeFacts<std::tuple<A, B>> {};

// Asked of the call itself where that can be, not of std::is_invocable, whose parts would stand in messages.
template <class F, class... Args>
concept CallableWith = requires(const F& f, const Args&... args) {
  f(args...);
}
|| (std::is_member_pointer_v<F> && std::is_invocable_v<const F&, const Args&...>);

template <class F, class... Args>
constexpr auto facts_of_result() {
  if constexpr (!CallableWith<F, Args...>) {
    return TreeFacts<void*>();
  } else if constexpr (std::is_member_pointer_v<F>) {
    return TreeFacts<std::decay_t<std::invoke_result_t<const F&, const Args&...>>>();
  } else {
    return TreeFacts<std::decay_t<decltype(std::declval<const F&>()(std::declval<const Args&>()...))>>();
  }
}

// Callable with trees, and what it returns is one: a function for trace_call.
template <class F, class... Args>
concept Traceable = (TreeFacts<Args>::tree && ...) && decltype(facts_of_result<F, Args...>())::tree;
// The same with a loss to differentiate.
template <class F, class... Args>
concept TraceableLoss = Traceable<F, Args...> && decltype(facts_of_result<F, Args...>())::tensors;

// Says what is wrong with the first of what is.
template <class F, class... Args>
constexpr void explain_not_traceable() {
  constexpr bool trees = (TreeFacts<Args>::tree && ...);
  static_assert(trees,
                "an argument is no tree of tensors: pass tensors, numbers, and vectors, maps, pairs, tuples "
                "and structs of them; list a struct's members with TM_FIELDS(Type, members)");
  if constexpr (trees) {
    constexpr bool callable = CallableWith<F, Args...>;
    static_assert(callable,
                  "this function does not take these arguments: compare their number and types with its "
                  "parameters, which are values or const references; a lambda must not be mutable");
    if constexpr (callable) {
      static_assert(decltype(facts_of_result<F, Args...>())::tree,
                    "this function returns no tree of tensors: return a Tensor, or vectors, maps, pairs, "
                    "tuples and structs (TM_FIELDS) of them");
    }
  }
}
template <class F, class... Args>
constexpr void explain_no_loss() {
  if constexpr (Traceable<F, Args...>) {
    static_assert(decltype(facts_of_result<F, Args...>())::tensors,
                  "this loss returns a number, which has no derivative: return the Tensor itself, without "
                  "item(), or a pair or tuple that begins with it");
  } else {
    explain_not_traceable<F, Args...>();
  }
}

}  // namespace tidemark::detail
