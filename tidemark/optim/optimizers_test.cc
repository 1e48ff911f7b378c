#include "tidemark/optim/optimizers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tidemark/ir/graph.h"
#include "tidemark/tidemark.h"

namespace tidemark::optim {
namespace {

struct Line {
  Tensor slope;   // (2, 2), decays
  Tensor offset;  // (2), does not
  TM_FIELDS(Line, slope, offset)
};

// A loss whose gradient is known: ½ Σ slope² + Σ c offset gives slope and c.
Tensor loss(const Line& line, Tensor c) {
  return sum(square(line.slope)) * 0.5 + sum(cast(line.offset, c.dtype()) * c);
}

const std::vector<double> slope_start = {0.5, -1, 2, 3}, offset_start = {1, -2}, offset_slope = {0.25, -4};

Line start(DType dtype = DType::f32) {
  return {cast(tensor(slope_start, {2, 2}), dtype), cast(tensor(offset_start, {2}), dtype)};
}
Tensor slope_of_offset(DType dtype = DType::f32) { return cast(tensor(offset_slope, {2}), dtype); }

void expect_near(const Tensor& got, const std::vector<double>& expected, double tolerance = 1e-6) {
  const std::vector<double> values = got.to_vector();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << i;
}

using Numbers = std::vector<double>;

// The formulas once more, in doubles and one number at a time. A parameter is all of its numbers; `t` counts
// from 1.
struct ByHand {
  virtual ~ByHand() = default;
  virtual void update(Numbers& w, const Numbers& g, double decay, int t) = 0;
};

// A rule that treats each number alone: (w, g, its moments a and b, decay, t).
struct Elementwise final : ByHand {
  using Rule = std::function<void(double& w, double g, double& a, double& b, double decay, int t)>;
  explicit Elementwise(Rule r) : rule(std::move(r)) {}
  void update(Numbers& w, const Numbers& g, double decay, int t) override {
    a.resize(w.size()), b.resize(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) rule(w[i], g[i], a[i], b[i], decay, t);
  }
  Rule rule;
  Numbers a, b;
};

// Trains by the compiled step and by hand, side by side.
template <class Optimizer>
void expect_formula(const Optimizer& optimizer, const std::function<std::unique_ptr<ByHand>()>& rule,
                    double decay, int steps = 20) {
  for (DType dtype : {DType::f64, DType::f32}) {
    const auto train = compile(step(optimizer, loss), {.donate = {0}});
    auto state = optimizer.init(start(dtype));
    Numbers slope = slope_start, offset = offset_start;
    const auto of_slope = rule(), of_offset = rule();
    const double tolerance = dtype == DType::f64 ? 1e-13 : 3e-6;
    for (int t = 1; t <= steps; ++t) {
      state = train(state, slope_of_offset(dtype)).first;
      of_slope->update(slope, Numbers(slope), decay, t);
      of_offset->update(offset, offset_slope, 0, t);
      expect_near(state.parameters.slope, slope, tolerance);
      expect_near(state.parameters.offset, offset, tolerance);
    }
    EXPECT_EQ(state.steps.item(), steps);
  }
}

auto elementwise(Elementwise::Rule rule) {
  return [rule = std::move(rule)] { return std::make_unique<Elementwise>(rule); };
}

TEST(Sgd, FollowsTheFormula) {
  expect_formula(Sgd{.lr = 0.1, .weight_decay = 0.3},
                 elementwise([](double& w, double g, double&, double&, double decay, int) {
                   w -= 0.1 * (g + decay * w);
                 }),
                 0.3);
}

TEST(Momentum, FollowsTheFormulaOverStepsWithAndWithoutNesterov) {
  for (const bool nesterov : {false, true}) {
    expect_formula(Momentum{.lr = 0.05, .beta = 0.8, .weight_decay = 0.1, .nesterov = nesterov},
                   elementwise([=](double& w, double gradient, double& v, double&, double decay, int) {
                     const double g = gradient + decay * w;
                     v = 0.8 * v + g;
                     w -= 0.05 * (nesterov ? g + 0.8 * v : v);
                   }),
                   0.1);
  }
}

TEST(AdamW, FollowsTheFormulaOverSteps) {
  const auto rule = [](bool decoupled) {
    return elementwise([=](double& w, double gradient, double& m, double& v, double decay, int t) {
      const double g = decoupled ? gradient : gradient + decay * w;
      m = 0.9 * m + 0.1 * g;
      v = 0.99 * v + 0.01 * g * g;
      if (decoupled) w *= 1 - 0.02 * decay;
      w -= 0.02 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.99, t))) + 1e-8);
    });
  };
  expect_formula(AdamW{.lr = 0.02, .beta2 = 0.99, .weight_decay = 0.1}, rule(true), 0.1);
  expect_formula(Adam{.lr = 0.02, .beta2 = 0.99, .weight_decay = 0.1}, rule(false), 0.1);
}

