// Hessians of functions of many variables, each of which meets few others:
//
//   td::SparseMatrix h = td::sparse_hessian(f, x);       // its pattern is found, its variables are coloured
//
// Where it is wanted at many points, pattern and colours are found once: td::HessianPlan plan =
// td::plan_hessian(f, x). The pattern is seen from one gradient with numbers that know on which inputs they
// depend (dependent.h), colours are those of stars (star_colouring.h), and the entries come from products of
// the Hessian with eight colours at a time, forward over reverse.
#pragma once
#include <source_location>
#include <span>
#include <vector>

#include "tidemark/scalar/dependent.h"
#include "tidemark/scalar/hessian.h"
#include "tidemark/scalar/star_colouring.h"

namespace tidemark::scalars {

enum class PatternHolds : std::uint8_t {
  everywhere,         // the function took no branch by its variables
  on_these_branches,  // it did: the pattern is found again at each point, and compared
  as_given,           // one more product is compared with what was recovered
};

// How a sparse Hessian is had in few products.
struct HessianPlan {
  SparsePattern pattern;  // symmetric
  StarColouring colouring;
  PatternHolds holds = PatternHolds::everywhere;
};

struct FoundPattern {
  SparsePattern pattern;
  bool branched = false;
};
FoundPattern find_pattern(const DependenceGraph& graph, std::span<const Dependent> gradient);
HessianPlan make_plan(SparsePattern pattern, PatternHolds holds);
void check_plan(const HessianPlan& plan, std::size_t variables, const SourceLine& where);
void check_pattern(const HessianPlan& plan, const SparsePattern& pattern, const SourceLine& where);
// `gradient`: along the colours from `first` on.
void take_entries(const HessianPlan& plan, std::int32_t first, std::span<const Dual<hessian_lanes>> gradient,
                  std::vector<double>& values);
// A direction like no other, and an Error where the matrix times this direction is not `product`.
double probe(std::size_t variable);
void check_product(const SparseMatrix& matrix, std::span<const Dual<hessian_lanes>> gradient, int lane,
                   const SourceLine& where);

template <class F>
FoundPattern find_hessian_pattern(F& f, std::span<const double> x, const SourceLine& where) {
  static_assert(FunctionOf<F, BasicReal<Dependent>>,
                "second derivatives are of functions that take any scalars: write f as []<class "
                "T>(std::span<const T> x) "
                "or [](const auto& x), and keep td::Real out of its body");
  using R = BasicReal<Dependent>;
  DependenceGraph graph;
  std::vector<Dependent> gradient;
  {
    BasicTape<Dependent> tape({}, where);
    std::vector<Dependent> point;
    point.reserve(x.size());
    for (const double each : x) point.push_back(Dependent::input(each));
    const std::vector<R> variables = tape.inputs(point, where);
    const R y = call_with(f, variables);
    tape.reverse(y, Dependent(1.0), where);
    gradient = tape.gradient(variables, where);
  }
  return find_pattern(graph, gradient);
}

template <class F>
requires(!std::is_same_v<std::remove_cvref_t<F>, SparsePattern>) HessianPlan
    plan_hessian(F&& f, std::span<const double> x, SourceLine where = std::source_location::current()) {
  FoundPattern found = find_hessian_pattern(f, x, where);
  return make_plan(std::move(found.pattern),
                   found.branched ? PatternHolds::on_these_branches : PatternHolds::everywhere);
}
// Of a pattern that is known, and not looked for.
HessianPlan plan_hessian(const SparsePattern& pattern, SourceLine where = std::source_location::current());

template <class F>
SparseMatrix sparse_hessian_along(F& f, std::span<const double> x, const HessianPlan& plan,
                                  const SourceLine& where) {
  SparseMatrix matrix{plan.pattern, std::vector<double>(plan.pattern.entries())};
  const std::int32_t colours = plan.colouring.count, probes = plan.holds == PatternHolds::as_given ? 1 : 0;
  for (std::int32_t first = 0; first < colours + probes; first += hessian_lanes) {
    const auto gradient = gradient_along<hessian_lanes>(
        f, x,
        [&](std::size_t i, int d) {
          if (first + d == colours && probes > 0) return probe(i);
          return plan.colouring.colours[i] == first + d ? 1.0 : 0.0;
        },
        where);
    take_entries(plan, first, gradient, matrix.values);
    if (probes > 0 && colours < first + hessian_lanes)
      check_product(matrix, gradient, colours - first, where);
  }
  return matrix;
}

template <class F>
SparseMatrix sparse_hessian(F&& f, std::span<const double> x,
                            SourceLine where = std::source_location::current()) {
  return sparse_hessian_along(f, x, plan_hessian(f, x, where), where);
}
// With a plan that was made at another point. Entries outside of its pattern are an Error.
template <class F>
SparseMatrix sparse_hessian(F&& f, std::span<const double> x, const HessianPlan& plan,
                            SourceLine where = std::source_location::current()) {
  check_plan(plan, x.size(), where);
  if (plan.holds == PatternHolds::on_these_branches)
    check_pattern(plan, find_hessian_pattern(f, x, where).pattern, where);
  return sparse_hessian_along(f, x, plan, where);
}
template <class F>
SparseMatrix sparse_hessian(F&& f, std::span<const double> x, const SparsePattern& pattern,
                            SourceLine where = std::source_location::current()) {
  const HessianPlan plan = plan_hessian(pattern, where);
  check_plan(plan, x.size(), where);
  return sparse_hessian_along(f, x, plan, where);
}

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::HessianPlan, scalars::PatternHolds, scalars::plan_hessian, scalars::sparse_hessian;
}  // namespace tidemark
