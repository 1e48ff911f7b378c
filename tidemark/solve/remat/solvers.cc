#include "tidemark/solve/remat/solvers.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/solve/remat/portfolio.h"

namespace tidemark {
namespace {

std::size_t row_of(std::string_view name) {
  const std::span<const Solver> solvers = portfolio();
  const auto found = std::ranges::find(solvers, name, [](const Solver& s) { return s.info.name; });
  if (found != solvers.end()) return static_cast<std::size_t>(found - solvers.begin());
  std::string names;
  for (const Solver& s : solvers) names += fmt::format("{}{}", names.empty() ? "" : ", ", s.info.name);
  fail(ErrorCode::bad_plan_option,
       {.what = fmt::format("there is no solver `{}`", name.substr(0, 60)), .expected = names});
}

}  // namespace

std::vector<SolverInfo> solver_list() {
  std::vector<SolverInfo> list;
  for (const Solver& solver : portfolio()) list.push_back(solver.info);
  return list;
}

SolverChoice::SolverChoice(const std::vector<std::string>& only, const std::vector<std::string>& without) {
  if (!only.empty()) left_out_ = ~std::uint32_t{0};
  for (const std::string& name : only) left_out_ &= ~(std::uint32_t{1} << row_of(name));
  for (const std::string& name : without) left_out_ |= std::uint32_t{1} << row_of(name);
}

SolverLog empty_log(const SolverChoice& choice) {
  SolverLog log;
  for (const Solver& solver : portfolio())
    log.push_back({.name = solver.info.name, .chosen = choice.has(log.size())});
  return log;
}

void add_to_log(SolverLog& log, const SolverLog& later) {
  if (log.empty()) {
    log = later;
    return;
  }
  for (std::size_t row = 0; row < later.size(); ++row) {
    SolverRecord& all = log[row];
    const SolverRecord& more = later[row];
    all.runs += more.runs;
    all.work_units += more.work_units;
    all.improved += more.improved;
    if (more.improved == 0) continue;
    all.cost_before = more.cost_before;
    all.cost_after = more.cost_after;
  }
}

}  // namespace tidemark
