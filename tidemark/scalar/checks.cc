#include "tidemark/scalar/checks.h"

#include <fmt/format.h>

namespace tidemark::scalars {

void Checks::expect(Id index, const SourceLine& where) {
  std::uint32_t entry = last_ | inexact;
  if (where.known()) {
    if (last_ == 0 || !(table_[last_] == where)) {
      const auto found = std::find(table_.begin(), table_.end(), where);
      last_ = static_cast<std::uint32_t>(found - table_.begin());
      if (found == table_.end()) table_.push_back(where);
    }
    entry = last_;
  }
  if (lines_.size() <= index) lines_.resize(index + 1, 0);
  lines_[index] = entry;
  expected_ = index;
}

void Checks::forget(Id begin, Id end) {
  while (!forgotten_.empty() && forgotten_.back().end > begin) {
    begin = std::min(begin, forgotten_.back().begin);
    forgotten_.pop_back();
  }
  forgotten_.push_back({begin, end});
}

bool Checks::forgotten(Id index) const {
  const auto behind = std::upper_bound(forgotten_.begin(), forgotten_.end(), index,
                                       [](Id i, const Range& range) { return i < range.begin; });
  return behind != forgotten_.begin() && index < std::prev(behind)->end;
}

const SourceLine& Checks::line(Id index) const {
  return table_[index < lines_.size() ? lines_[index] & ~inexact : 0];
}

std::string Checks::text_of_line(Id index) const {
  const SourceLine& at = line(index);
  if (!at.known()) return "in front of any line that is known";
  return fmt::format("{} {}", (lines_[index] & inexact) != 0 ? "at or after" : "at", short_form(at));
}

void Checks::find(Finding::Kind kind, const SourceLine& where, const std::string& what,
                  const std::string& line) {
  if (findings_.size() >= most_findings) return;
  for (const Finding& finding : findings_)
    if (finding.kind == kind && finding.where == where) return;
  findings_.push_back({kind, where, fmt::format("{}, {}", what, line)});
}

void Checks::find(Finding::Kind kind, Id index, const std::string& what) {
  find(kind, line(index), what, text_of_line(index));
}

std::size_t Checks::bytes() const {
  return sizeof *this + table_.capacity() * sizeof(table_[0]) + lines_.capacity() * sizeof(lines_[0]) +
         forgotten_.capacity() * sizeof(forgotten_[0]) + findings_.capacity() * sizeof(findings_[0]);
}

void Checks::clear() {
  lines_.clear();
  forgotten_.clear();
  findings_.clear();
  last_ = 0;
  expected_ = 0;
  recording = nullptr;
  looked_at = 0;
}

}  // namespace tidemark::scalars
