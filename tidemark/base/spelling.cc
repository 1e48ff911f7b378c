#include "tidemark/base/spelling.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tidemark {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_up, up(b.size() + 1), row(b.size() + 1);  // of the prefixes of a
  std::iota(up.begin(), up.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({up[j] + 1, row[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_up[j - 2] + 1);
    }
    two_up = up;
    up = row;
  }
  return up.back();
}

std::string nearest_name(std::string_view name, std::span<const std::string_view> names) {
  constexpr std::size_t longest = 100;  // what is longer is no name
  if (name.size() > longest) return "";
  std::string best;
  std::size_t limit = name.size() <= 3 ? 2 : 3;
  for (const std::string_view known : names) {
    const std::size_t distance = edit_distance(name, known);
    if (distance < limit) limit = distance, best = known;
  }
  return best;
}

}  // namespace tidemark
