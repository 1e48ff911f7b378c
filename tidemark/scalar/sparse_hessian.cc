#include "tidemark/scalar/sparse_hessian.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tidemark::scalars {
namespace {

// Rounding takes less of two ways to the same sum, relative to its terms and to the largest entry.
constexpr double noise = 1e-8;

[[noreturn]] void refuse_pattern(std::string what, const SourceLine& where) {
  fail(
      ErrorCode::bad_tape_use,
      {.what = "a pattern of a Hessian " + std::move(what),
       .expected = "a square, symmetric pattern: row_starts of rows + 1 numbers, and the columns of each row "
                   "ascending, each once",
       .where = where,
       .help = "td::plan_hessian(f, x) finds the pattern"});
}

[[noreturn]] void refuse_entry(std::size_t row, std::string column, const SourceLine& where) {
  fail(
      ErrorCode::bad_tape_use,
      {.what = fmt::format("the Hessian has entries outside of the plan's pattern: in row {}{}", row, column),
       .expected = "a pattern with all entries that are not zero at this point",
       .where = where,
       .help = "make the plan at a point that takes the same branches; or leave the plan out"});
}

void check_shape(const SparsePattern& pattern, const SourceLine& where) {
  if (pattern.rows != pattern.columns)
    refuse_pattern(fmt::format("has {} rows and {} columns", pattern.rows, pattern.columns), where);
  if (pattern.row_starts.size() != pattern.rows + 1 || pattern.row_starts.front() != 0 ||
      pattern.row_starts.back() != static_cast<std::int64_t>(pattern.entries()) ||
      !std::is_sorted(pattern.row_starts.begin(), pattern.row_starts.end()))
    refuse_pattern(fmt::format("of {} rows and {} entries has row_starts that do not fit", pattern.rows,
                               pattern.entries()),
                   where);
  for (std::size_t i = 0; i < pattern.rows; ++i) {
    const auto row = pattern.row(i);
    for (std::size_t k = 0; k < row.size(); ++k)
      if (row[k] < 0 || static_cast<std::size_t>(row[k]) >= pattern.columns ||
          (k > 0 && row[k] <= row[k - 1]))
        refuse_pattern(fmt::format("has column {} at place {} of row {}", row[k], k, i), where);
  }
}

SparsePattern with_transposed(const SparsePattern& pattern) {
  const SparsePattern other = pattern.transposed();
  if (other == pattern) return pattern;
  SparsePattern both(pattern.rows, pattern.columns);
  std::vector<std::int32_t> row;
  for (std::size_t i = 0; i < pattern.rows; ++i) {
    const auto a = pattern.row(i), b = other.row(i);
    row.clear();
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(row));
    both.append_row(row);
  }
  return both;
}

}  // namespace

FoundPattern find_pattern(const DependenceGraph& graph, std::span<const Dependent> gradient) {
  std::vector<DependenceGraph::Node> roots;
  roots.reserve(gradient.size());
  for (const Dependent& slope : gradient) roots.push_back(slope.on());
  return {with_transposed(graph.pattern(roots)), graph.branched()};
}

HessianPlan make_plan(SparsePattern pattern, PatternHolds holds) {
  HessianPlan plan;
  plan.pattern = std::move(pattern);
  plan.colouring = colour_stars(plan.pattern);
  plan.holds = holds;
  return plan;
}

HessianPlan plan_hessian(const SparsePattern& pattern, SourceLine where) {
  check_shape(pattern, where);
  const SparsePattern transposed = pattern.transposed();
  for (std::size_t i = 0; i < pattern.rows; ++i) {
    const auto row = pattern.row(i), column = transposed.row(i);
    const auto [a, b] = std::mismatch(row.begin(), row.end(), column.begin(), column.end());
    if (a == row.end() && b == column.end()) continue;
    const std::int32_t j = a == row.end() ? *b : b == column.end() ? *a : std::min(*a, *b);
    const bool in_row = a != row.end() && *a == j;
    refuse_pattern(
        fmt::format("has an entry ({}, {}) and no ({}, {})", in_row ? static_cast<std::int32_t>(i) : j,
                    in_row ? j : static_cast<std::int32_t>(i), in_row ? j : static_cast<std::int32_t>(i),
                    in_row ? static_cast<std::int32_t>(i) : j),
        where);
  }
  return make_plan(pattern, PatternHolds::as_given);
}

void check_plan(const HessianPlan& plan, std::size_t variables, const SourceLine& where) {
  if (plan.pattern.rows != variables)
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("sparse_hessian: a pattern of {} x {} at a point of {} numbers",
                              plan.pattern.rows, plan.pattern.columns, variables),
          .expected = "the function for which the pattern is",
          .where = where});
}

void check_pattern(const HessianPlan& plan, const SparsePattern& pattern, const SourceLine& where) {
  for (std::size_t i = 0; i < pattern.rows; ++i) {
    const auto planned = plan.pattern.row(i), found = pattern.row(i);
    for (auto a = planned.begin(), b = found.begin(); b != found.end(); ++b) {
      a = std::lower_bound(a, planned.end(), *b);
      if (a == planned.end() || *a != *b) refuse_entry(i, fmt::format(", column {}", *b), where);
    }
  }
}

void take_entries(const HessianPlan& plan, std::int32_t first, std::span<const Dual<hessian_lanes>> gradient,
                  std::vector<double>& values) {
  for (std::size_t i = 0, entry = 0; i < plan.pattern.rows; ++i)
    for (const std::int32_t column : plan.pattern.row(i)) {
      const auto j = static_cast<std::size_t>(column);
      const bool mirrored = plan.colouring.mirrored[entry];
      const std::int32_t lane = plan.colouring.colours[mirrored ? i : j] - first;
      if (lane >= 0 && lane < hessian_lanes) values[entry] = gradient[mirrored ? j : i].slope(lane);
      ++entry;
    }
}

double probe(std::size_t variable) {
  const auto bits = (variable + 1) * 0x9e3779b97f4a7c15u;
  return 0.5 + static_cast<double>(bits >> 40) / (1 << 24);
}

void check_product(const SparseMatrix& matrix, std::span<const Dual<hessian_lanes>> gradient, int lane,
                   const SourceLine& where) {
  double largest = 0;
  for (const double value : matrix.values) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0, entry = 0; i < matrix.pattern.rows; ++i) {
    double product = 0, size = 0;
    for (const std::int32_t column : matrix.pattern.row(i)) {
      const double term = matrix.values[entry++] * probe(static_cast<std::size_t>(column));
      product += term;
      size += std::abs(term);
    }
    if (std::abs(gradient[i].slope(lane) - product) > noise * (size + largest)) refuse_entry(i, "", where);
  }
}

}  // namespace tidemark::scalars
