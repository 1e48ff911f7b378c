// Codecs: other forms that a value can wait in. Facts that a plan is made and judged by, and the two ways.
//
//   plain ──encode──▶ bytes(type) at most, known before anything runs ──decode──▶ plain
//
// Forward values are never touched: only what is read later may be what was decoded.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tidemark/ir/type.h"

namespace tidemark {

struct Codec {
  std::string_view name;
  bool exact = true;                             // decoding gives the very bits
  bool (*takes)(const Type&) = nullptr;          // is there such a form of values of this type?
  std::int64_t (*bytes)(const Type&) = nullptr;  // that the form takes at most
  void (*encode)(const Type&, const std::byte* plain, std::byte* coded) = nullptr;
  void (*decode)(const Type&, const std::byte* coded, std::byte* plain) = nullptr;
};

std::span<const Codec> codecs();                 // all there are
const Codec* find_codec(std::string_view name);  // null: there is none of that name

}  // namespace tidemark
