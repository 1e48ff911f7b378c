#include "tidemark/trace/name_pattern.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

// Several stars in a row are one.
std::size_t stars_at(std::string_view pattern) {
  return std::min(pattern.find_first_not_of('*'), pattern.size());
}

// The longest text for the first star, then for the next.
bool match_rest(std::string_view pattern, std::string_view name, std::vector<std::string>& met) {
  const auto fits = [](char p, char n) { return p == '?' || p == n; };
  std::size_t same = 0;
  while (same < std::min(pattern.size(), name.size()) && pattern[same] != '*' &&
         fits(pattern[same], name[same]))
    ++same;
  pattern.remove_prefix(same);
  name.remove_prefix(same);
  if (pattern.empty()) return name.empty();
  const std::size_t stars = stars_at(pattern);
  if (stars == 0) return false;
  for (std::size_t taken = name.size() + 1; taken-- > 0;) {
    met.emplace_back(name.substr(0, taken));
    if (match_rest(pattern.substr(stars), name.substr(taken), met)) return true;
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

bool matches_name(std::string_view pattern, std::string_view name) {
  return match_name(pattern, name) || (pattern.starts_with("*.") && match_name(pattern.substr(2), name));
}

bool matches_any(std::span<const std::string> patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const std::string& p) { return matches_name(p, name); });
}

std::string renamed(std::span<const NamePattern> patterns, const std::string& name) {
  for (const auto& [from, to] : patterns) {
    const auto met = match_name(from, name);
    if (!met) continue;
    std::string result;
    std::size_t next = 0;
    for (std::size_t i = 0; i < to.size();) {
      const std::size_t stars = stars_at(std::string_view(to).substr(i));
      if (stars == 0) {
        result += to[i++];
        continue;
      }
      if (next == met->size()) {
        fail(ErrorCode::bad_attribute,
             {.what = fmt::format("`{}` has more stars than `{}`, which it should replace", to, from),
              .expected = "as many in the name of the file as in that of the tree"});
      }
      result += (*met)[next++];
      i += stars;
    }
    return result;
  }
  return name;
}

}  // namespace tidemark
