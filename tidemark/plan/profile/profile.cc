#include "tidemark/plan/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/base/text_file.h"

namespace tidemark {

const ProfileRun& Profile::typical() const {
  TM_CHECK(!runs.empty(), "a profile without a run");
  std::vector<const ProfileRun*> sorted;
  for (const ProfileRun& run : runs) sorted.push_back(&run);
  std::ranges::stable_sort(sorted, {}, &ProfileRun::seconds);
  return *sorted[(sorted.size() - 1) / 2];
}

double Profile::measured() const { return typical().seconds; }

namespace {

struct Sum {
  double measured = 0, predicted = 0;
  int kernels = 0;
};

}  // namespace

std::string ops_of(const ProfileBody& body, const ProfileKernel& kernel) {
  constexpr std::size_t most_shown = 6;
  std::vector<std::string_view> ops;
  for (std::int32_t s = kernel.first; s < kernel.last; ++s) {
    const std::string_view op = body.steps[static_cast<std::size_t>(s)].op;
    if (std::ranges::count(ops, op) == 0) ops.push_back(op);
  }
  const bool more = ops.size() > most_shown;
  if (more) ops.resize(most_shown);
  return fmt::format("{}{}", fmt::join(ops, " "), more ? " …" : "");
}

std::string Profile::summary() const {
  constexpr std::size_t most_rows = 12;
  std::map<std::string, Sum> sums;
  double busy = 0;
  for (const ProfileKernel& kernel : body.kernels) {
    Sum& sum = sums[(kernel.last - kernel.first > 1 ? "group: " : "") + ops_of(body, kernel)];
    sum.measured += kernel.measured;
    sum.predicted += kernel.predicted;
    ++sum.kernels;
    busy += kernel.measured;
  }
  std::vector<std::pair<std::string, Sum>> rows(sums.begin(), sums.end());
  std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.second.measured; });

  std::string text =
      fmt::format("plan {} on {}, {} run{}: {:.3f} ms measured (median), {:.3f} ms predicted\n", plan_hash,
                  machine, runs.size(), runs.size() == 1 ? "" : "s", 1e3 * measured(), 1e3 * predicted);
  for (const ProfileMemory& memory : memories) {
    text += fmt::format("memory {:<10} {:>12} planned, {} used{}\n", memory.name,
                        to_string(Bytes(memory.planned_peak())), to_string(Bytes(memory.peak())),
                        memory.peak() == memory.planned_peak() ? ", as planned to the byte" : "");
  }
  text += fmt::format("\n{:>7} {:>12} {:>12} {:>8}  {}\n", "share", "measured ms", "predicted", "kernels",
                      "what");
  for (std::size_t i = 0; i < rows.size() && i < most_rows; ++i) {
    const auto& [name, sum] = rows[i];
    text +=
        fmt::format("{:>6.1f}% {:>12.3f} {:>12.3f} {:>8}  {}\n", busy > 0 ? 100 * sum.measured / busy : 0.0,
                    1e3 * sum.measured, 1e3 * sum.predicted, sum.kernels, name);
  }
  if (rows.size() > most_rows) text += fmt::format("{:>42}  and {} others\n", "", rows.size() - most_rows);
  return text;
}

void Profile::write(const std::string& path) const { write_text_file(path, to_json(*this) + '\n'); }

void Profile::write_trace(const std::string& path) const { write_text_file(path, to_trace() + '\n'); }

}  // namespace tidemark
