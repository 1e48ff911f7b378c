#include "tidemark/solve/search_control.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace tidemark {
namespace {

constexpr double least_rise = 0.01;  // in what is done, to be worth a report

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

PlanningStopped::PlanningStopped() : std::runtime_error("planning was stopped, as its caller asked") {}

SearchControl::SearchControl(ControlOptions options) : options_(std::move(options)) {
  if (!options_.seconds) return;
  if (!options_.clock) options_.clock = steady_seconds;
  start_ = options_.clock();
  end_ = start_ + *options_.seconds;
}

double SearchControl::seconds_left() {
  return timed() ? end_ - options_.clock() : std::numeric_limits<double>::infinity();
}

bool SearchControl::time_is_up() {
  look();
  return up_;
}

void SearchControl::look() {
  done_ += since_look_;
  since_look_ = 0;
  ++looks_;
  if (options_.stop.stop_requested()) throw PlanningStopped();
  double done = expected_ > 0 ? static_cast<double>(done_) / static_cast<double>(expected_) : 0;
  if (timed()) {
    const double now = options_.clock();
    up_ = now >= end_;
    done = std::max(done, (now - start_) / *options_.seconds);
  }
  constexpr double nearly = 0.99;  // only finish() says that all is done
  report(std::min(done, nearly));
}

void SearchControl::report(double done) {
  if (!options_.progress || done < shown_ + (shown_ < 0 ? 0 : least_rise)) return;
  shown_ = std::max(0.0, done);
  if (!options_.progress({.done = shown_, .stage = stage_})) throw PlanningStopped();
}

void SearchControl::enter(std::string_view stage, std::int64_t units) {
  stage_ = stage;
  expected_ = done_ + since_look_ + std::max(expected_ - done_ - since_look_, units);
  look();
}

void SearchControl::finish() {
  if (shown_ < 1) report(1);
}

TimeShare::TimeShare(SearchControl* control, double share)
    : control_(control && control->timed() ? control : nullptr) {
  if (!control_) return;
  end_ = control_->end_;
  const double now = control_->options_.clock();
  control_->end_ = now + share * std::max(0.0, end_ - now);
}

TimeShare::~TimeShare() {
  if (!control_) return;
  control_->end_ = end_;
  control_->up_ = control_->options_.clock() >= end_;
}

}  // namespace tidemark
