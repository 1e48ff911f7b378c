#include "tidemark/ir/limits.h"

#include <fmt/format.h>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"

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

void require_within_limits(const Type& type, std::string_view what, SourceLine where) {
  if (within_limits(type)) return;
  if (std::ranges::any_of(type.shape, [](std::int64_t size) { return size < 0; })) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}a tensor {}", what, to_string(type)),
                                    .expected = "sizes of 0 or more",
                                    .where = where});
  }
  fail(ErrorCode::out_of_memory,
       {.what = fmt::format("{}a tensor {} is too large", what, to_string(type)),
        .expected = fmt::format("at most {} ({} bytes), and sizes of at most {}",
                                to_string(Bytes(max_value_bytes)), max_value_bytes, max_extent),
        .where = where});
}

bool is_well_formed(const Literal& literal) {
  const Type type{literal.dtype, literal.shape};
  if (!within_limits(type) || static_cast<std::size_t>(type.bytes()) != literal.bytes.size()) return false;
  if (literal.dtype != DType::boolean) return true;
  return std::all_of(literal.bytes.begin(), literal.bytes.end(),
                     [](std::byte b) { return b <= std::byte{1}; });
}

}  // namespace tidemark
