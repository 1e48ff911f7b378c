#include "tidemark/scalar/jacobian.h"

#include <fmt/format.h>

#include "tidemark/scalar/forward_sweep.h"
#include "tidemark/scalar/pattern.h"

namespace tidemark::scalars {
namespace {

// A forward sweep reads codes twice, and takes tangents of everything, where a reversal skips what no result
// depends on.
constexpr double forward_price = 1.7;

double sweeps(std::size_t directions) {
  return static_cast<double>((directions + most_lanes - 1) / most_lanes);
}

// What a forward sweep takes beside the recording.
std::size_t forward_bytes(const Tape& tape, std::size_t results) {
  return forward_sweep_bytes<Pack<double, most_lanes>>(tape.view(), results);
}
bool may_go_forward(const Tape& tape, std::size_t results) {
  return tape.view().recording.events.empty() && forward_bytes(tape, results) <= tape.spare();
}

bool forward_is_cheaper(const Tape& tape, std::size_t results, std::size_t by_columns) {
  return may_go_forward(tape, results) && sweeps(by_columns) * forward_price < sweeps(results);
}

// Directions are groups of columns: `group(column)`. use(first, count, tangents), for up to 16 groups from
// `first` on, is given the tangents of all results.
template <class GroupOf, class Use>
void forward_groups(Tape& tape, std::span<const Real> results, std::size_t groups, const SourceLine& where,
                    GroupOf&& group, Use&& use) {
  const auto loan = tape.lend(forward_bytes(tape, results.size()), "a forward sweep", where);
  for (std::size_t first = 0; first < groups; first += most_lanes) {
    const std::size_t count = std::min<std::size_t>(most_lanes, groups - first);
    with_lanes(count, [&](auto lanes) {
      using A = Pack<double, lanes()>;
      const std::vector<A> tangents = forward_sweep<A>(
          tape.view(),
          [&](std::size_t column) {
            A pack;
            const std::size_t lane = group(column) - first;
            if (lane < count) pack[lane] = 1;
            return pack;
          },
          results);
      use(first, count, tangents);
    });
  }
}

}  // namespace

Matrix jacobian_of(Tape& tape, std::span<const Real> results, SourceLine where) {
  tape.check_results(results, where);
  const std::size_t rows = results.size(), columns = tape.view().recording.inputs.size();
  if (!forward_is_cheaper(tape, rows, columns)) {
    std::vector<Tape::RowSeed> seeds;
    seeds.reserve(rows);
    for (const Real& result : results) seeds.push_back({result, seeds.size()});
    return tape.reverse_rows(seeds, rows, where);
  }
  Matrix matrix(rows, columns);
  forward_groups(
      tape, results, columns, where, [](std::size_t column) { return column; },
      [&](std::size_t first, std::size_t count, const auto& tangents) {
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < count; ++j) matrix(i, first + j) = tangents[i][j];
      });
  return matrix;
}

JacobianPlan plan_jacobian_of(Tape& tape, std::span<const Real> results, SourceLine where) {
  tape.check_results(results, where);
  JacobianPlan plan;
  plan.pattern = detect_pattern(tape, results, where);
  const SparsePattern by_column = plan.pattern.transposed();
  const bool forward = may_go_forward(tape, results.size());
  const std::int32_t least_rows = fewest_colours(by_column), least_columns = fewest_colours(plan.pattern);
  const auto cheaper = [](double columns, double rows) {
    return sweeps(static_cast<std::size_t>(columns)) * forward_price < sweeps(static_cast<std::size_t>(rows));
  };
  // The side that may get by with fewer is coloured first; the other one only where it may win.
  if (forward && least_columns < least_rows) {
    plan.by_rows = false;
    plan.colouring = colour_rows(by_column, plan.pattern);
    if (cheaper(plan.colouring.count, least_rows)) return plan;
    Colouring rows = colour_rows(plan.pattern, by_column);
    if (cheaper(plan.colouring.count, rows.count)) return plan;
    plan.by_rows = true;
    plan.colouring = std::move(rows);
    return plan;
  }
  plan.colouring = colour_rows(plan.pattern, by_column);
  if (forward && cheaper(least_columns, plan.colouring.count)) {
    Colouring columns = colour_rows(by_column, plan.pattern);
    if (cheaper(columns.count, plan.colouring.count)) {
      plan.by_rows = false;
      plan.colouring = std::move(columns);
    }
  }
  return plan;
}

