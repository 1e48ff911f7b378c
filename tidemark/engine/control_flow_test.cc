// Loops and branches against the same code written out: values, gradients, second order, budgets, errors.
#include "tidemark/trace/control_flow.h"

#include <cmath>
#include "tests/support/test_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/registry.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::HasSubstr;

struct Cell {
  Tensor w, u, b;
  TM_FIELDS(Cell, w, u, b)
};
Tensor waves(const Shape& shape, double frequency, DType dtype = DType::f32) {
  return sin(reshape(arange(element_count(shape), dtype), shape) * frequency);
}
Cell cell(std::int64_t n = 5, std::int64_t k = 3) {
  return {waves({n, n}, 0.7), waves({k, n}, 1.3), waves({n}, 0.9)};
}
Tensor next(const Cell& p, const Tensor& h, const Tensor& x) {
  return tanh(matmul(h, p.w) + matmul(x, p.u) + p.b);
}

Tensor rnn_loop(const Cell& p, const Tensor& xs) {
  const auto body = [&](Tensor h, Tensor x) {
    const Tensor y = next(p, h, x);
    return std::pair(y, sum(y * y));
  };
  const auto [h, ys] = scan(body, zeros({2, 5}), xs);
  return sum(h) + sum(ys * ys);
}
Tensor rnn_unrolled(const Cell& p, const Tensor& xs) {
  Tensor h = zeros({2, 5});
  std::vector<Tensor> ys;
  for (std::int64_t i = 0; i < xs.size(0); ++i) {
    h = next(p, h, xs.at(i));
    ys.push_back(reshape(sum(h * h), {1}));
  }
  const Tensor all = concat(ys, 0);
  return sum(h) + sum(all * all);
}

void expect_same(const Cell& a, const Cell& b) {
  EXPECT_EQ(a.w.to_vector(), b.w.to_vector());
  EXPECT_EQ(a.u.to_vector(), b.u.to_vector());
  EXPECT_EQ(a.b.to_vector(), b.b.to_vector());
}

TEST(Loops, RepeatIsTheStepAgainAndAgain) {
  const Tensor u = waves({4, 4}, 0.3);
  const auto step = [](Tensor x) { return x * 0.5 + sin(x); };
  for (const std::int64_t n : {0, 1, 2, 3, 7}) {
    Tensor expected = u;
    for (std::int64_t i = 0; i < n; ++i) expected = step(expected);
    EXPECT_EQ(repeat(n, step, u).to_vector(), expected.to_vector()) << n;
    EXPECT_EQ(compile([&](Tensor x) { return repeat(n, step, x); })(u).to_vector(), expected.to_vector())
        << n;
  }
}

TEST(Loops, AStepMayTakeItsNumber) {
  const Tensor u = zeros({2});
  const Tensor result = repeat(
      5, [](Tensor x, Tensor i) { return x + cast(i * i, DType::f32); }, u);
  EXPECT_EQ(result.to_vector(), (std::vector<double>{30, 30}));
}

TEST(Loops, ScanGivesTheBitsOfTheUnrolledCode) {
  const Cell p = cell();
  const Tensor xs = waves({9, 2, 3}, 0.21);
  const auto [value, gradient] = compile(value_and_grad(rnn_loop))(p, xs);
  const auto [expected, expected_gradient] = compile(value_and_grad(rnn_unrolled))(p, xs);
  EXPECT_EQ(value.item(), expected.item());
  expect_same(gradient, expected_gradient);
  const auto [eager, eager_gradient] = value_and_grad(rnn_loop)(p, xs);
  EXPECT_EQ(eager.item(), expected.item());
  expect_same(eager_gradient, expected_gradient);
  EXPECT_EQ(compile(grad<1>(rnn_loop))(p, xs).to_vector(), compile(grad<1>(rnn_unrolled))(p, xs).to_vector());
}

