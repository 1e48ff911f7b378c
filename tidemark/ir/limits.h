// What a graph may hold at most. Text from outside is held to these before any size is computed from it, so
// that no product of sizes overflows and the bytes of all values of a graph can be summed in 63 bits.
#pragma once
#include "tidemark/base/attrs.h"
#include "tidemark/base/source.h"
#include "tidemark/ir/type.h"

namespace tidemark {

inline constexpr std::int64_t max_extent = std::int64_t{1}
                                           << 48;  // of one dimension, and of an entry of a list attribute
inline constexpr std::int64_t max_value_bytes = std::int64_t{1} << 48;  // of one value, 256 TiB
inline constexpr int max_region_depth = 64;

// Every size in [0, max_extent], and the bytes within bounds even if sizes of 0 were 1 (strides multiply
// those too).
bool within_limits(const Type& type);

// Throws Error at `where` for a type beyond the limits: bad_attribute for a negative size, else
// out_of_memory. `what` begins the message, as in "iota: ".
void require_within_limits(const Type& type, std::string_view what, SourceLine where);

// The literal's bytes are exactly what its type says, and booleans are 0 or 1.
bool is_well_formed(const Literal& literal);

}  // namespace tidemark
