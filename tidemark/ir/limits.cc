#include "tidemark/ir/limits.h"

namespace tidemark {

bool within_limits(const Type& type) {
  std::int64_t bytes = size_of(type.dtype);
  for (std::int64_t size : type.shape) {
    if (size < 0 || size > max_extent) return false;
    if (size > 1 && __builtin_mul_overflow(bytes, size, &bytes)) return false;
    if (bytes > max_value_bytes) return false;
  }
  return true;
}

bool is_well_formed(const Literal& literal) {
  const Type type{literal.dtype, literal.shape};
  if (!within_limits(type) || static_cast<std::size_t>(type.bytes()) != literal.bytes.size()) return false;
  if (literal.dtype != DType::boolean) return true;
  return std::all_of(literal.bytes.begin(), literal.bytes.end(),
                     [](std::byte b) { return b <= std::byte{1}; });
}

}  // namespace tidemark
