// How a state (an adjoint, a record) becomes bytes and back. Works at once for trivially copyable types, vectors of
// them, and structs that list their members with TM_FIELDS; else specialise Snapshot, or give the type members
// `size() const` (in bytes), `save(std::span<std::byte>) const` and `load(std::span<const std::byte>)`.
// The size may change from state to state but not between a save and its load.
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
  static void load(T& value, std::span<const std::byte> from) { std::memcpy(&value, from.data(), sizeof(T)); }
};

template <class T, class A>
requires(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>) struct Snapshot<std::vector<T, A>> {
  static std::size_t size(const std::vector<T, A>& value) { return value.size() * sizeof(T); }
  static void save(const std::vector<T, A>& value, std::span<std::byte> to) {
    if (!value.empty()) std::memcpy(to.data(), value.data(), value.size() * sizeof(T));
  }
  static void load(std::vector<T, A>& value, std::span<const std::byte> from) {
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
    for_each_field(value, [&](const char*, auto& field) {
      std::uint64_t length = 0;
      std::memcpy(&length, from.data(), 8);
      Snapshot<std::remove_cvref_t<decltype(field)>>::load(field, from.subspan(8, length));
      from = from.subspan(8 + length);
    });
  }
};

}  // namespace tidemark::schedule
