// Attributes of an operation: a plain list of values in the order of the op's own attribute struct.
//
//   struct SliceAttrs { Dims start, limit, step; TM_FIELDS(SliceAttrs, start, limit, step) };
//
// Rules and kernels see the struct (`unpack<SliceAttrs>(attrs)`); printing, parsing, hashing and comparing
// see the list. The struct's default member values are the attribute defaults.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tidemark/base/check.h"
#include "tidemark/base/dtype.h"
#include "tidemark/base/fields.h"
#include "tidemark/base/shape.h"

namespace tidemark {

// Constant data inside a graph, row-major, in the storage format of the dtype.
struct Literal {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;
  friend bool operator==(const Literal&, const Literal&) = default;
};
// A rank-0 literal of the dtype, rounded to it once.
Literal scalar_literal(DType dtype, const Number& value);

using AttrValue = std::variant<bool, std::int64_t, double, std::string, DType, Dims, IntList, Literal>;
using Attrs = std::vector<AttrValue>;

// Equality by bits for doubles, so that NaN equals itself and -0 differs from 0.
bool same_attrs(const Attrs& a, const Attrs& b);
std::size_t hash_attrs(const Attrs& attrs);

struct AttrSpec {
  std::string_view name;
  AttrValue default_value;  // also fixes the kind
};
using AttrSchema = std::vector<AttrSpec>;

struct NoAttrs {
  TM_FIELDS(NoAttrs)
};

namespace detail {
// Broken invariants of ours (TM_CHECK), out of line since every attribute struct asks.
[[noreturn]] void wrong_attribute(std::string_view name);
[[noreturn]] void wrong_attribute_count(std::size_t given, std::size_t expected);
}  // namespace detail

template <HasFields T>
Attrs pack(const T& object) {
  Attrs attrs;
  for_each_field(object, [&](std::string_view, const auto& field) { attrs.emplace_back(field); });
  return attrs;
}

template <HasFields T>
T unpack(const Attrs& attrs) {
  T object;
  std::size_t i = 0;
  for_each_field(object, [&](std::string_view name, auto& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    if (i >= attrs.size() || !std::holds_alternative<Field>(attrs[i])) detail::wrong_attribute(name);
    field = std::get<Field>(attrs[i++]);
  });
  if (i != attrs.size()) detail::wrong_attribute_count(attrs.size(), i);
  return object;
}

template <HasFields T>
const AttrSchema& schema_of() {
  static const AttrSchema schema = [] {
    AttrSchema list;
    const T defaults;
    for_each_field(defaults, [&](std::string_view name, const auto& field) {
      list.push_back({name, field});
    });
    return list;
  }();
  return schema;
}

}  // namespace tidemark
