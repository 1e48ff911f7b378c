// How a state (an adjoint, a record) becomes bytes and back. Works at once for trivially copyable types,
// vectors of them, and structs that list their members with TM_FIELDS; else specialise Snapshot, or give the
// type members `size() const` (in bytes), `save(std::span<std::byte>) const` and `load(std::span<const
// std::byte>)`. The size may change from state to state but not between a save and its load. Bytes come back
// from files: a load that finds them of another length than its type can have throws Error `run_directory`.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "tidemark/base/fields.h"

namespace tidemark::schedule {

namespace detail {
// `what` of so many bytes cannot be made of those that there are.
[[noreturn]] void refuse_snapshot(const char* what, std::size_t there, std::size_t needed);
}  // namespace detail

template <class T>
concept SavesItself = requires(const T& value, T& out, std::span<std::byte> to,
                               std::span<const std::byte> from) {
  { value.size() } -> std::convertible_to<std::size_t>;
  value.save(to);
  out.load(from);
};

// Types without snapshots end in this one.
template <class T>
struct Snapshot {};

template <SavesItself T>
struct Snapshot<T> {
  static std::size_t size(const T& value) { return value.size(); }
  static void save(const T& value, std::span<std::byte> to) { value.save(to); }
  static void load(T& value, std::span<const std::byte> from) { value.load(from); }
};

template <class T>
concept Snapshotter = requires(const T& value, T& out, std::span<std::byte> to,
                               std::span<const std::byte> from) {
  { Snapshot<T>::size(value) } -> std::convertible_to<std::size_t>;
  Snapshot<T>::save(value, to);
  Snapshot<T>::load(out, from);
};

template <class T>
requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !SavesItself<T> &&
         !HasFields<T>) struct Snapshot<T> {
  static std::size_t size(const T&) { return sizeof(T); }
  static void save(const T& value, std::span<std::byte> to) { std::memcpy(to.data(), &value, sizeof(T)); }
  static void load(T& value, std::span<const std::byte> from) {
    if (from.size() != sizeof(T)) detail::refuse_snapshot("a value", from.size(), sizeof(T));
    std::memcpy(&value, from.data(), sizeof(T));
  }
};

template <class T, class A>
requires(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>) struct Snapshot<std::vector<T, A>> {
  static std::size_t size(const std::vector<T, A>& value) { return value.size() * sizeof(T); }
  static void save(const std::vector<T, A>& value, std::span<std::byte> to) {
    if (!value.empty()) std::memcpy(to.data(), value.data(), value.size() * sizeof(T));
  }
  static void load(std::vector<T, A>& value, std::span<const std::byte> from) {
    if (from.size() % sizeof(T) != 0) detail::refuse_snapshot("elements", from.size(), sizeof(T));
    value.resize(from.size() / sizeof(T));
    if (!value.empty()) std::memcpy(value.data(), from.data(), from.size());
  }
};

// Member by member, each after eight bytes that say its length.
template <HasFields T>
requires(!SavesItself<T>) struct Snapshot<T> {
  static std::size_t size(const T& value) {
    std::size_t total = 0;
    for_each_field(value, [&](const char*, const auto& field) {
      total += 8 + Snapshot<std::remove_cvref_t<decltype(field)>>::size(field);
    });
    return total;
  }
  static void save(const T& value, std::span<std::byte> to) {
    for_each_field(value, [&](const char*, const auto& field) {
      using Field = Snapshot<std::remove_cvref_t<decltype(field)>>;
      const std::uint64_t length = Field::size(field);
      std::memcpy(to.data(), &length, 8);
      Field::save(field, to.subspan(8, length));
      to = to.subspan(8 + length);
    });
  }
  static void load(T& value, std::span<const std::byte> from) {
    for_each_field(value, [&](const char* name, auto& field) {
      std::uint64_t length = 0;
      if (from.size() < 8) detail::refuse_snapshot(name, from.size(), 8);
      std::memcpy(&length, from.data(), 8);
      from = from.subspan(8);
      if (length > from.size()) detail::refuse_snapshot(name, from.size(), length);
      Snapshot<std::remove_cvref_t<decltype(field)>>::load(field, from.first(length));
      from = from.subspan(length);
    });
    if (!from.empty()) detail::refuse_snapshot("what follows the last member", from.size(), 0);
  }
};

}  // namespace tidemark::schedule
