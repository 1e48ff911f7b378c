#include "tidemark/ode/methods.h"

#include "tidemark/base/check.h"
#include "tidemark/trace/control_flow.h"

namespace tidemark::ode {
namespace {

List explicit_step(OdeMethod method, const Field& f, const List& y, double h, const Tensor& t) {
  const List k1 = f(t, y);
  if (method == OdeMethod::euler) return advanced(y, h, {{1, k1}});
  const auto further = [&](double by, const List& slope) {
    const Tensor later = t + by;
    return f(later, advanced(y, by, {{1, slope}}));
  };
  const List k2 = further(h / 2, k1);
  if (method == OdeMethod::midpoint) return advanced(y, h, {{1, k2}});
  const List k3 = further(h / 2, k2);
  const List k4 = further(h, k3);
  return advanced(y, h / 6, {{1, k1}, {2, k2}, {2, k3}, {1, k4}});
}

}  // namespace

Tensor time_at(double begin, double h, const Tensor& step, double fraction, DType dtype) {
  return (cast(step, dtype) + fraction) * h + begin;
}

List explicit_steps(const Field& f, const List& y0, Interval time, const OdeOptions& options,
                    SourceLine where, const Part* part) {
  const double h = time.length() / static_cast<double>(options.steps);
  const auto step = [&](const List& y, const Tensor& i) {
    const Tensor number = part ? i + part->first : i;
    return explicit_step(options.method, f, y, h, time_at(time.begin, h, number, 0, y.front().dtype()));
  };
  return repeat(part ? part->count : options.steps, step, y0, {.memory = options.memory}, where);
}

namespace {

std::pair<List, List> leapfrog_steps(const Field& f, const std::pair<List, List>& start, Interval time,
                                     const OdeOptions& options, SourceLine where, const Part* part) {
  const double h = time.length() / static_cast<double>(options.steps);
  const DType dtype = start.first.front().dtype();
  const auto step = [&](const std::pair<List, List>& state, const Tensor& i) {
    const auto& [y, v] = state;
    const Tensor number = part ? i + part->first : i;
    const List middle = advanced(y, h / 2, {{1, v}});
    const List twice_slope = scaled(f(time_at(time.begin, h, number, 0.5, dtype), middle), 2);
    const List after = plus(twice_slope, scaled(v, -1));
    return std::pair(advanced(middle, h / 2, {{1, after}}), after);
  };
  return repeat(part ? part->count : options.steps, step, start, {.memory = options.memory}, where);
}

}  // namespace

std::pair<List, List> leapfrog(const Field& f, const List& y0, Interval time, const OdeOptions& options,
                               SourceLine where) {
  const std::pair start(y0, f(scalar(time.begin, y0.front().dtype()), y0));
  return leapfrog_steps(f, start, time, options, where, nullptr);
}

std::pair<List, List> leapfrog_part(const Field& f, const std::pair<List, List>& start, Interval time,
                                    const OdeOptions& options, SourceLine where, const Part& part) {
  return leapfrog_steps(f, start, time, options, where, &part);
}

List integrate(const ParameterField& f, const List& y0, const List& parameters, Interval time,
               const OdeOptions& options, SourceLine where) {
  const Field plain = with_parameters(f, parameters);
  switch (options.method) {
    case OdeMethod::euler:
    case OdeMethod::midpoint:
    case OdeMethod::rk4:
      return explicit_steps(plain, y0, time, options, where);
    case OdeMethod::dopri5:
      return dopri5(f, y0, parameters, time, options, where);
    case OdeMethod::leapfrog:
      return leapfrog(plain, y0, time, options, where).first;
    case OdeMethod::implicit_midpoint:
      break;
  }
  TM_CHECK(false, "method {} has a function of its own", static_cast<int>(options.method));
  return y0;
}

}  // namespace tidemark::ode