TEST(Loops, ForwardModeAgreesWithTheUnrolledCode) {
  const Cell p = cell();
  const Tensor xs = waves({6, 2, 3}, 0.21);
  const auto loop = [&](Tensor x) { return rnn_loop(p, x); };
  const auto unrolled = [&](Tensor x) { return rnn_unrolled(p, x); };
  const Tensor v = waves({6, 2, 3}, 1.7);
  const auto [y, dy] = jvp(loop, xs, v);
  const auto [z, dz] = jvp(unrolled, xs, v);
  EXPECT_EQ(y.item(), z.item());
  EXPECT_FLOAT_EQ(dy.item(), dz.item());
}

TEST(Loops, SecondDerivativesAgreeWithTheUnrolledCode) {
  const Cell p = cell();
  const Tensor xs = waves({4, 2, 3}, 0.21, DType::f64), v = waves({4, 2, 3}, 1.7, DType::f64);
  const Cell q = map_tree([](const Tensor& t) { return cast(t, DType::f64); }, p);
  const auto loop = [&](Tensor x) {
    return sum(square(scan([&](Tensor h, Tensor s) { return next(q, h, s); }, zeros({2, 5}, DType::f64), x)));
  };
  const auto unrolled = [&](Tensor x) {
    Tensor h = zeros({2, 5}, DType::f64);
    for (std::int64_t i = 0; i < 4; ++i) h = next(q, h, x.at(i));
    return sum(square(h));
  };
  const auto twice = [&](auto f) {
    return grad([f, v](Tensor x) { return sum(grad(f)(x) * v); })(xs).to_vector();
  };
  const std::vector<double> expected = twice(unrolled), reverse = twice(loop),
                            forward = hvp(loop, xs, v).to_vector();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(reverse[i], expected[i], 1e-12);
    EXPECT_NEAR(forward[i], expected[i], 1e-12);
  }
}

Tensor nested_loop(const Tensor& w, const Tensor& x) {
  return sum(repeat(
      4,
      [&](Tensor u) {
        const Tensor inner = repeat(
            3, [&](Tensor v) { return sin(v * w) + u; }, u);
        return inner * 0.5 + w;
      },
      x));
}
Tensor nested_unrolled(const Tensor& w, const Tensor& x) {
  Tensor u = x;
  for (int i = 0; i < 4; ++i) {
    Tensor v = u;
    for (int j = 0; j < 3; ++j) v = sin(v * w) + u;
    u = v * 0.5 + w;
  }
  return sum(u);
}

TEST(Loops, NestInOneAnother) {
  const Tensor w = waves({6}, 0.8), x = waves({6}, 0.4);
  const auto [value, gradient] = compile(value_and_grad<0, 1>(nested_loop))(w, x);
  const auto [expected, expected_gradient] = compile(value_and_grad<0, 1>(nested_unrolled))(w, x);
  EXPECT_EQ(value.item(), expected.item());
  EXPECT_EQ(std::get<1>(gradient).to_vector(), std::get<1>(expected_gradient).to_vector());
  const std::vector<double> a = std::get<0>(gradient).to_vector(),
                            b = std::get<0>(expected_gradient).to_vector();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-4 * std::abs(b[i]) + 1e-6);
}

struct State {
  Tensor x, v;
  TM_FIELDS(State, x, v)
};

TEST(Loops, TakeAnyTree) {
  const auto kick = [](State s) {
    s.v -= s.x * 0.1;
    s.x += s.v * 0.1;
    return s;
  };
  const State start{waves({3}, 1), zeros({3})};
  State expected = start;
  for (int i = 0; i < 10; ++i) expected = kick(expected);
  const State result = compile([&](State s) { return repeat(10, kick, s); })(start);
  EXPECT_EQ(result.x.to_vector(), expected.x.to_vector());
  EXPECT_EQ(result.v.to_vector(), expected.v.to_vector());
}

TEST(Loops, APairIsATreeLikeAnyOther) {
  using Pair = std::pair<Tensor, Tensor>;
  const auto turn = [](Pair s) { return Pair(s.second * 0.5, s.first + s.second); };
  const auto f = [&](Pair s) {
    const Pair end = while_loop([](Pair p) { return sum(p.second) < 10; }, turn, repeat(3, turn, s));
    return sum(end.first * end.second);
  };
  const Pair start(ones({2}), ones({2}));
  const Pair slope = compile(grad(f))(start), tangent = grad(f)(start);
  EXPECT_EQ(slope.first.to_vector(), tangent.first.to_vector());
  EXPECT_FLOAT_EQ(static_cast<float>(jvp(f, start, start).second.item()),
                  static_cast<float>((sum(slope.first) + sum(slope.second)).item()));
}

