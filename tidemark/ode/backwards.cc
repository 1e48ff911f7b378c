#include "tidemark/ode/backwards.h"

#include "tidemark/autodiff/custom_vjp.h"
#include "tidemark/ode/adjoint_field.h"
#include "tidemark/ode/drift.h"
#include "tidemark/ode/kept_states.h"
#include "tidemark/ode/methods.h"
#include "tidemark/trace/control_flow.h"

namespace tidemark::ode {
namespace {

// What undoing a step hands on: the state, and the gradients with respect to it and to the parameters.
struct Undone {
  List y, v, by_y, by_v, by_p;
  TM_FIELDS(Undone, y, v, by_y, by_v, by_p)
};

std::tuple<List, List> checked(const List& by_y, const List& by_parameters, const List& y0,
                               const List& reconstructed, const OdeOptions& options, SourceLine where) {
  const Tensor drift = reshape(drift_from(y0, reconstructed), {1});
  const List all = guarded(joined({&by_y, &by_parameters}), drift, options, where);
  return {part(all, 0, by_y.size()), part(all, by_y.size(), by_parameters.size())};
}

}  // namespace

List with_adjoint(const ParameterField& f, const List& y0, const List& parameters, Interval time,
                  const OdeOptions& options, SourceLine where) {
  if (options.kept_states > 0) return with_kept_states(f, y0, parameters, time, options, where);
  const auto forwards = [&](const List& y, const List& p) {
    return integrate(f, y, p, time, options, where);
  };
  const auto backwards = [&](const List& y, const List& p, const List& end, const List& seed) {
    const std::size_t n = y.size();
    const ParameterField augmented = with_adjoints(f, n);
    const List nothing = zeros_like(p);
    const List all =
        integrate(augmented, joined({&end, &seed, &nothing}), p, {time.end, time.begin}, options, where);
    return checked(part(all, n, n), part(all, 2 * n, p.size()), y, part(all, 0, n), options, where);
  };
  return custom_vjp(forwards, backwards, where)(y0, parameters);
}

List with_undone_steps(const ParameterField& f, const List& y0, const List& parameters, Interval time,
                       const OdeOptions& options, SourceLine where) {
  using Ends = std::pair<List, List>;
  const double h = time.length() / static_cast<double>(options.steps);
  const DType dtype = y0.front().dtype();
  const auto forwards = [&](const List& y, const List& p) {
    return leapfrog(with_parameters(f, p), y, time, options, where);
  };
  const auto backwards = [&](const List& y, const List& p, const Ends& end, const Ends& seed) {
    const auto undo = [&](const Undone& c, const Tensor& i) {
      const Tensor t = time_at(time.begin, h, -i + (options.steps - 1), 0.5, dtype);
      const List middle = advanced(c.y, -h / 2, {{1, c.v}});
      // y' = m + h/2 v', v' = 2 f(m) − v, m = y + h/2 v, backwards
      const List by_after = advanced(c.by_v, h / 2, {{1, c.by_y}});
      const Pulled at = pulled(f, t, middle, p, by_after);
      const List twice_slope = scaled(at.slope, 2), before = plus(twice_slope, scaled(c.v, -1));
      const List by_middle = advanced(c.by_y, 2, {{1, at.by_y}});
      return Undone{.y = advanced(middle, -h / 2, {{1, before}}),
                    .v = before,
                    .by_y = by_middle,
                    .by_v = advanced(scaled(by_after, -1), h / 2, {{1, by_middle}}),
                    .by_p = advanced(c.by_p, 2, {{1, at.by_parameters}})};
    };
    const Undone last{end.first, end.second, seed.first, seed.second, zeros_like(p)};
    const Undone first = repeat(options.steps, undo, last, {}, where);
    const Pulled start = pulled(f, scalar(time.begin, dtype), y, p, first.by_v);  // v begins as the slope
    const List by_y = plus(first.by_y, start.by_y), by_p = plus(first.by_p, start.by_parameters);
    return checked(by_y, by_p, y, first.y, options, where);
  };
  return custom_vjp(forwards, backwards, where)(y0, parameters).first;
}

}  // namespace tidemark::ode
