// Derivatives of functions of many numbers:
//
//   auto [value, slopes] = td::value_and_gradient(f, x);    // f(std::span<const td::Real>) gives a Real
//   td::Matrix j = td::jacobian(g, x);                      // g gives a range of them
//   td::SparseMatrix s = td::sparse_jacobian(g, x);         // its pattern is found, its rows are coloured
//
// Each call records on a tape of its own. Where a sparse Jacobian is wanted at many points, its pattern and
// colours are found once: td::JacobianPlan plan = td::plan_jacobian(g, x).
#pragma once
#include <concepts>
#include <ranges>
#include <source_location>
#include <span>
#include <vector>

#include "tidemark/scalar/colouring.h"
#include "tidemark/scalar/matrix.h"
#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {

// Variables of a function: a span of them, or a vector.
template <class F, class R>
concept FunctionOf = std::invocable<F&, std::span<const R>> || std::invocable < F&,
        const std::vector<R>
& > ;

template <class R, class F>
decltype(auto) call_with(F& f, const std::vector<R>& x) {
  if constexpr (std::invocable<F&, std::span<const R>>)
    return f(std::span<const R>(x));
  else
    return f(x);
}

// What a function gave, as variables: a number, or a range of numbers.
template <class R, class Y>
std::vector<R> results_of(const Y& y) {
  std::vector<R> results;
  if constexpr (std::convertible_to<const Y&, R>) {
    results.push_back(y);
  } else {
    static_assert(std::ranges::range<const Y>,
                  "a function that is differentiated returns a td::Real, or a range of them");
    for (const auto& each : y) results.push_back(each);
  }
  return results;
}

struct ValueAndGradient {
  double value = 0;
  std::vector<double> gradient;
};

template <FunctionOf<Real> F>
ValueAndGradient value_and_gradient(F&& f, std::span<const double> x,
                                    SourceLine where = std::source_location::current()) {
  Tape tape({}, where);
  const std::vector<Real> variables = tape.inputs(x, where);
  const Real y = call_with(f, variables);
  tape.reverse(y, 1.0, where);
  return {y.value(), tape.gradient(variables, where)};
}

template <FunctionOf<Real> F>
std::vector<double> gradient(F&& f, std::span<const double> x,
                             SourceLine where = std::source_location::current()) {
  return value_and_gradient(f, x, where).gradient;
}

// A row for each result of the recording, a column for each of its inputs: by reversals or by forward
// sweeps, whichever are cheaper.
Matrix jacobian_of(Tape& tape, std::span<const Real> results,
                   SourceLine where = std::source_location::current());

template <FunctionOf<Real> F>
Matrix jacobian(F&& f, std::span<const double> x, SourceLine where = std::source_location::current()) {
  Tape tape({}, where);
  const std::vector<Real> variables = tape.inputs(x, where);
  const std::vector<Real> results = results_of<Real>(call_with(f, variables));
  return jacobian_of(tape, results, where);
}

// How a sparse Jacobian is had in few sweeps.
struct JacobianPlan {
  SparsePattern pattern;
  bool by_rows = true;  // reversals of coloured rows, or forward sweeps of coloured columns
  Colouring colouring;
};
JacobianPlan plan_jacobian_of(Tape& tape, std::span<const Real> results,
                              SourceLine where = std::source_location::current());
SparseMatrix sparse_jacobian_of(Tape& tape, std::span<const Real> results, const JacobianPlan& plan,
                                SourceLine where = std::source_location::current());
// An Error where the recording is none of those that the plan is for.
void check_plan(Tape& tape, std::span<const Real> results, const JacobianPlan& plan, const SourceLine& where);

template <FunctionOf<Real> F>
JacobianPlan plan_jacobian(F&& f, std::span<const double> x,
                           SourceLine where = std::source_location::current()) {
  Tape tape({}, where);
  const std::vector<Real> variables = tape.inputs(x, where);
  return plan_jacobian_of(tape, results_of<Real>(call_with(f, variables)), where);
}

template <FunctionOf<Real> F>
SparseMatrix sparse_jacobian(F&& f, std::span<const double> x,
                             SourceLine where = std::source_location::current()) {
  Tape tape({}, where);
  const std::vector<Real> variables = tape.inputs(x, where);
  const std::vector<Real> results = results_of<Real>(call_with(f, variables));
  return sparse_jacobian_of(tape, results, plan_jacobian_of(tape, results, where), where);
}

// With a plan that was made at another point. Entries outside of its pattern are an Error, which is found by
// one more sweep.
template <FunctionOf<Real> F>
SparseMatrix sparse_jacobian(F&& f, std::span<const double> x, const JacobianPlan& plan,
                             SourceLine where = std::source_location::current()) {
  Tape tape({}, where);
  const std::vector<Real> variables = tape.inputs(x, where);
  const std::vector<Real> results = results_of<Real>(call_with(f, variables));
  check_plan(tape, results, plan, where);
  return sparse_jacobian_of(tape, results, plan, where);
}

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::gradient, scalars::jacobian, scalars::JacobianPlan, scalars::plan_jacobian,
    scalars::sparse_jacobian, scalars::value_and_gradient;
}  // namespace tidemark