TEST(Loops, IntegersAreCarriedAlong) {
  using Pair = std::pair<Tensor, Tensor>;
  const auto counted = [](std::optional<Bytes> memory) {
    return [memory](Tensor x) {
      const auto step = [](Pair s) {
        return Pair(s.first * sin(s.first + cast(s.second, DType::f32)), s.second + 1);
      };
      return sum(repeat(9, step, Pair(x, scalar(0, DType::i64)), {.memory = memory}).first);
    };
  };
  const auto unrolled = [](Tensor x) {
    for (int i = 0; i < 9; ++i) x = x * sin(x + i);
    return sum(x);
  };
  const Tensor x = waves({5}, 0.4) + 2;
  const std::vector<double> expected = compile(grad(unrolled))(x).to_vector();
  EXPECT_EQ(compile(grad(counted({})))(x).to_vector(), expected);
  for (std::int64_t bytes : {28, 56, 84, 200})
    EXPECT_EQ(compile(grad(counted(Bytes(bytes))))(x).to_vector(), expected);
}

TEST(Loops, WhatComesLastToFirstIsScannedAgainByTheGradient) {
  // A scan of a scan's outputs, and its gradient, which runs backwards; then forwards again.
  const auto f = [](Tensor xs) {
    const auto smooth = [](Tensor h, Tensor x) {
      const Tensor next = h * 0.5 + sin(x);
      return std::pair(next, next * x);
    };
    const auto [end, ys] = scan(smooth, zeros({2}, DType::f64), xs);
    const auto [last, zs] = scan(smooth, end, ys);
    return sum(last) + sum(zs * zs);
  };
  const Tensor xs = waves({6, 2}, 0.7, DType::f64), v = waves({6, 2}, 1.1, DType::f64);
  const double h = 1e-6;
  const double slope = (f(xs + v * h).item() - f(xs - v * h).item()) / (2 * h);
  EXPECT_NEAR(sum(grad(f)(xs) * v).item(), slope, 1e-7 * std::abs(slope));
  const auto g = [&](Tensor x) { return sum(grad(f)(x) * v); };
  const double curvature = (g(xs + v * h).item() - g(xs - v * h).item()) / (2 * h);
  EXPECT_NEAR(sum(grad(g)(xs) * v).item(), curvature, 1e-6 * std::abs(curvature));
}

TEST(Loops, GradientsOfNoStepsAndOfOne) {
  const Tensor x = waves({3}, 1);
  const auto f = [](std::int64_t n) {
    return [n](Tensor u) {
      return sum(repeat(
          n, [](Tensor v) { return v * v; }, u));
    };
  };
  EXPECT_EQ(grad(f(0))(x).to_vector(), ones({3}).to_vector());
  EXPECT_EQ(grad(f(1))(x).to_vector(), (x * 2).to_vector());
}

TEST(Loops, GradientsAgreeWithFiniteDifferencesToSecondOrder) {
  const Tensor x = waves({3}, 0.8, DType::f64), v = waves({3}, 1.9, DType::f64);
  const auto f = [](Tensor u) {
    const auto body = [&](Tensor h) {
      return repeat(
          2, [&](Tensor z) { return sin(z) * u + z; }, h);
    };
    return sum(square(repeat(3, body, u)));
  };
  const double h = 1e-5;
  const auto along = [&](double t) { return x + v * t; };
  const auto dot = [&](const Tensor& a) { return sum(a * v).item(); };
  const double slope = (f(along(h)).item() - f(along(-h)).item()) / (2 * h);
  EXPECT_NEAR(dot(grad(f)(x)), slope, 1e-6 * std::abs(slope));
  const double curvature = (dot(grad(f)(along(h))) - dot(grad(f)(along(-h)))) / (2 * h);
  const auto g = [&](Tensor u) { return sum(grad(f)(u) * v); };
  EXPECT_NEAR(dot(grad(g)(x)), curvature, 1e-5 * std::abs(curvature));
  EXPECT_NEAR(dot(hvp(f, x, v)), curvature, 1e-5 * std::abs(curvature));
}

