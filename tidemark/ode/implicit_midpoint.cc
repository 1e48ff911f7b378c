// y' = y + h f(t + h/2, m) with the middle m = (y + y') / 2, so that m = y + h/2 f(t + h/2, m): that is
// solved for m by Newton's method on all elements as one vector. No gradient passes through the search. Two
// further Newton steps from the solution carry it: by the implicit function theorem one gives the first
// derivatives, two those up to the third.
#include "tidemark/autodiff/jacobian.h"
#include "tidemark/ode/methods.h"
#include "tidemark/trace/control_flow.h"
#include "tidemark/trace/linear_algebra.h"

namespace tidemark::ode {
namespace {

Tensor flat(const List& list) {
  List parts;
  for (const Tensor& x : list) parts.push_back(reshape(x, {x.count()}));
  return concat(parts, 0);
}

List shaped_like(const Tensor& vector, const List& like) {
  List result;
  std::int64_t at = 0;
  for (const Tensor& x : like) {
    result.push_back(reshape(slice(vector, {at}, {at + x.count()}), x.shape()));
    at += x.count();
  }
  return result;
}

struct Search {
  Tensor middle, change;  // change: of the last Newton step, relative
  TM_FIELDS(Search, middle, change)
};

}  // namespace

List implicit_midpoint(const Field& f, const Field& frozen, const List& y0, Interval time,
                       const OdeOptions& options, SourceLine where) {
  const double h = time.length() / static_cast<double>(options.steps);
  const DType dtype = y0.front().dtype();
  const double tolerance = options.newton_tolerance.value_or(dtype == DType::f64 ? 1e-10 : 1e-5);

  const auto step = [&](const List& y, const Tensor& i) {
    const Tensor t = time_at(time.begin, h, i, 0.5, dtype), y_flat = flat(y);
    const auto change = [&](const Field& slope, const Tensor& middle, const Tensor& from) {
      const auto residual = [&](const Tensor& m) {
        const Tensor way = m - from;
        return way - flat(slope(t, shaped_like(m, y))) * (h / 2);
      };
      const Tensor matrix = jacobian(residual, {}, where)(middle);
      return solve(matrix, residual(middle));
    };
    const Tensor from = stop_gradient(y_flat);
    const auto search = [&](const Search& state) {
      const Tensor middle = stop_gradient(state.middle);
      const Tensor by = stop_gradient(change(frozen, middle, from)), next = middle - by;
      const Tensor moved = max(abs(by));
      return Search{next, moved / (max(abs(next)) + 1)};
    };
    // Not `size > tolerance`: with a NaN it goes on, and ends in an error.
    const auto goes_on = [&](const Search& state) { return !(state.change <= tolerance); };
    const Search start{from, scalar(1, dtype)};
    Tensor middle =
        stop_gradient(while_loop(goes_on, search, start, {.max_steps = options.newton_steps}, where).middle);
    for (int polish = 0; polish < 2; ++polish) middle -= change(f, middle, y_flat);
    return shaped_like(middle * 2 - y_flat, y);
  };
  return repeat(options.steps, step, y0, {.memory = options.memory}, where);
}

}  // namespace tidemark::ode