TEST(RmsProp, FollowsTheFormulaWithAndWithoutMomentum) {
  for (const double momentum : {0.0, 0.9}) {
    expect_formula(RmsProp{.lr = 0.003, .decay = 0.9, .momentum = momentum, .weight_decay = 0.2},
                   elementwise([=](double& w, double gradient, double& v, double& b, double decay, int) {
                     const double g = gradient + decay * w;
                     v = 0.9 * v + 0.1 * g * g;
                     b = momentum * b + g / (std::sqrt(v) + 1e-8);
                     w -= 0.003 * b;
                   }),
                   0.2);
  }
}

TEST(Lion, FollowsTheFormula) {
  expect_formula(Lion{.lr = 0.01, .weight_decay = 0.5},
                 elementwise([](double& w, double g, double& m, double&, double decay, int) {
                   const double direction = 0.9 * m + (1 - 0.9) * g;
                   w *= 1 - 0.01 * decay;
                   w -= 0.01 * ((direction > 0) - (direction < 0));
                   m = 0.99 * m + 0.01 * g;
                 }),
                 0.5);
}

struct AdafactorByHand final : ByHand {
  void update(Numbers& w, const Numbers& g, double decay, int t) override {
    const std::size_t n = w.size() == 4 ? 2 : 1, m = 2;  // the matrix, or the vector
    const double b = std::pow(t, -0.8);
    rows.resize(n == 1 ? m : n), columns.resize(m);
    Numbers v(w.size());
    if (n == 1) {
      for (std::size_t j = 0; j < m; ++j) v[j] = rows[j] += b * (g[j] * g[j] - rows[j]);
    } else {
      for (std::size_t i = 0; i < n; ++i)
        rows[i] += b * ((g[i * m] * g[i * m] + g[i * m + 1] * g[i * m + 1]) / 2 - rows[i]);
      for (std::size_t j = 0; j < m; ++j)
        columns[j] += b * ((g[j] * g[j] + g[m + j] * g[m + j]) / 2 - columns[j]);
      for (std::size_t i = 0; i < 4; ++i) v[i] = rows[i / m] * columns[i % m] / ((rows[0] + rows[1]) / 2);
    }
    double of_w = 0, of_u = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      of_w += w[i] * w[i] / static_cast<double>(w.size());
      of_u += g[i] * g[i] / v[i] / static_cast<double>(w.size());
    }
    const double rate = std::min(0.3, 1 / std::sqrt(t)) * std::max(1e-3, std::sqrt(of_w));
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = w[i] * (1 - 0.3 * decay) - rate * g[i] / std::sqrt(v[i]) / std::max(1.0, std::sqrt(of_u));
  }
  Numbers rows, columns;
};

