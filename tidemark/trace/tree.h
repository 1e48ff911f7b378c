// Trees: structs of tensors (TM_FIELDS), vectors, arrays, maps, pairs, tuples, nested in any way. grad,
// compile, optimizers and files walk the tensors of a tree in one fixed order, each with a path such as
// "blocks.3.w1". Numbers, bools and strings in a tree are not tensors: they are fixed when a function is
// traced.
#pragma once
#include <array>
#include <cstdint>
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

}  // namespace detail

// A value fixed at trace time: it takes part in the key of a compiled function's cache, not in its inputs.
template <class T>
concept StaticLeaf = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;

// A struct of sums and averages that a cast of everything around it must leave alone: it says
// `using tm_keeps_dtype = void;`.
template <class T>
concept KeepsDtype = requires {
  typename T::tm_keeps_dtype;
};

// Who looks at the leaves of a tree. It is called through pointers, so that one function walks all trees of a
// type, whoever looks.
class TreeVisitor {
 public:
  explicit TreeVisitor(std::string path = "") : path_(std::move(path)) {}
  virtual ~TreeVisitor();
  virtual void on_tensor(Tensor& tensor) = 0;
  virtual bool wants_fixed() const { return false; }
  virtual void on_fixed(std::string_view) {}  // a value or a size that is fixed when a function is traced
  virtual bool passes_over_kept() const { return false; }  // structs that keep their dtype (KeepsDtype)

  const std::string& path() const { return path_; }  // of the leaf looked at
  std::size_t enter(std::string_view name);
  std::size_t enter(std::size_t number);
  void leave(std::size_t before);

 private:
  std::string path_;
};

namespace detail {

// Numbers, bools and texts so that no two that differ have the same.
std::string fixed_text(bool value);
std::string fixed_text(std::int64_t value);
std::string fixed_text(std::uint64_t value);
std::string fixed_text(double value);
std::string fixed_text(long double value);
std::string fixed_text(const std::string& value);
template <class T>
requires std::is_arithmetic_v<T> std::string fixed_text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return fixed_text(static_cast<double>(value));  // float: exactly
  } else if constexpr (std::is_signed_v<T>) {
    return fixed_text(static_cast<std::int64_t>(value));
  } else {
    return fixed_text(static_cast<std::uint64_t>(value));
  }
}
[[noreturn]] void wrong_tensor_count(std::size_t given, std::size_t expected);  // a TM_CHECK
[[noreturn]] void fail_unlike_trees(std::size_t one, std::size_t other);

// A visitor that is handed const trees does not write to them: for_each_tensor sees to it.
template <class T>
void walk(T& tree, TreeVisitor& visitor) {
  const auto fixed = [&](const auto& value) {
    if (visitor.wants_fixed()) visitor.on_fixed(fixed_text(value));
  };
  const auto child = [&](auto name, auto& part) {
    const std::size_t before = visitor.enter(name);
    walk(part, visitor);
    visitor.leave(before);
  };
  if constexpr (std::is_same_v<T, Tensor>) {
    visitor.on_tensor(tree);
  } else if constexpr (HasFields<T>) {
    if (KeepsDtype<T> && visitor.passes_over_kept()) return;
    for_each_field(tree, child);
  } else if constexpr (IsSequence<T>::value) {
    fixed(tree.size());
    for (std::size_t i = 0; i < tree.size(); ++i) child(i, tree[i]);
  } else if constexpr (IsMap<T>::value) {
    fixed(tree.size());
    for (auto& [name, part] : tree) {
      fixed(name);
      child(name, part);
    }
  } else if constexpr (IsTuple<T>::value) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (child(I, std::get<I>(tree)), ...); }
    (std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    static_assert(StaticLeaf<T>,
                  "not a tree: list the members of this struct with TM_FIELDS(Type, members…)");
    if constexpr (std::is_enum_v<T>) {
      fixed(static_cast<std::int64_t>(tree));
    } else {
      fixed(tree);
    }
  }
}

}  // namespace detail

// Shows the visitor every leaf of the tree, in the order of its fields. It must not write to const trees.
template <class Tree>
void walk_tree(Tree& tree, TreeVisitor& visitor) {
  detail::walk(const_cast<std::remove_const_t<Tree>&>(tree), visitor);
}

// Calls f(path, Tensor&) for every tensor; const trees give const tensors.
template <class Tree, class F>
void for_each_tensor(Tree& tree, F&& f, const std::string& path = "") {
  using Leaf = std::conditional_t<std::is_const_v<Tree>, const Tensor, Tensor>;
  struct Each final : TreeVisitor {
    Each(std::remove_reference_t<F>& call, const std::string& start) : TreeVisitor(start), f(call) {}
    void on_tensor(Tensor& tensor) override { f(path(), static_cast<Leaf&>(tensor)); }
    std::remove_reference_t<F>& f;
  } visitor(f, path);
  walk_tree(tree, visitor);
}

namespace detail {

struct Collector final : TreeVisitor {
  ~Collector() override;
  void on_tensor(Tensor& tensor) override;
  std::vector<Tensor> list;
};
struct Replacer final : TreeVisitor {
  explicit Replacer(std::span<const Tensor> tensors) : list(tensors) {}
  ~Replacer() override;
  void on_tensor(Tensor& tensor) override;
  std::span<const Tensor> list;
  std::size_t next = 0;
};

}  // namespace detail

template <class Tree>
std::vector<Tensor> tensors_of(const Tree& tree) {
  detail::Collector collector;
  walk_tree(tree, collector);
  return std::move(collector.list);
}

// The same tree with its tensors replaced, in order.
template <class Tree>
Tree with_tensors(Tree tree, std::span<const Tensor> tensors) {
  detail::Replacer replacer(tensors);
  walk_tree(tree, replacer);
  if (replacer.next != tensors.size()) detail::wrong_tensor_count(tensors.size(), replacer.next);
  return tree;
}

// f(tensor, tensors of the other trees at the same place) for every tensor: gradient steps, averages, copies.
template <class F, class Tree, class... Others>
Tree map_tree(F&& f, const Tree& tree, const Others&... others) {
  std::vector<Tensor> result = tensors_of(tree);
  const std::array<std::vector<Tensor>, sizeof...(Others)> rest = {tensors_of(others)...};
  for (const auto& list : rest) {
    if (list.size() != result.size()) detail::fail_unlike_trees(result.size(), list.size());
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = [&]<std::size_t... K>(std::index_sequence<K...>) { return f(result[i], rest[K][i]...); }
    (std::make_index_sequence<sizeof...(Others)>());
  }
  return with_tensors(tree, result);
}

}  // namespace tidemark
