#include "tidemark/ode/odeint.h"

#include <cmath>

#include "tidemark/ode/backwards.h"
#include "tidemark/ode/methods.h"
#include "tidemark/trace/trace.h"

namespace tidemark::detail {
namespace {

void require(bool condition, std::string what, std::string expected, SourceLine where,
             std::string help = "") {
  if (condition) return;
  fail(ErrorCode::bad_attribute, {.what = "odeint: " + std::move(what),
                                  .expected = std::move(expected),
                                  .where = where,
                                  .help = std::move(help)});
}

constexpr std::int64_t most_pieces = std::int64_t{1} << 31;

bool finite_and_not_negative(double x) { return std::isfinite(x) && x >= 0; }

void check_options(const OdeOptions& o, SourceLine where) {
  if (o.method == OdeMethod::dopri5) {
    require(finite_and_not_negative(o.rtol) && finite_and_not_negative(o.atol) && o.rtol + o.atol > 0,
            fmt::format("rtol = {}, atol = {}", o.rtol, o.atol), "0 or more, and not both 0", where);
    require(o.max_steps >= 1, fmt::format("max_steps = {}", o.max_steps), "1 or more", where);
    require(!o.first_step || (std::isfinite(*o.first_step) && *o.first_step > 0),
            fmt::format("first_step = {}", o.first_step.value_or(0)), "more than 0", where,
            "its sign is that of t1 - t0 by itself");
  } else {
    require(o.steps >= 1, fmt::format("steps = {}", o.steps), "1 or more", where);
  }
  if (o.method == OdeMethod::implicit_midpoint) {
    require(!o.newton_tolerance || (std::isfinite(*o.newton_tolerance) && *o.newton_tolerance > 0),
            fmt::format("newton_tolerance = {}", o.newton_tolerance.value_or(0)), "more than 0", where);
    require(o.newton_steps >= 1, fmt::format("newton_steps = {}", o.newton_steps), "1 or more", where);
    require(
        o.gradient != OdeGradient::adjoint, "implicit_midpoint with the gradient by adjoint",
        "OdeGradient::discrete", where,
        "backwards, Newton's method would need the dense Jacobian of state, adjoint and parameters together");
  }
  require(o.gradient != OdeGradient::reversible || o.method == OdeMethod::leapfrog,
          "a reversible gradient of a method that cannot be run backwards step by step",
          "OdeMethod::leapfrog", where);
  require(o.kept_states >= 0, fmt::format("kept_states = {}", o.kept_states), "0 or more", where);
  require(o.kept_states == 0 || o.gradient == OdeGradient::adjoint,
          fmt::format("kept_states = {} for a gradient that does not go back by itself", o.kept_states),
          "OdeGradient::adjoint", where, "the discrete gradient keeps what OdeOptions::memory allows");
  require(o.kept_states < (o.method == OdeMethod::dopri5 ? most_pieces : o.steps),
          fmt::format("kept_states = {}", o.kept_states),
          o.method == OdeMethod::dopri5 ? fmt::format("fewer than {}", most_pieces)
                                        : fmt::format("fewer than the {} steps", o.steps),
          where);
  require(o.drift_tolerance > 0, fmt::format("drift_tolerance = {}", o.drift_tolerance), "more than 0",
          where);
}

}  // namespace

void check_ode(std::span<const Tensor> y0, double t0, double t1, const OdeOptions& options,
               SourceLine where) {
  require(std::isfinite(t0) && std::isfinite(t1) && t0 != t1, fmt::format("from t0 = {} to t1 = {}", t0, t1),
          "two different finite times", where);
  check_options(options, where);
  if (y0.empty()) fail(ErrorCode::structure_mismatch, {.what = "odeint: y0 holds no tensor", .where = where});
  for (const Tensor& y : y0) {
    if (is_float(y.dtype()) && y.dtype() == y0.front().dtype()) continue;
    fail(ErrorCode::dtype_mismatch, {.what = fmt::format("odeint: y0 holds {}", to_string(y.type())),
                                     .expected = "tensors of one float dtype",
                                     .where = where});
  }
}

std::vector<Tensor> integrate_ode(const Graph& slope, std::span<const Tensor> captured,
                                  const std::vector<Tensor>& y0, double t0, double t1,
                                  const OdeOptions& options, SourceLine where) {
  using ode::List;
  for (std::size_t i = 0; i < y0.size() || i < slope.outputs().size(); ++i) {
    if (y0.size() == slope.outputs().size() && slope.type(slope.outputs()[i]) == y0[i].type()) continue;
    if (y0.size() != slope.outputs().size()) {
      fail(ErrorCode::structure_mismatch,
           {.what = fmt::format("odeint: f(t, y) returns {} tensors", slope.outputs().size()),
            .expected = fmt::format("{}, as many as y has", y0.size()),
            .where = where});
    }
    fail(slope.type(slope.outputs()[i]).dtype == y0[i].dtype() ? ErrorCode::shape_mismatch
                                                               : ErrorCode::dtype_mismatch,
         {.what = fmt::format("odeint: f(t, y) returns {} for a y of {}",
                              to_string(slope.type(slope.outputs()[i])), to_string(y0[i].type())),
          .expected = to_string(y0[i].type()),
          .where = where});
  }
  // Only what is traced can be asked for a gradient; data stays captured.
  List parameters;
  std::vector<bool> is_parameter;
  for (const Tensor& tensor : captured) {
    is_parameter.push_back(tensor.is_traced() && is_float(tensor.dtype()));
    if (is_parameter.back()) parameters.push_back(tensor);
  }
  const ode::ParameterField f = [&](const Tensor& t, const List& y, const List& p) {
    List inputs = {t};
    inputs.insert(inputs.end(), y.begin(), y.end());
    for (std::size_t i = 0, next = 0; i < captured.size(); ++i)
      inputs.push_back(is_parameter[i] ? p[next++] : captured[i]);
    return apply(slope, inputs, where);
  };
  const ode::Interval time{t0, t1};
  switch (options.gradient) {
    case OdeGradient::adjoint:
      return ode::with_adjoint(f, y0, parameters, time, options, where);
    case OdeGradient::reversible:
      return ode::with_undone_steps(f, y0, parameters, time, options, where);
    case OdeGradient::discrete:
      break;
  }
  if (options.method == OdeMethod::implicit_midpoint) {
    const List constants = ode::stopped(parameters);
    return ode::implicit_midpoint(ode::with_parameters(f, parameters), ode::with_parameters(f, constants), y0,
                                  time, options, where);
  }
  return ode::integrate(f, y0, parameters, time, options, where);
}

}  // namespace tidemark::detail