TEST(Adafactor, FollowsTheFormulaAndKeepsARowAndAColumn) {
  const Adafactor optimizer{.lr = 0.3, .weight_decay = 0.05};
  expect_formula(
      optimizer, [] { return std::make_unique<AdafactorByHand>(); }, 0.05, 6);
  const std::vector<Tensor> wide = {zeros({5, 70, 30}), zeros({})};
  const auto state = optimizer.init(wide);
  EXPECT_EQ(state.rows[0].shape(), Shape({5, 70, 1}));
  EXPECT_EQ(state.columns[0].shape(), Shape({5, 1, 30}));
  EXPECT_EQ(state.rows[1].shape(), Shape({}));
  EXPECT_EQ(state.columns[1].shape(), Shape({0}));
}

TEST(AdamW, TheFirstStepMovesEveryWeightByTheRate) {
  const AdamW optimizer{.lr = 0.5, .weight_decay = 0};
  const auto state = step(optimizer, loss)(optimizer.init(start()), slope_of_offset()).first;
  expect_near(state.parameters.slope, {0.0, -0.5, 1.5, 2.5}, 1e-5);
  expect_near(state.parameters.offset, {0.5, -1.5}, 1e-5);
}

template <class Optimizer>
void expect_wide_moments(const Optimizer& optimizer) {
  Line line = start();
  line.offset = cast(line.offset, DType::bf16);
  const auto state = step(optimizer, loss)(optimizer.init(line), slope_of_offset()).first;
  EXPECT_EQ(state.parameters.offset.dtype(), DType::bf16);
  for_each_tensor(state, [&](const std::string& path, const Tensor& tensor) {
    if (path.starts_with("parameters.") || path == "steps") return;
    EXPECT_EQ(tensor.dtype(), DType::f32) << path;
  });
}

TEST(Optimizers, MomentsOfSixteenBitParametersAreF32) {
  expect_wide_moments(Momentum{});
  expect_wide_moments(Adam{});
  expect_wide_moments(AdamW{});
  expect_wide_moments(RmsProp{.momentum = 0.9});
  expect_wide_moments(Lion{});
  expect_wide_moments(Adafactor{});
}

TEST(AdamW, KeepsItsMomentsInWhatItIsAskedTo) {
  const AdamW small{.lr = 0.1, .moments = DType::bf16}, usual{.lr = 0.1};
  auto a = small.init(start());
  auto b = usual.init(start());
  for (int i = 0; i < 3; ++i) {
    a = step(small, loss)(a, slope_of_offset()).first;
    b = step(usual, loss)(b, slope_of_offset()).first;
  }
  EXPECT_EQ(a.mean.slope.dtype(), DType::bf16);
  EXPECT_EQ(a.variance.offset.dtype(), DType::bf16);
  EXPECT_EQ(a.parameters.slope.dtype(), DType::f32);
  expect_near(a.parameters.slope, b.parameters.slope.to_vector(), 0.01);
  EXPECT_NE(a.parameters.slope.to_vector(), b.parameters.slope.to_vector()) << "they are rounded";
}

TEST(Step, PassesOnWhatTheLossReturnsBesides) {
  const auto with_norm = [](const Line& line, Tensor c) { return std::pair(loss(line, c), sum(line.slope)); };
  const auto [state, value] = step(Sgd{}, with_norm)(Sgd{}.init(start()), slope_of_offset());
  EXPECT_NEAR(value.second.item(), 4.5, 1e-6);
}

TEST(Step, GradientsHaveTheNamesOfTheirParametersAndInputsKeepTheirs) {
  const auto train = compile(step(Sgd{}, loss));
  const auto planned = train.prepare(Sgd{}.init(start()), slope_of_offset());
  std::vector<std::string> names;
  for (const Value& value : planned.graph.values()) names.push_back(value.name);
  EXPECT_EQ(std::ranges::count(names, "arg0.parameters.slope"), 1);
  EXPECT_EQ(std::ranges::count(names, "arg1"), 1);  // also the gradient of the offset
  EXPECT_EQ(std::ranges::count(names, "gradients.offset"), 0);
}

