#include "tidemark/files/element.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tidemark/base/check.h"

namespace tidemark {
namespace {

// In the order of Element.
constexpr std::array<ElementFacts, 20> all_elements = {{{Element::f64, "F64", 64, DType::f64},
                                                        {Element::f32, "F32", 32, DType::f32},
                                                        {Element::f16, "F16", 16, DType::f16},
                                                        {Element::bf16, "BF16", 16, DType::bf16},
                                                        {Element::i64, "I64", 64, DType::i64},
                                                        {Element::i32, "I32", 32, DType::i32},
                                                        {Element::i16, "I16", 16, DType::i32},
                                                        {Element::i8, "I8", 8, DType::i32},
                                                        {Element::u64, "U64", 64, DType::i64},
                                                        {Element::u32, "U32", 32, DType::i64},
                                                        {Element::u16, "U16", 16, DType::i32},
                                                        {Element::u8, "U8", 8, DType::u8},
                                                        {Element::boolean, "BOOL", 8, DType::boolean},
                                                        {Element::f8_e4m3, "F8_E4M3", 8, {}},
                                                        {Element::f8_e5m2, "F8_E5M2", 8, {}},
                                                        {Element::f8_e8m0, "F8_E8M0", 8, {}},
                                                        {Element::f6_e2m3, "F6_E2M3", 6, {}},
                                                        {Element::f6_e3m2, "F6_E3M2", 6, {}},
                                                        {Element::f4, "F4", 4, {}},
                                                        {Element::c64, "C64", 64, {}}}};

template <class T>
Number number_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

Number number_of(Element element, const std::byte* at) {
  switch (element) {
    case Element::i16:
      return number_at<std::int16_t>(at);
    case Element::i8:
      return number_at<std::int8_t>(at);
    case Element::u64:
      return number_at<std::uint64_t>(at);
    case Element::u32:
      return number_at<std::uint32_t>(at);
    case Element::u16:
      return number_at<std::uint16_t>(at);
    default:
      return read_element(*facts_of(element).dtype, at);
  }
}

}  // namespace

const ElementFacts& facts_of(Element element) { return all_elements[static_cast<std::size_t>(element)]; }

std::optional<Element> element_named(std::string_view safetensors_name) {
  const auto found = std::ranges::find(all_elements, safetensors_name, &ElementFacts::name);
  if (found == all_elements.end()) return {};
  return found->element;
}

Element element_of(DType dtype) {
  const auto found = std::ranges::find_if(
      all_elements, [&](const ElementFacts& f) { return f.dtype == dtype && is_stored_as_is(f.element); });
  TM_CHECK(found != all_elements.end());
  return found->element;
}

bool is_stored_as_is(Element element) {
  const ElementFacts& facts = facts_of(element);
  return facts.dtype && size_of(*facts.dtype) * 8 == facts.bits && element != Element::u64;
}

bool is_convertible(Element from, DType to) {
  const std::optional<DType> loaded = facts_of(from).dtype;
  if (!loaded) return false;
  if (to == DType::boolean || *loaded == DType::boolean) return to == *loaded;
  return is_float(to) || is_integer(*loaded);
}

std::optional<std::int64_t> convert_elements(Element from, const std::byte* bytes, DType to, std::byte* into,
                                             std::int64_t count) {
  const std::int64_t in = facts_of(from).bits / 8, out = size_of(to);
  for (std::int64_t i = 0; i < count; ++i) {
    const Number number = number_of(from, bytes + i * in);
    if (!is_float(to) && !fits(to, number)) return i;
    write_element(to, number, into + i * out);
  }
  return {};
}

}  // namespace tidemark
