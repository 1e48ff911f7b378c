#include "tidemark/plan/verify/byte_range.h"

namespace tidemark {

namespace {

constexpr ByteRange nowhere{-absurd_bytes, absurd_bytes};

}  // namespace

ByteRange byte_range(std::int64_t offset, std::int64_t bytes) {
  if (offset < -absurd_bytes || offset > absurd_bytes || bytes > absurd_bytes) return nowhere;
  return {offset, offset + bytes};
}

ByteRange touched_bytes(const Type& type, std::int64_t offset, const Strides& strides) {
  const std::int64_t size = type.count() == 0 ? 0 : size_of(type.dtype);
  ByteRange range = byte_range(offset, size);
  if (size == 0 || range == nowhere) return range;
  for (int i = 0; i < type.rank(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow((type.shape[i] - 1) * size, strides[i], &reach)) return nowhere;
    if (reach < -absurd_bytes || reach > absurd_bytes) return nowhere;
    (reach < 0 ? range.first : range.last) += reach;
    if (range.first < -absurd_bytes || range.last > absurd_bytes) return nowhere;
  }
  return range;
}

}  // namespace tidemark
