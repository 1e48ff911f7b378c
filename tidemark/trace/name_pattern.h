// Patterns of tensor names. `*` stands for any text, dots included, and `?` for one character:
//   "blocks.*.attention.query"  matches  blocks.3.attention.query
// `*.gain` also means a `gain` at the top. In a replacement, stars stand for what those of the pattern met,
// in order, the longest first:
//   {"blocks.*.attention.query", "h.*.attn.q"}  turns it into  h.3.attn.q
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark {

using NamePattern = std::pair<std::string, std::string>;  // from, to

// What the stars met; none where the name is another.
std::optional<std::vector<std::string>> match_name(std::string_view pattern, std::string_view name);
bool matches_name(std::string_view pattern, std::string_view name);
bool matches_any(std::span<const std::string> patterns, std::string_view name);

// By the first pattern that matches; the name itself where none does. Throws Error `bad_attribute` for a
// replacement with more stars than its pattern.
std::string renamed(std::span<const NamePattern> patterns, const std::string& name);

}  // namespace tidemark
