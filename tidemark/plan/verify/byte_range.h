// The bytes of a buffer that a reference touches, where offset and strides may be anything: a plan may come
// from a file.
#pragma once
#include <cstdint>

#include "tidemark/base/shape.h"
#include "tidemark/ir/type.h"

namespace tidemark {

// No memory is this large: sums of figures below it do not overflow.
inline constexpr std::int64_t absurd_bytes = std::int64_t{1} << 50;

// [first, last)
struct ByteRange {
  std::int64_t first = 0, last = 0;
  bool operator==(const ByteRange&) const = default;
  bool meets(const ByteRange& other) const { return first < other.last && other.first < last; }
};

// What overflows becomes a range that no buffer has.
ByteRange byte_range(std::int64_t offset, std::int64_t bytes);
// From the lowest byte that is touched to the highest.
ByteRange touched_bytes(const Type& type, std::int64_t offset, const Strides& strides);

}  // namespace tidemark
