#include "tidemark/ir/codec.h"

#include <algorithm>

namespace tidemark {
namespace {

// Booleans, one bit each, the first in the lowest bit of the first byte. A byte of ours is 0 or 1.
bool is_boolean(const Type& type) { return type.dtype == DType::boolean; }

std::int64_t bytes_of_bits(const Type& type) { return (type.count() + 7) / 8; }

void encode_bits(const Type& type, const std::byte* plain, std::byte* coded) {
  const std::int64_t count = type.count();
  for (std::int64_t i = 0; i < count; i += 8) {
    unsigned byte = 0;
    for (std::int64_t k = i; k < std::min(i + 8, count); ++k) {
      byte |= static_cast<unsigned>(plain[k] != std::byte{0}) << (k - i);
    }
    coded[i / 8] = static_cast<std::byte>(byte);
  }
}

void decode_bits(const Type& type, const std::byte* coded, std::byte* plain) {
  const std::int64_t count = type.count();
  for (std::int64_t i = 0; i < count; i += 8) {
    const auto byte = static_cast<unsigned>(coded[i / 8]);
    for (std::int64_t k = i; k < std::min(i + 8, count); ++k)
      plain[k] = static_cast<std::byte>((byte >> (k - i)) & 1u);
  }
}

constexpr Codec table[] = {
    {.name = "bits",
     .takes = is_boolean,
     .bytes = bytes_of_bits,
     .encode = encode_bits,
     .decode = decode_bits},
};

}  // namespace

std::span<const Codec> codecs() { return table; }

const Codec* find_codec(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Codec::name);
  return found == std::end(table) ? nullptr : found;
}

}  // namespace tidemark
