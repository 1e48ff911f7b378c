#include "tidemark/optim/schedule.h"

#include <cmath>
#include <numbers>

#include "tidemark/trace/functions.h"

namespace tidemark::optim {
namespace {

void check_rate(double rate, std::string_view what, SourceLine where) {
  if (std::isfinite(rate) && rate >= 0) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("{} of {}", what, rate),
                                  .expected = "a finite number of at least 0",
                                  .where = where});
}

void check_steps(std::int64_t steps, std::string_view what, std::string_view help, SourceLine where) {
  if (steps >= 1) return;
  fail(ErrorCode::bad_attribute, {.what = fmt::format("{} over {} updates", what, steps),
                                  .expected = "at least 1",
                                  .where = where,
                                  .help = std::string(help)});
}

Schedule between(Curve curve, const Between& b, std::string_view what, SourceLine where) {
  check_rate(b.from, "a rate", where);
  check_rate(b.to, "a rate", where);
  check_steps(b.steps, what, "give .steps, the number of updates from the one rate to the other", where);
  return Schedule(std::vector<Phase>{{.curve = curve, .steps = b.steps, .from = b.from, .to = b.to}}, where);
}

double value_of(const Phase& phase, double t) {
  const double f = phase.steps > 0 ? std::min(1.0, t / static_cast<double>(phase.steps)) : 0;
  switch (phase.curve) {
    case Curve::constant:
      return phase.from;
    case Curve::linear:
      return phase.from + (phase.to - phase.from) * f;
    case Curve::cosine:
      return phase.to + (phase.from - phase.to) * 0.5 * (1 + std::cos(std::numbers::pi * f));
    case Curve::stairs:
      return phase.from * std::pow(phase.factor, std::floor(t / static_cast<double>(phase.every)));
  }
  TM_CHECK(false, "an unknown curve");
}

// The same in the graph; t is not negative.
Tensor value_of(const Phase& phase, const Tensor& t) {
  const auto share = [&] { return minimum(t * (1.0 / static_cast<double>(phase.steps)), 1.0); };
  switch (phase.curve) {
    case Curve::constant:
      return scalar(phase.from, DType::f64);
    case Curve::linear:
      return share() * (phase.to - phase.from) + phase.from;
    case Curve::cosine:
      return (cos(share() * std::numbers::pi) + 1.0) * (0.5 * (phase.from - phase.to)) + phase.to;
    case Curve::stairs:
      return pow(scalar(phase.factor, DType::f64), floor(t / static_cast<double>(phase.every))) * phase.from;
  }
  TM_CHECK(false, "an unknown curve");
}

}  // namespace

Schedule::Schedule(std::vector<Phase> phases, SourceLine where) : phases_(std::move(phases)) {
  if (phases_.empty()) {
    fail(ErrorCode::bad_attribute, {.what = "a schedule of no phases",
                                    .expected = "one or more",
                                    .where = where,
                                    .help = "a rate that does not change is a number: .lr = 1e-3"});
  }
  check(where);
}

void Schedule::check(SourceLine where) const {
  for (const Phase& phase : phases_) {
    check_rate(phase.from, "a learning rate", where);
    check_rate(phase.to, "a learning rate", where);
    check_rate(phase.factor, "a factor", where);
    if (phase.steps >= 0 && phase.every >= 1) continue;
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("a phase of {} updates, with a stair every {}", phase.steps, phase.every),
          .expected = "at least 0, and at least 1",
          .where = where});
  }
}

Tensor Schedule::by_hand(SourceLine where) const {
  const Tensor* variable = variable_->variable();
  if (variable == nullptr) {
    fail(ErrorCode::foreign_tensor,
         {.what = "the tensor that a learning rate is read from no longer exists",
          .where = where,
          .help = "let the tensor given to optim::by_hand live as long as the training step"});
  }
  return cast(*variable, DType::f64);
}

Tensor Schedule::at(const Tensor& steps, SourceLine where) const {
  if (variable_) return by_hand(where);
  check(where);
  const Tensor t = cast(steps, DType::f64);
  Tensor rate;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const Tensor here = value_of(phases_[i], begin == 0 ? t : maximum(t - static_cast<double>(begin), 0.0));
    rate = i == 0 ? here : select(t < static_cast<double>(begin), rate, here);
    begin += phases_[i].steps;
  }
  return rate;
}

double Schedule::at(std::int64_t steps, SourceLine where) const {
  if (variable_) return by_hand(where).item(where);
  check(where);
  std::size_t phase = 0;
  std::int64_t begin = 0;
  while (phase + 1 < phases_.size() && steps >= begin + phases_[phase].steps) begin += phases_[phase++].steps;
  return value_of(phases_[phase], static_cast<double>(steps - begin));
}

Schedule linear(const Between& b, SourceLine where) {
  return between(Curve::linear, b, "a linear schedule", where);
}
Schedule cosine(const Between& b, SourceLine where) {
  return between(Curve::cosine, b, "a cosine schedule", where);
}

Schedule stairs(const Stairs& s, SourceLine where) {
  check_rate(s.from, "a rate", where);
  check_rate(s.factor, "a factor", where);
  check_steps(s.every, "a stair", "give .every, the number of updates until the next factor", where);
  return Schedule(
      std::vector<Phase>{
          {.curve = Curve::stairs, .from = s.from, .to = s.from, .factor = s.factor, .every = s.every}},
      where);
}

Schedule one_cycle(const OneCycle& c, SourceLine where) {
  check_rate(c.peak, "a rate", where);
  check_rate(c.first, "the share .first", where);
  check_rate(c.last, "the share .last", where);
  const auto rising = static_cast<std::int64_t>(std::llround(c.rising * static_cast<double>(c.steps)));
  if (c.steps < 3 || rising < 2 || rising >= c.steps) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("one cycle of {} updates, {} of them on the way up", c.steps, rising),
          .expected = "at least 2 on the way up and 1 on the way down",
          .where = where});
  }
  return Schedule(
      std::vector<Phase>{
          {.curve = Curve::cosine, .steps = rising - 1, .from = c.peak * c.first, .to = c.peak},
          {.curve = Curve::cosine, .steps = c.steps - rising, .from = c.peak, .to = c.peak * c.last}},
      where);
}

Schedule warmup(std::int64_t steps, const Schedule& then, SourceLine where) {
  if (steps == 0) return then;
  check_steps(steps, "a warm-up", "its number of updates comes first: warmup(100, schedule); 0 is none",
              where);
  if (then.phases().empty()) {
    fail(ErrorCode::bad_attribute, {.what = "a warm-up in front of a rate that is set by hand",
                                    .expected = "a number or a schedule",
                                    .where = where});
  }
  const double first = then.at(0, where);
  std::vector<Phase> phases = {
      {.curve = Curve::linear, .steps = steps, .from = first / static_cast<double>(steps + 1), .to = first}};
  phases.insert(phases.end(), then.phases().begin(), then.phases().end());
  return Schedule(std::move(phases), where);
}

Schedule by_hand(const Tensor& rate, SourceLine where) {
  if (rate.empty() || rate.rank() != 0 || !is_float(rate.dtype())) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("a learning rate read from {}",
                              rate.empty() ? "an empty tensor" : to_string(rate.type())),
          .expected = "a floating-point tensor of rank 0",
          .where = where,
          .help = "td::Tensor rate = td::scalar(1e-3)"});
  }
  return Schedule(rate.watch());
}

}  // namespace tidemark::optim
