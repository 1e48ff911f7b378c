// The elements that files hold: our dtypes, whole numbers of other sizes, which are loaded as the next larger
// dtype that we have, and formats that can only be told apart (8-bit floats and the like).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tidemark/base/dtype.h"

namespace tidemark {

enum class Element : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  f6_e2m3,
  f6_e3m2,
  f4,
  c64
};

struct ElementFacts {
  Element element;
  std::string_view name;  // as safetensors writes it
  int bits;
  std::optional<DType> dtype;  // what it is loaded as; none: it is not
};

const ElementFacts& facts_of(Element element);
std::optional<Element> element_named(std::string_view safetensors_name);
Element element_of(DType dtype);
bool is_stored_as_is(Element element);  // its bytes are those of the dtype it is loaded as

// `count` elements, converted. To a floating dtype everything goes, rounded once; to an integer only what
// fits it exactly, and to bool only bool. None, or the position of the first that does not.
std::optional<std::int64_t> convert_elements(Element from, const std::byte* bytes, DType to, std::byte* into,
                                             std::int64_t count);
// Whether there is such a conversion at all.
bool is_convertible(Element from, DType to);

}  // namespace tidemark
