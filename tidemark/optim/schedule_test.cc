#include "tidemark/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "tidemark/tidemark.h"

namespace tidemark::optim {
namespace {

using Formula = std::function<double(int)>;

// In the graph, by a loss of gradient -1 that a step of the rate lr raises by lr; and by itself.
void expect_rates(const Schedule& lr, const Formula& formula, int steps) {
  const Sgd sgd{.lr = lr};
  int traces = 0;
  const auto train = compile(step(sgd, [&](const std::vector<Tensor>& w) {
    ++traces;
    return -w[0];
  }));
  auto state = sgd.init(std::vector<Tensor>{scalar(0, DType::f64)});
  double before = 0;
  for (int t = 0; t < steps; ++t) {
    state.parameters[0] = scalar(0, DType::f64);
    state = train(state).first;
    before = formula(t);
    EXPECT_NEAR(state.parameters[0].item(), before, 1e-14) << t;
    EXPECT_NEAR(lr.at(t), before, 1e-14) << t;
  }
  EXPECT_EQ(traces, 1);
}

TEST(Schedule, ANumberStaysWhatItIs) {
  expect_rates(
      0.25, [](int) { return 0.25; }, 3);
  expect_rates(
      2, [](int) { return 2.0; }, 3);
}

TEST(Schedule, LinearAndCosineGoFromOneRateToTheOtherAndStayThere) {
  expect_rates(
      linear({.from = 0.1, .to = 0.5, .steps = 10}), [](int t) { return 0.1 + 0.4 * std::min(t, 10) / 10.0; },
      15);
  expect_rates(
      cosine({.from = 0.5, .to = 0.1, .steps = 10}),
      [](int t) { return 0.1 + 0.2 * (1 + std::cos(std::numbers::pi * std::min(t, 10) / 10.0)); }, 15);
}

TEST(Schedule, StairsGoDownForEver) {
  expect_rates(
      stairs({.from = 0.5, .factor = 0.5, .every = 3}), [](int t) { return 0.5 * std::pow(0.5, t / 3); }, 20);
}

TEST(Schedule, OneCycleRisesAndFalls) {
  const auto between = [](double from, double to, double f) {
    return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * f));
  };
  expect_rates(
      one_cycle({.peak = 1, .steps = 20}),
      [&](int t) {
        return t <= 5 ? between(0.04, 1, t / 5.0) : between(1, 4e-6, std::min(1.0, (t - 5) / 14.0));
      },
      25);
}

TEST(Schedule, AWarmUpGoesInFrontOfAnyAndWastesNoStep) {
  expect_rates(
      warmup(4, 0.5), [](int t) { return 0.5 * std::min(1.0, (t + 1) / 5.0); }, 8);
  expect_rates(
      warmup(4, stairs({.from = 0.5, .factor = 0.5, .every = 3})),
      [](int t) { return t < 4 ? 0.5 * (t + 1) / 5.0 : 0.5 * std::pow(0.5, (t - 4) / 3); }, 16);
  expect_rates(
      warmup(2, warmup(2, 0.9)), [](int t) { return t < 2 ? 0.1 * (t + 1) : std::min(0.9, 0.3 * (t - 1)); },
      8);
}

TEST(Schedule, AWarmUpOfNoUpdatesIsNone) {
  expect_rates(
      warmup(0, 0.5), [](int) { return 0.5; }, 3);
  Tensor rate = scalar(0.25);
  EXPECT_EQ(warmup(0, by_hand(rate)).at(0), 0.25);
}

TEST(Schedule, HelpSpeaksOfTheFieldsThatThereAre) {
  const auto help = [](const std::function<void()>& mistake) -> std::string {
    try {
      mistake();
    } catch (const Error& error) {
      return error.parts().help;
    }
    return "no error";
  };
  EXPECT_NE(help([] { stairs({.from = 0.1}); }).find(".every"), std::string::npos);
  EXPECT_EQ(help([] { warmup(-1, 0.1); }).find(".steps"), std::string::npos);
  EXPECT_NE(help([] { cosine({.from = 0.1}); }).find(".steps"), std::string::npos);
}

TEST(Schedule, ARateSetByHandIsReadAtEveryCallWithoutAnotherTrace) {
  Tensor rate = scalar(0.5);
  const Sgd sgd{.lr = by_hand(rate)};
  int traces = 0;
  const auto train = compile(step(sgd,
                                  [&](const std::vector<Tensor>& w) {
                                    ++traces;
                                    return -w[0];
                                  }),
                             {.donate = {0}});
  auto state = sgd.init(std::vector<Tensor>{scalar(0)});
  double expected = 0;
  for (const double value : {0.5, 0.25, 0.25, 8.0, 0.0}) {
    rate = scalar(value);
    state = train(state).first;
    EXPECT_EQ(state.parameters[0].item(), expected += value);
  }
  EXPECT_EQ(traces, 1);
  EXPECT_EQ(sgd.lr.at(7), 0.0);
}

TEST(Schedule, ATensorThatIsGoneIsAnErrorAndNotRead) {
  Sgd sgd;
  {
    Tensor rate = scalar(0.5);
    sgd.lr = by_hand(rate);
  }
  const auto train = step(sgd, [&](const std::vector<Tensor>& w) { return -w[0]; });
  try {
    train(sgd.init(std::vector<Tensor>{scalar(0)}));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::foreign_tensor);
    EXPECT_EQ(error.where().file, SourceLine(std::source_location::current()).file);
  }
}

TEST(Schedule, WhatMakesNoSenseIsRefusedAtTheCallersLine) {
  const Tensor vector = zeros({2}), whole = zeros({}, DType::i32), none;
  for (const auto& mistake : std::vector<std::function<void()>>{
           [] { cosine({.from = 0.1, .to = 0, .steps = 0}); },
           [] { linear({.from = -0.1, .to = 0, .steps = 5}); },
           [] { linear({.from = 0.1, .to = std::nan(""), .steps = 5}); }, [] { stairs({.from = 0.1}); },
           [] { one_cycle({.peak = 0.1, .steps = 2}); },
           [] { one_cycle({.peak = 0.1, .steps = 9, .rising = 1}); }, [] { warmup(-1, 0.1); },
           [] { Schedule(std::vector<Phase>{}); }, [] { Schedule(std::vector<Phase>{{.from = -1}}); },
           [] { Schedule(std::vector<Phase>{{.every = 0}}); }, [] { Schedule(std::nan("")).at(0); },
           [] { warmup(3, -0.5); }, [] { one_cycle({.peak = 0.1, .steps = 9, .first = -1}); },
           [] { one_cycle({.peak = 0.1, .steps = 9, .last = INFINITY}); }, [&] { by_hand(vector); },
           [&] { by_hand(whole); }, [&] { by_hand(none); }}) {
    try {
      mistake();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_attribute);
      EXPECT_EQ(error.where().file, SourceLine(std::source_location::current()).file);
    }
  }
}

}  // namespace
}  // namespace tidemark::optim
