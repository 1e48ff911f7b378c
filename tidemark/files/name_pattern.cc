#include "tidemark/files/name_pattern.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

struct Wildcard {
  std::size_t length = 0;  // of its text: 0 for none, 1 for *, 2 for **
  bool takes(char c) const { return length == 2 || c != '.'; }
};

Wildcard wildcard_at(std::string_view pattern) {
  return {pattern.starts_with("**") ? 2u : pattern.starts_with('*') ? 1u : 0u};
}

// The longest text for the first wildcard, then for the next.
bool match_rest(std::string_view pattern, std::string_view name, std::vector<std::string>& met) {
  std::size_t same = 0;
  while (same < pattern.size() && pattern[same] != '*' && same < name.size() && pattern[same] == name[same])
    ++same;
  pattern.remove_prefix(same);
  name.remove_prefix(same);
  if (pattern.empty()) return name.empty();
  const Wildcard wildcard = wildcard_at(pattern);
  if (wildcard.length == 0) return false;
  std::size_t most = 0;
  while (most < name.size() && wildcard.takes(name[most])) ++most;
  const std::size_t least = wildcard.length == 1 ? 1 : 0;
  for (std::size_t taken = most + 1; taken-- > least;) {
    met.emplace_back(name.substr(0, taken));
    if (match_rest(pattern.substr(wildcard.length), name.substr(taken), met)) return true;
    met.pop_back();
  }
  return false;
}

}  // namespace

std::optional<std::vector<std::string>> match_name(std::string_view pattern, std::string_view name) {
  std::vector<std::string> met;
  if (!match_rest(pattern, name, met)) return {};
  return met;
}

bool matches_any(std::span<const std::string> patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const std::string& p) { return match_name(p, name).has_value(); });
}

std::string renamed(std::span<const NamePattern> patterns, const std::string& name) {
  for (const auto& [from, to] : patterns) {
    const auto met = match_name(from, name);
    if (!met) continue;
    std::string result;
    std::size_t next = 0;
    for (std::size_t i = 0; i < to.size();) {
      const Wildcard wildcard = wildcard_at(std::string_view(to).substr(i));
      if (wildcard.length == 0) {
        result += to[i++];
        continue;
      }
      if (next == met->size()) {
        fail(ErrorCode::bad_attribute,
             {.what = fmt::format("`{}` has more wildcards than `{}`, which it should replace", to, from),
              .expected = "as many in the name of the file as in that of the tree"});
      }
      result += (*met)[next++];
      i += wildcard.length;
    }
    return result;
  }
  return name;
}

}  // namespace tidemark
