// Runs rows of passes over a subject: those over graphs (opt/optimize.cc) and those that make a plan
// (plan/passes/pipeline.cc). A row says what the pass is called, whether it may be left out, and why it
// stands where it does; skipping by name, timing and the report come with the row.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/check.h"

namespace tidemark {

struct PassInfo {
  std::string_view name;
  bool optional = false;
  std::string_view why;
};

// `With`: what passes get beside the subject.
template <class Subject, class... With>
struct PassRow {
  PassInfo info;
  Subject (*run)(Subject, const With&...);
};

struct PassReport {
  std::string_view name;
  bool skipped = false;
  int runs = 0;
  double seconds = 0;              // of all runs, without what is done around them
  std::int64_t work_units = 0;     // node visits of a search; the same on every machine
  std::int64_t nodes_removed = 0;  // of a graph
  std::int64_t peak = 0;           // of the plan if it were finished here, where that is asked for
};

template <class Row>
std::vector<PassInfo> infos_of(std::span<const Row> rows) {
  std::vector<PassInfo> list;
  for (const Row& row : rows) list.push_back(row.info);
  return list;
}

// Throws Error for a name that none of the optional passes has.
void check_skipped_passes(std::span<const PassInfo> passes, std::span<const std::string> skip);

template <class Subject, class... With>
class PassDriver {
 public:
  using Row = PassRow<Subject, With...>;
  // Called before and after each run, outside of what is timed: to count, to show, to check.
  using Watch = std::function<void(const Subject&, PassReport&)>;

  PassDriver(std::span<const Row> rows, std::span<const std::string> skip) : rows_(rows) {
    check_skipped_passes(infos_of(rows), skip);
    for (const Row& row : rows) reports_.push_back({.name = row.info.name});
    for (const std::string& name : skip) leave_out(name);
  }

  void leave_out(std::string_view name) { reports_[index_of(name)].skipped = true; }
  void watch(Watch before, Watch after) {
    before_ = std::move(before);
    after_ = std::move(after);
  }

  // The passes from the one named `first` up to the one named `last`, which is not run; no name: to the end.
  Subject run(Subject subject, std::string_view first, std::string_view last, const With&... with) {
    const std::size_t end = last.empty() ? rows_.size() : index_of(last);
    for (std::size_t p = index_of(first); p < end; ++p) {
      PassReport& report = reports_[p];
      if (report.skipped) continue;
      if (before_) before_(subject, report);
      const auto start = std::chrono::steady_clock::now();
      subject = rows_[p].run(std::move(subject), with...);
      report.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      ++report.runs;
      if (after_) after_(subject, report);
    }
    return subject;
  }

  // One for each row, in order.
  const std::vector<PassReport>& reports() const { return reports_; }

 private:
  std::size_t index_of(std::string_view name) const {
    std::size_t p = 0;
    while (p < rows_.size() && rows_[p].info.name != name) ++p;
    TM_CHECK(p < rows_.size(), "no pass is called {}", name);
    return p;
  }

  std::span<const Row> rows_;
  std::vector<PassReport> reports_;
  Watch before_, after_;
};

}  // namespace tidemark