TEST(Loops, StepsThatCallGradDifferentiateAgain) {
  // Gradient descent inside a loop, differentiated through.
  const Tensor target = waves({4}, 0.6, DType::f64);
  const auto descend = [&](Tensor rate) {
    const auto cost = [&](Tensor p) { return sum(square(square(p) - target)); };
    return sum(repeat(
        5, [&](Tensor p) { return p - grad(cost)(p) * rate; }, ones({4}, DType::f64)));
  };
  const Tensor rate = scalar(0.03, DType::f64);
  const double h = 1e-6;
  const double slope = (descend(rate + h).item() - descend(rate - h).item()) / (2 * h);
  EXPECT_NEAR(compile(grad(descend))(rate).item(), slope, 1e-6 * std::abs(slope));
}

TEST(Loops, RandomKeysOfEachStepGiveTheSameBitsAgain) {
  const Tensor x = waves({64}, 0.2);
  const auto loop = [](Tensor u) {
    std::vector<Tensor> keys;
    for (const Tensor& k : split_key(key(7), 6)) keys.push_back(reshape(k, {1}));
    return sum(
        scan([](Tensor v, Tensor k) { return dropout(v * 1.1 + sin(v), 0.3, k); }, u, concat(keys, 0)));
  };
  const auto unrolled = [](Tensor u) {
    for (const Tensor& k : split_key(key(7), 6)) u = dropout(u * 1.1 + sin(u), 0.3, k);
    return sum(u);
  };
  const auto [value, gradient] = compile(value_and_grad(loop))(x);
  const auto [expected, expected_gradient] = compile(value_and_grad(unrolled))(x);
  EXPECT_EQ(value.item(), expected.item());
  EXPECT_EQ(gradient.to_vector(), expected_gradient.to_vector());
}

TEST(Branches, TheTakenOneRunsAndIsDifferentiated) {
  const auto f = [](Tensor x) {
    return cond(
        sum(x) > 0, [](Tensor y) { return sum(sin(y)); }, [](Tensor y) { return sum(y * y); }, x);
  };
  const Tensor up = waves({4}, 0.5) + 2, down = waves({4}, 0.5) - 2;
  const auto compiled = compile(value_and_grad(f));
  EXPECT_EQ(compiled(up).first.item(), sum(sin(up)).item());
  EXPECT_EQ(compiled(down).first.item(), sum(down * down).item());
  EXPECT_EQ(compiled(up).second.to_vector(), cos(up).to_vector());
  EXPECT_EQ(compiled(down).second.to_vector(), (down + down).to_vector());
  EXPECT_EQ(f(up).item(), sum(sin(up)).item());
  EXPECT_FLOAT_EQ(static_cast<float>(jvp(f, up, ones({4})).second.item()),
                  static_cast<float>(sum(cos(up)).item()));
}

TEST(Branches, StandInLoopsAndHoldLoops) {
  const Tensor w = waves({3}, 0.9);
  const auto loop = [&](Tensor x) {
    return sum(repeat(
        5,
        [&](Tensor u, Tensor i) {
          return cond(
              i % 2 == 0, [&](Tensor v) { return v * w; },
              [&](Tensor v) {
                return repeat(
                    2, [&](Tensor z) { return sin(z) + w; }, v);
              },
              u);
        },
        x));
  };
  const auto unrolled = [&](Tensor u) {
    for (int i = 0; i < 5; ++i) u = i % 2 == 0 ? u * w : sin(sin(u) + w) + w;
    return sum(u);
  };
  const Tensor x = waves({3}, 0.4);
  const auto [value, gradient] = compile(value_and_grad(loop))(x);
  const auto [expected, expected_gradient] = compile(value_and_grad(unrolled))(x);
  EXPECT_EQ(value.item(), expected.item());
  EXPECT_EQ(gradient.to_vector(), expected_gradient.to_vector());
}

