#include "tidemark/scalar/tape_growth.h"

#include <algorithm>

#include <fmt/format.h>

namespace tidemark::scalars {

void TapeGrowth::add(const SourceLine& where, std::size_t bytes) {
  for (Line& line : lines_)
    if (line.where == where) {
      line.bytes += bytes;
      return;
    }
  lines_.push_back({where, bytes});
}

std::string TapeGrowth::largest() const {
  constexpr std::size_t shown = 3;
  std::vector<Line> lines = lines_;
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.bytes > b.bytes; });
  std::size_t all = 0;
  for (const Line& line : lines) all += line.bytes;
  std::string text;
  for (std::size_t i = 0, named = 0; i < lines.size() && named < shown; ++i) {
    if (!lines[i].where.known()) continue;
    if (named++ > 0) text += ", ";
    text += fmt::format("{} ({}%)", short_form(lines[i].where),
                        lines[i].bytes * 100 / std::max<std::size_t>(all, 1));
  }
  return text;
}

}  // namespace tidemark::scalars
