// Trees: structs of tensors (TM_FIELDS), vectors, arrays, maps, pairs, tuples, nested in any way. grad,
// compile, optimizers and files walk the tensors of a tree in one fixed order, each with a path such as
// "blocks.3.w1". Numbers, bools and strings in a tree are not tensors: they are fixed when a function is
// traced.
#pragma once
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tidemark/base/fields.h"
#include "tidemark/trace/tensor.h"

namespace tidemark {
namespace detail {

template <class T>
struct IsSequence : std::false_type {};
template <class T>
struct IsSequence<std::vector<T>> : std::true_type {};
template <class T, std::size_t N>
struct IsSequence<std::array<T, N>> : std::true_type {};

template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};

inline std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

}  // namespace detail

// A value fixed at trace time: it takes part in the key of a compiled function's cache, not in its inputs.
template <class T>
concept StaticLeaf = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;

// Calls on_tensor(path, Tensor&) and on_static(path, value) for every leaf; const trees give const leaves.
template <class Tree, class OnTensor, class OnStatic>
void walk_tree(Tree& tree, const std::string& path, OnTensor&& on_tensor, OnStatic&& on_static) {
  using T = std::remove_const_t<Tree>;
  if constexpr (std::is_same_v<T, Tensor>) {
    on_tensor(path, tree);
  } else if constexpr (HasFields<T>) {
    for_each_field(tree, [&](std::string_view name, auto& field) {
      walk_tree(field, detail::joined(path, name), on_tensor, on_static);
    });
  } else if constexpr (detail::IsSequence<T>::value) {
    on_static(path, tree.size());
    for (std::size_t i = 0; i < tree.size(); ++i) {
      walk_tree(tree[i], detail::joined(path, std::to_string(i)), on_tensor, on_static);
    }
  } else if constexpr (detail::IsMap<T>::value) {
    on_static(path, tree.size());
    for (auto& [name, child] : tree) {
      on_static(path, name);
      walk_tree(child, detail::joined(path, name), on_tensor, on_static);
    }
  } else if constexpr (detail::IsTuple<T>::value) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (walk_tree(std::get<I>(tree), detail::joined(path, std::to_string(I)), on_tensor, on_static), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    static_assert(StaticLeaf<T>,
                  "not a tree: list the members of this struct with TM_FIELDS(Type, members…)");
    on_static(path, tree);
  }
}

template <class Tree, class F>
void for_each_tensor(Tree& tree, F&& f, const std::string& path = "") {
  walk_tree(tree, path, f, [](const std::string&, const auto&) {});
}

template <class Tree>
std::vector<Tensor> tensors_of(const Tree& tree) {
  std::vector<Tensor> list;
  for_each_tensor(tree, [&](const std::string&, const Tensor& tensor) { list.push_back(tensor); });
  return list;
}

// The same tree with its tensors replaced, in order.
template <class Tree>
Tree with_tensors(Tree tree, std::span<const Tensor> tensors) {
  std::size_t next = 0;
  for_each_tensor(tree, [&](const std::string&, Tensor& tensor) { tensor = tensors[next++]; });
  TM_CHECK(next == tensors.size(), "{} tensors for a tree of {}", tensors.size(), next);
  return tree;
}

// f(tensor, tensors of the other trees at the same place) for every tensor: gradient steps, averages, copies.
template <class F, class Tree, class... Others>
Tree map_tree(F&& f, const Tree& tree, const Others&... others) {
  std::vector<Tensor> result = tensors_of(tree);
  const std::array<std::vector<Tensor>, sizeof...(Others)> rest = {tensors_of(others)...};
  for (const auto& list : rest) {
    if (list.size() != result.size()) {
      fail(ErrorCode::structure_mismatch,
           {.what = fmt::format("map_tree over trees of {} and {} tensors", result.size(), list.size())});
    }
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = [&]<std::size_t... K>(std::index_sequence<K...>) { return f(result[i], rest[K][i]...); }
    (std::make_index_sequence<sizeof...(Others)>());
  }
  return with_tensors(tree, result);
}

}  // namespace tidemark
