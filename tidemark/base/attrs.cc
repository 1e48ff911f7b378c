#include "tidemark/base/attrs.h"

#include <bit>
#include <functional>

namespace tidemark {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

struct Hash {
  std::size_t operator()(double x) const {
    return std::hash<std::uint64_t>{}(std::bit_cast<std::uint64_t>(x));
  }
  std::size_t operator()(const Dims& dims) const {
    std::size_t h = dims.size();
    for (std::int64_t v : dims) h = mix(h, std::hash<std::int64_t>{}(v));
    return h;
  }
  std::size_t operator()(const IntList& list) const {
    std::size_t h = list.size();
    for (std::int64_t v : list) h = mix(h, std::hash<std::int64_t>{}(v));
    return h;
  }
  std::size_t operator()(const Literal& literal) const {
    const std::string_view raw(reinterpret_cast<const char*>(literal.bytes.data()), literal.bytes.size());
    return mix(mix(static_cast<std::size_t>(literal.dtype), (*this)(literal.shape)),
               std::hash<std::string_view>{}(raw));
  }
  std::size_t operator()(DType t) const { return static_cast<std::size_t>(t); }
  template <class T>
  std::size_t operator()(const T& value) const {
    return std::hash<T>{}(value);
  }
};

}  // namespace

Literal scalar_literal(DType dtype, const Number& value) {
  Literal literal{
      .dtype = dtype, .shape = {}, .bytes = std::vector<std::byte>(static_cast<std::size_t>(size_of(dtype)))};
  write_element(dtype, value, literal.bytes.data());
  return literal;
}

bool same_attrs(const Attrs& a, const Attrs& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].index() != b[i].index()) return false;
    if (const double* x = std::get_if<double>(&a[i])) {
      if (std::bit_cast<std::uint64_t>(*x) != std::bit_cast<std::uint64_t>(std::get<double>(b[i])))
        return false;
    } else if (a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

std::size_t hash_attrs(const Attrs& attrs) {
  std::size_t h = attrs.size();
  for (const AttrValue& value : attrs) h = mix(mix(h, value.index()), std::visit(Hash{}, value));
  return h;
}

namespace detail {

void wrong_attribute(std::string_view name) {
  check_failed("the attribute's kind", SourceLine(__FILE__, __LINE__),
               fmt::format("attribute {} has another kind", name));
}
void wrong_attribute_count(std::size_t given, std::size_t expected) {
  check_failed("the number of attributes", SourceLine(__FILE__, __LINE__),
               fmt::format("{} attributes, expected {}", given, expected));
}

}  // namespace detail
}  // namespace tidemark