TEST(Momentum, DonatedStateIsCountedOnce) {
  const Momentum optimizer;
  const auto train = compile(step(optimizer, loss), {.donate = {0}});
  const auto planned = train.prepare(optimizer.init(start()), slope_of_offset());
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(planned.graph.inputs()[i].donated);
  EXPECT_FALSE(planned.graph.inputs()[5].donated);
}

TEST(Optimizers, TreesOfAnotherLengthAreRefusedAtTheLineOfTheUpdate) {
  using Trees = std::vector<Tensor>;
  const Trees two = {ones({2}), ones({3})}, one = {ones({2})};
  const Tensor steps = zeros({}, DType::i32);
  for (const auto& mistake : std::vector<std::function<void()>>{
           [&] { Sgd{}.update(Sgd{}.init(two), one); }, [&] { Momentum{}.update(Momentum{}.init(two), one); },
           [&] {
             Momentum{}.update({two, one, steps}, two);
           },
           [&] { AdamW{}.update(AdamW{}.init(two), one); },
           [&] {
             AdamW{}.update({two, one, two, steps}, two);
           },
           [&] {
             AdamW{}.update({two, two, one, steps}, two);
           }}) {
    try {
      mistake();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::structure_mismatch);
      EXPECT_EQ(error.where().file, SourceLine(std::source_location::current()).file);
    }
  }
}

// The field and the line of the step that the error speaks of.
template <class Optimizer>
void expect_refused(const Optimizer& optimizer, const std::string& field) {
  const SourceLine line = std::source_location::current();
  try {
    step(optimizer, [](const Tensor& w) { return sum(w); })(optimizer.init(ones({2, 2})));
    ADD_FAILURE() << field << ": no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_attribute);
    EXPECT_EQ(error.where().file, line.file);
    EXPECT_EQ(error.where().line, line.line + 2);
    EXPECT_NE(error.parts().what.find(field), std::string::npos) << error.what();
    EXPECT_FALSE(error.parts().expected.empty());
  }
}

TEST(OptimizerSettings, ThatMakeNoSenseAreRefusedByName) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double beta : {1.0, 2.0, -0.5, nan}) {
    expect_refused(Adam{.beta1 = beta}, ".beta1");
    expect_refused(AdamW{.beta2 = beta}, ".beta2");
    expect_refused(AdamW{.moments = DType::i32}, ".moments");
    expect_refused(AdamW8bit{.beta1 = beta}, ".beta1");
    expect_refused(Lion{.beta2 = beta}, ".beta2");
    expect_refused(Momentum{.beta = beta}, ".beta");
    expect_refused(RmsProp{.decay = beta}, ".decay");
    expect_refused(RmsProp{.momentum = beta}, ".momentum");
  }
  for (const double rate : {-1.0, nan, infinity}) {
    expect_refused(Sgd{.lr = rate}, "rate");
    expect_refused(Lion{.lr = rate}, "rate");
    expect_refused(AdamW{.groups = {{.pattern = "*", .lr = rate}}}, "rate");
    expect_refused(Sgd{.weight_decay = rate}, ".weight_decay");
    expect_refused(Adafactor{.weight_decay = rate}, ".weight_decay");
    expect_refused(AdamW{.groups = {{.pattern = "*", .weight_decay = rate}}}, ".weight_decay");
    expect_refused(Adafactor{.least_scale = rate}, ".least_scale");
  }
  for (const double eps : {0.0, -1.0, nan, infinity}) {
    expect_refused(AdamW{.eps = eps}, ".eps");
    expect_refused(RmsProp{.eps = eps}, ".eps");
    expect_refused(Adafactor{.eps = eps}, ".eps");
    expect_refused(Adafactor{.largest_update = eps}, ".largest_update");
  }
  for (const double decay : {0.5, nan, -infinity})
    expect_refused(Adafactor{.beta2_decay = decay}, ".beta2_decay");
}

}  // namespace
}  // namespace tidemark::optim
