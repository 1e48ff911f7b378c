// All derivatives of a function, one batched program for all rows or columns (vmap of a pullback or of jvp).
//
//   jacobian(f)(x, …)    by the first argument: for a tensor f(x) a tree like x, each tensor of it with the
//                        shape of f(x), then the shape of x there
//   hessian(f)(x, …)     the jacobian of the gradient of a scalar f
//
// Where f returns a vector, array, map, pair or tuple, the result is one of such trees; where it returns a
// struct, a map of them by the paths of its tensors: hessian(loss)(params)["w1"].b.
#pragma once
#include <array>
#include <map>

#include "tidemark/autodiff/transforms.h"
#include "tidemark/trace/view.h"

namespace tidemark {

enum class JacobianMode : std::uint8_t {
  automatic,  // whichever has fewer rows or columns to compute
  reverse,    // row by row: pullbacks
  forward,    // column by column: jvp
};

struct JacobianOptions {
  JacobianMode mode = JacobianMode::automatic;
  std::int64_t chunk = 0;  // so many rows or columns at a time, for less memory; 0: all at once
};

namespace detail {

// Of every tensor that `graph` returns, its derivatives by the inputs up to `arguments`: shape of the one,
// then of the other.
std::vector<Tensor> jacobian_of(const Graph& graph, std::span<const Tensor> inputs, std::size_t arguments,
                                const JacobianOptions& options, SourceLine where);

// The result's tree Y with a tree X in the place of every tensor.
template <class Y, class X>
struct TreeOf {
  using type = Y;  // a number or text
};
template <class X>
struct TreeOf<Tensor, X> {
  using type = X;
};
template <HasFields Y, class X>
struct TreeOf<Y, X> {
  using type = std::map<std::string, X>;
};
template <class T, class X>
struct TreeOf<std::vector<T>, X> {
  using type = std::vector<typename TreeOf<T, X>::type>;
};
template <class T, std::size_t N, class X>
struct TreeOf<std::array<T, N>, X> {
  using type = std::array<typename TreeOf<T, X>::type, N>;
};
template <class T, class X>
struct TreeOf<std::map<std::string, T>, X> {
  using type = std::map<std::string, typename TreeOf<T, X>::type>;
};
template <class A, class B, class X>
struct TreeOf<std::pair<A, B>, X> {
  using type = std::pair<typename TreeOf<A, X>::type, typename TreeOf<B, X>::type>;
};
template <class... T, class X>
struct TreeOf<std::tuple<T...>, X> {
  using type = std::tuple<typename TreeOf<T, X>::type...>;
};

// `next` gives the tree of the next tensor, in their order.
template <class X, class Y, class Next>
void fill_tree_of(const Y& y, typename TreeOf<Y, X>::type& to, const Next& next) {
  if constexpr (std::is_same_v<Y, Tensor>) {
    to = next();
  } else if constexpr (HasFields<Y>) {
    for_each_tensor(y, [&](const std::string& path, const Tensor&) { to[path] = next(); });
  } else if constexpr (IsSequence<Y>::value) {
    if constexpr (requires { to.resize(y.size()); }) to.resize(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) fill_tree_of<X>(y[i], to[i], next);
  } else if constexpr (IsMap<Y>::value) {
    for (const auto& [name, part] : y) fill_tree_of<X>(part, to[name], next);
  } else if constexpr (IsTuple<Y>::value) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (fill_tree_of<X>(std::get<I>(y), std::get<I>(to), next), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Y>>());
  } else {
    to = y;
  }
}

}  // namespace detail

template <class F>
auto jacobian(F f, JacobianOptions options = {}, SourceLine where = std::source_location::current()) {
  return [f = std::move(f), options, where](const auto& by, const auto&... more) {
    using By = std::decay_t<decltype(by)>;
    using X = std::conditional_t<std::is_same_v<By, TensorView>, Tensor, By>;  // a window is its values
    const X x = by;
    const std::tuple<X, std::decay_t<decltype(more)>...> arguments(x, more...);
    const auto call = trace_call(f, arguments, where);
    using Y = std::decay_t<decltype(call.result)>;
    const std::size_t leaves = call.argument_ends[0];
    const std::vector<Tensor> all = detail::jacobian_of(*call.graph, call.inputs, leaves, options, where);
    std::span<const Tensor> left(all);
    typename detail::TreeOf<Y, X>::type result{};
    detail::fill_tree_of<X>(call.result, result, [&] {
      const X tree = with_tensors(x, left.first(leaves));
      left = left.subspan(leaves);
      return tree;
    });
    return result;
  };
}

template <class F>
auto hessian(F f, JacobianOptions options = {}, SourceLine where = std::source_location::current()) {
  // Pushing a direction through a gradient keeps nothing for later; pulling back through it would.
  if (options.mode == JacobianMode::automatic) options.mode = JacobianMode::forward;
  return jacobian(grad(std::move(f), where), options, where);
}

}  // namespace tidemark
