// Dormand and Prince 1980, with the step control of Hairer, Nørsett, Wanner, Solving Ordinary Differential
// Equations I, II.4 (DOPRI5): a PI controller, first step from the size of y and its slope. Step sizes and
// the choice to take a step are computed from values through which no gradient passes; they are part of the
// state that the loop keeps, and so have the same bits when a step runs again.
#include <cmath>

#include "tidemark/ode/methods.h"
#include "tidemark/trace/control_flow.h"

namespace tidemark::ode {
namespace {

// Root of the mean square of error / tolerance.
Tensor error_norm(const List& error, const List& before, const List& after, const OdeOptions& options) {
  Tensor total;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < error.size(); ++i) {
    const Tensor old_size = abs(before[i]), new_size = abs(after[i]);
    const Tensor scale = maximum(old_size, new_size) * options.rtol + options.atol;
    const Tensor part = sum(square(error[i] / scale));
    total = total.empty() ? part : total + part;
    count += error[i].count();
  }
  return sqrt(total / static_cast<double>(count));
}

Tensor first_step(const List& y, const List& slope, double span, const OdeOptions& options) {
  const DType dtype = y.front().dtype();
  if (options.first_step) return scalar(std::min(*options.first_step, span), dtype);
  const Tensor size = error_norm(y, y, y, options), steepness = error_norm(slope, y, y, options);
  const Tensor is_steep = steepness > 1e-10, short_of_size = size * 0.01;
  const Tensor h = select(is_steep, short_of_size / maximum(steepness, 1e-10), span * 1e-3);
  return minimum(maximum(h, span * 1e-6), span);
}

struct Stepped {
  List y, slope, error;  // slope: at the new y; it is the first stage of the next step
};

// `f` of the distance from the start.
Stepped dormand_prince(const Field& f, const List& y, const List& k1, const Tensor& s, const Tensor& h) {
  // The slope at s + c h, past the stages so far.
  const auto stage = [&](double c, std::initializer_list<Term> terms) {
    const Tensor at = c == 1 ? s + h : s + h * c;
    return f(at, advanced(y, h, terms));
  };
  const List k2 = stage(1. / 5, {{1. / 5, k1}});
  const List k3 = stage(3. / 10, {{3. / 40, k1}, {9. / 40, k2}});
  const List k4 = stage(4. / 5, {{44. / 45, k1}, {-56. / 15, k2}, {32. / 9, k3}});
  const List k5 =
      stage(8. / 9, {{19372. / 6561, k1}, {-25360. / 2187, k2}, {64448. / 6561, k3}, {-212. / 729, k4}});
  const List k6 = stage(
      1, {{9017. / 3168, k1}, {-355. / 33, k2}, {46732. / 5247, k3}, {49. / 176, k4}, {-5103. / 18656, k5}});
  const List next = advanced(
      y, h, {{35. / 384, k1}, {500. / 1113, k3}, {125. / 192, k4}, {-2187. / 6784, k5}, {11. / 84, k6}});
  const List k7 = f(s + h, next);
  const List error = advanced(zeros_like(y), h,
                              {{71. / 57600, k1},
                               {-71. / 16695, k3},
                               {71. / 1920, k4},
                               {-17253. / 339200, k5},
                               {22. / 525, k6},
                               {-1. / 40, k7}});
  return {next, k7, error};
}

List chosen(const Tensor& condition, const List& on_true, const List& on_false) {
  List result;
  for (std::size_t i = 0; i < on_true.size(); ++i)
    result.push_back(select(condition, on_true[i], on_false[i]));
  return result;
}

struct Progress {
  Tensor s;         // distance from the start
  Tensor h;         // of the step to try
  Tensor previous;  // error of the last step taken
  List y, slope;
  TM_FIELDS(Progress, s, h, previous, y, slope)
};

}  // namespace

List dopri5(const ParameterField& f, const List& y0, const List& parameters, Interval time,
            const OdeOptions& options, SourceLine where) {
  constexpr double safety = 0.9, beta = 0.04, exponent = 0.2 - 0.75 * beta, shrink = 0.2, grow = 10;
  constexpr double hopeless = 1e30;  // also where the trial overflowed
  const DType dtype = y0.front().dtype();
  const double span = std::abs(time.length()), direction = time.length() > 0 ? 1 : -1;
  const auto outwards = [&](const List& with) -> Field {
    return [&, with](const Tensor& s, const List& y) {
      return scaled(f(s * direction + time.begin, y, with), direction);
    };
  };
  const auto body = [&](const Progress& p) {
    const Tensor s = stop_gradient(p.s), wish = stop_gradient(p.h);
    const Tensor last = s + wish * 1.01 >= span;  // no crumb is left for a step of its own
    const Tensor h = select(last, scalar(span, dtype) - s, wish);
    const List before = stopped(p.y);
    const List fixed = stopped(parameters), slope_before = stopped(p.slope);
    const Stepped trial = dormand_prince(outwards(fixed), before, slope_before, s, h);
    const Tensor error = error_norm(trial.error, before, trial.y, options);
    const Tensor taken = error <= 1;
    // The same step once more for the gradient; nothing is computed twice, since the values are the same. A
    // trial that is rejected may have overflowed: no gradient may enter it, not even one that is zero.
    const auto passing = [&](const List& list) { return chosen(taken, list, stopped(list)); };
    const List with = passing(parameters), y = passing(p.y), slope = passing(p.slope);
    const Stepped step = dormand_prince(outwards(with), y, slope, s, h);
    const Tensor in_range = error <= hopeless, positive = maximum(error, 1e-10);
    const Tensor sound = select(in_range, positive, scalar(hopeless, dtype));
    const Tensor raw = pow(sound, -exponent) * safety;
    const Tensor after_taken = raw * pow(stop_gradient(p.previous), beta);
    const Tensor factor = select(taken, after_taken, minimum(raw, 1));
    const Tensor end = scalar(span, dtype), further = select(last, end, s + h);
    const Tensor next_s = select(taken, further, s), next_h = h * minimum(maximum(factor, shrink), grow);
    const Tensor latest = maximum(sound, 1e-4);
    return Progress{
        .s = next_s,
        .h = next_h,
        .previous = select(taken, latest, stop_gradient(p.previous)),
        .y = chosen(taken, step.y, p.y),
        .slope = chosen(taken, step.slope, p.slope),
    };
  };
  const List slope = outwards(parameters)(scalar(0, dtype), y0);
  const Tensor s0 = scalar(0, dtype);
  const List y_stopped = stopped(y0), slope_stopped = stopped(slope);
  const Progress start{.s = s0,
                       .h = first_step(y_stopped, slope_stopped, span, options),
                       .previous = scalar(1e-4, dtype),
                       .y = y0,
                       .slope = slope};
  return while_loop([&](const Progress& p) { return p.s < span; }, body, start,
                    {.max_steps = options.max_steps, .memory = options.memory}, where)
      .y;
}

}  // namespace tidemark::ode