TEST(WhileLoops, RunUntilTheirConditionFails) {
  const auto halve = [](Tensor x) {
    return while_loop([](Tensor u) { return sum(u * u) > 1; }, [](Tensor u) { return u * 0.5; }, x);
  };
  const Tensor x = full({4}, 10);
  EXPECT_EQ(compile(halve)(x).to_vector(), full({4}, 10.0 / 32).to_vector());
  EXPECT_EQ(halve(full({4}, 0.25)).to_vector(), full({4}, 0.25).to_vector());
  const auto [y, dy] = jvp(halve, x, ones({4}));
  EXPECT_EQ(dy.to_vector(), full({4}, 1.0 / 32).to_vector());
}

TEST(WhileLoops, GoOnForTheStepsAllowedAndNoFurther) {
  const auto forever = [](Tensor x) {
    return while_loop([](Tensor u) { return u < 100; }, [](Tensor u) { return u + 1; }, x, {.max_steps = 50});
  };
  EXPECT_EQ(forever(scalar(50)).item(), 100);
  try {
    forever(scalar(49));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("goes on after 50 steps"));
    EXPECT_THAT(error.what(), HasSubstr("control_flow_test.cc"));
  }
}

template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(LoopErrors, NameTheLineAndWhatChanged) {
  const std::string changed = message([] {
    repeat(
        3,
        [](Tensor x) {
          return concat({x, x}, 0);
        },
        zeros({2}));
  });
  EXPECT_THAT(changed, HasSubstr("enters the body as f32[2] and leaves it as f32[4]"));
  EXPECT_THAT(changed, HasSubstr("control_flow_test.cc"));
  EXPECT_THAT(message([] {
                cond(
                    zeros({2}) > 0, [](Tensor x) { return x; }, [](Tensor x) { return x; }, zeros({2}));
              }),
              HasSubstr("bool[2]"));
  EXPECT_THAT(message([] {
                cond(
                    scalar(1) > 0, [](Tensor x) { return x; },
                    [](Tensor x) {
                      return concat({x, x}, 0);
                    },
                    zeros({2}));
              }),
              HasSubstr("f32[2] in one branch and f32[4]"));
  EXPECT_THAT(message([] { while_loop([](Tensor x) { return x; }, [](Tensor x) { return x; }, zeros({})); }),
              HasSubstr("the condition gives f32"));
  EXPECT_THAT(message([] { scan([](Tensor h, Tensor) { return h; }, zeros({2}), scalar(1)); }),
              HasSubstr("at least one dimension"));
  EXPECT_THAT(message([] {
                repeat(
                    -1, [](Tensor x) { return x; }, zeros({2}));
              }),
              HasSubstr("-1 steps"));
}

TEST(LoopErrors, ATensorOfTheBodyIsNotUsedOutside) {
  Tensor leaked;
  repeat(
      2,
      [&](Tensor x) {
        leaked = x + 1;
        return leaked;
      },
      zeros({2}));
  EXPECT_THAT(message([&] { leaked + 1; }), HasSubstr("return"));
}

TEST(LoopPlans, AreTextAndJsonAndAreVerified) {
  const auto compiled = compile(value_and_grad(rnn_loop));
  const PlannedGraph planned = compiled.prepare(cell(), waves({9, 2, 3}, 0.21));
  EXPECT_FALSE(planned.plan.bodies.empty());
  const Plan again = plan_from_json(planned.to_json());
  EXPECT_TRUE(problems(planned.graph, again, test_target()).empty());
  EXPECT_EQ(to_json(again), to_json(planned.plan));
  Plan broken = again;
  broken.bodies[0].regions[0].buffers[0].bytes += 1;
  EXPECT_FALSE(problems(planned.graph, broken, test_target()).empty());
  broken = again;
  broken.bodies.clear();
  EXPECT_FALSE(problems(planned.graph, broken, test_target()).empty());
  const Graph read = parse(print(planned.graph), {find_op});
  EXPECT_EQ(print(read), print(planned.graph));
  compiled(cell(), waves({9, 2, 3}, 0.21));
  EXPECT_EQ(compiled.arena_high_water().count, planned.plan.arena_bytes);
}

}  // namespace
}  // namespace tidemark