void check_plan(Tape& tape, std::span<const Real> results, const JacobianPlan& plan,
                const SourceLine& where) {
  tape.check_results(results, where);
  const std::size_t columns = tape.view().recording.inputs.size();
  if (plan.pattern.rows != results.size() || plan.pattern.columns != columns)
    fail(ErrorCode::bad_tape_use,
         {.what = fmt::format("the plan is for a Jacobian of {} x {}, and the function has one of {} x {}",
                              plan.pattern.rows, plan.pattern.columns, results.size(), columns),
          .expected = "the function for which the plan was made",
          .where = where});
  if (outside_pattern(tape, results, plan.pattern, where))
    fail(ErrorCode::bad_tape_use,
         {.what = "the Jacobian has entries outside of the plan's pattern",
          .expected = "a function whose results depend on the same inputs at every point",
          .where = where,
          .help = "make the plan at a point that takes the same branches, where no slope is zero by chance; "
                  "or leave the plan out"});
}

SparseMatrix sparse_jacobian_of(Tape& tape, std::span<const Real> results, const JacobianPlan& plan,
                                SourceLine where) {
  tape.check_results(results, where);
  SparseMatrix matrix{plan.pattern, std::vector<double>(plan.pattern.entries())};
  const auto colour = [&](std::size_t i) { return static_cast<std::size_t>(plan.colouring.colours[i]); };
  const auto groups = static_cast<std::size_t>(plan.colouring.count);
  const auto entry = [&](std::size_t row) { return static_cast<std::size_t>(plan.pattern.row_starts[row]); };

  if (!plan.by_rows && may_go_forward(tape, results.size())) {
    forward_groups(tape, results, groups, where, colour,
                   [&](std::size_t first, std::size_t count, const auto& tangents) {
                     for (std::size_t i = 0; i < results.size(); ++i)
                       for (std::size_t e = entry(i); e < entry(i + 1); ++e) {
                         const auto column = static_cast<std::size_t>(plan.pattern.column_indices[e]);
                         const std::size_t lane = colour(column) - first;
                         if (lane < count) matrix.values[e] = tangents[i][lane];
                       }
                   });
    return matrix;
  }
  if (!plan.by_rows) {
    const JacobianPlan rows{plan.pattern, true, colour_rows(plan.pattern, plan.pattern.transposed())};
    return sparse_jacobian_of(tape, results, rows, where);
  }
  std::vector<std::vector<std::size_t>> members(groups);
  for (std::size_t i = 0; i < results.size(); ++i) members[colour(i)].push_back(i);
  std::vector<Tape::LaneSeed> seeds;
  const std::size_t widest = tape.widest_lanes();
  for (std::size_t first = 0; first < groups; first += widest) {
    const std::size_t count = std::min(widest, groups - first);
    seeds.clear();
    for (std::size_t lane = 0; lane < count; ++lane)
      for (const std::size_t row : members[first + lane])
        seeds.push_back({results[row], static_cast<unsigned>(lane)});
    with_lanes(count, [&](auto lanes) {
      const auto gradients = tape.reverse_lanes<lanes()>(seeds, where);
      for (std::size_t lane = 0; lane < count; ++lane)
        for (const std::size_t row : members[first + lane])
          for (std::size_t e = entry(row); e < entry(row + 1); ++e)
            matrix.values[e] = gradients[static_cast<std::size_t>(plan.pattern.column_indices[e])][lane];
    });
  }
  return matrix;
}

}  // namespace tidemark::scalars
