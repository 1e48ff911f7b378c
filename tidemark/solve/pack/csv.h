// Tables of lifetimes as text: a header with the columns id, lower, upper, size in any order (others are kept
// out of the way), then a line per item. What `tidemark layout` reads, and what it writes back with a column
// `offset`.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/solve/pack/pack.h"

namespace tidemark {

struct PackTable {
  std::vector<std::string> ids;
  std::vector<PackItem> items;
};

// Errors name `file` and the line. A size above the capacity, where one is given, is an error too.
PackTable parse_pack_table(std::string_view text, std::string_view file,
                           std::optional<std::int64_t> capacity = std::nullopt);

// The same, from a file.
PackTable read_pack_table(const std::string& path, std::optional<std::int64_t> capacity = std::nullopt);

// id,lower,upper,size,offset
std::string print_pack_table(const PackTable& table, std::span<const std::int64_t> offsets);

}  // namespace tidemark
