// Effects happen in the program's order and as often as it says, wherever they stand: in loops and branches,
// in checkpoints, in functions whose derivatives are taken, at every budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tidemark/ops/custom/custom.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> heard;
std::vector<std::string> take_heard() { return std::exchange(heard, {}); }

void note(std::string_view who, const TensorRef& x) {
  heard.push_back(fmt::format("{} {:g}", who, x.as<const float>()[0]));
}

// Says the first element of its operand, and returns nothing.
const Op& saying(std::string name, Effect effect) {
  return make_custom_op(
      {.name = name,
       .infer = [](std::span<const Type>) { return std::vector<Type>{}; },
       .kernel = [name](std::span<const TensorRef> in, std::span<const TensorRef>) { note(name, in[0]); },
       .effect = effect,
       .derivative = Derivative::zero});
}
// The same, and returns its operand.
const Op& passing(std::string name, Effect effect) {
  return make_custom_op({.name = name,
                         .infer = [](std::span<const Type> in) { return std::vector{in[0]}; },
                         .kernel =
                             [name](std::span<const TensorRef> in, std::span<const TensorRef> out) {
                               note(name, in[0]);
                               std::copy_n(in[0].as<const float>(), in[0].count(), out[0].as<float>());
                             },
                         .vjp = [](const RuleCall& rule) { return std::vector{rule.seed[0]}; },
                         .effect = effect});
}
void say(const Tensor& x) {
  static const Op& op = saying("say", {.domain = "io"});
  call(op, {x});
}
void lock(const Tensor& x) {
  static const Op& op = saying("lock", {.domain = "io", .on_replay = OnReplay::refuse});
  call(op, {x});
}
Tensor pass(const Tensor& x) {
  static const Op& op = passing("pass", {.domain = "io"});
  return call(op, {x}).front();
}
Tensor reduce(const Tensor& x) {
  static const Op& op = passing("reduce", {.domain = "collective", .on_replay = OnReplay::repeat});
  return call(op, {x}).front();
}

// What a call says at budgets from what it takes freely down to the smallest: always this.
template <class F, class... Args>
void expect_heard(const std::vector<std::string>& expected, const F& f, const Args&... args) {
  heard.clear();
  const auto free = compile(f, {.effort = 0.02});
  const auto result = free(args...);
  EXPECT_EQ(take_heard(), expected);
  const std::int64_t most = free.plan().peak().count, least = free.smallest(types_of(args)...).memory.count;
  for (int k : {0, 4, 8, 12, 16}) {
    const auto step = compile(f, {.memory = Bytes(least + (most - least) * k / 16), .effort = 0.02});
    EXPECT_EQ(step(args...).to_vector(), result.to_vector()) << k << " of 16";
    EXPECT_EQ(take_heard(), expected) << k << " of 16";
  }
  EXPECT_EQ(f(args...).to_vector().size(), result.to_vector().size());
  EXPECT_EQ(take_heard(), expected) << "at once";
}

// Something to recompute.
Tensor long_way(Tensor y) {
  for (int i = 0; i < 6; ++i) y = sin(y * 1.5) + cos(y);
  return y;
}

const Tensor x = full({256}, 0.5f);

TEST(Effects, HappenThoughNobodyReadsThem) {
  const auto f = [](Tensor u) {
    say(u);
    pass(u * 2);
    say(u * 3);
    return sum(long_way(u));
  };
  expect_heard({"say 0.5", "pass 1", "say 1.5"}, f, x);
  expect_heard({"say 0.5", "pass 1", "say 1.5"}, grad(f), x);
}

TEST(Effects, AreNotMergedAndNotEvaluatedEarly) {
  const auto f = [](Tensor u) {
    const Tensor one = ones({4});
    return sum(u) + sum(reduce(one)) + sum(reduce(one));
  };
  expect_heard({"reduce 1", "reduce 1"}, f, x);
}

TEST(Effects, OfTwoDomainsKeepTheirOwnOrders) {
  const auto f = [](Tensor u) {
    Tensor y = u;
    for (int i = 1; i < 4; ++i) {
      say(u * i);
      y = sin(reduce(y * 0.5)) + u;
    }
    return sum(y * long_way(u));
  };
  const auto step = compile(grad(f), {.effort = 0.02});
  step.prepare(types_of(x));
  const std::int64_t most = step.plan().peak().count, least = step.smallest(types_of(x)).memory.count;
  for (int k = 0; k <= 4; ++k) {
    const auto tight = compile(grad(f), {.memory = Bytes(least + (most - least) * k / 4), .effort = 0.02});
    heard.clear();
    tight(x);
    std::vector<std::string> said, reduced;
    for (const std::string& text : take_heard()) {
      if (text.starts_with("say")) {
        said.push_back(text);
      } else if (std::ranges::count(reduced, text) == 0) {  // first runs
        reduced.push_back(text);
      }
    }
    EXPECT_THAT(said, ElementsAre("say 0.5", "say 1", "say 1.5"));
    ASSERT_EQ(reduced.size(), 3u);
    EXPECT_EQ(reduced[0], "reduce 0.25");
  }
}

TEST(Effects, HappenOncePerStepOfALoop) {
  const auto f = [](Tensor u) {
    return sum(repeat(
        4,
        [&](Tensor v) {
          say(v);
          return sin(v) * u + 0.5;
        },
        u));
  };
  heard.clear();
  f(x);
  const std::vector<std::string> expected = take_heard();
  ASSERT_EQ(expected.size(), 4u);
  expect_heard(expected, f, x);
  expect_heard(expected, grad(f), x);
  expect_heard(expected, grad([&](Tensor u) { return sum(square(grad(f)(u))); }), x);
}

TEST(Effects, HappenOncePerStepWhereStatesAreKeptInFewSlots) {
  const auto f = [](Tensor u, LoopOptions options) {
    return sum(repeat(
        12,
        [&](Tensor v) {
          say(v);
          return sin(v) * u + 0.5;
        },
        u, options));
  };
  heard.clear();
  const Tensor free = grad([&](Tensor u) { return f(u, {}); })(x);
  const std::vector<std::string> expected = take_heard();
  ASSERT_EQ(expected.size(), 12u);
  for (std::int64_t slots : {1, 2, 5, 12}) {
    const auto tight = [&](Tensor u) { return f(u, {.memory = Bytes(slots * 1024)}); };
    EXPECT_EQ(compile(grad(tight))(x).to_vector(), free.to_vector());
    EXPECT_EQ(take_heard(), expected) << slots;
  }
}

TEST(Effects, HappenOncePerStepWhereStatesWaitOnADisk) {
  const auto f = [](Tensor u, LoopOptions options) {
    const auto step = [&](Tensor v) {
      say(v);
      return sin(v) * u + 0.5;
    };
    return sum(repeat(60, step, u, options));
  };
  const Tensor wide = sin(arange(4096, DType::f32));
  heard.clear();
  const Tensor free = grad([&](Tensor u) { return f(u, {}); })(wide);
  const std::vector<std::string> expected = take_heard();
  ASSERT_EQ(expected.size(), 60u);
  Machine quick = reference_machine();
  for (Link& link : quick.links) link.latency = 1e-7, link.beside_compute = 50e9;
  for (const std::int64_t states : {4, 30}) {
    const LoopOptions options{.memory = Bytes(states * 16384), .disk = Bytes(10 * 16384)};
    const auto on_disk = compile(grad([&](Tensor u) { return f(u, options); }), {.machine = quick});
    EXPECT_EQ(on_disk(wide).to_vector(), free.to_vector());
    EXPECT_EQ(take_heard(), expected) << states;
    EXPECT_FALSE(on_disk.plan().plan.further.empty()) << on_disk.plan().summary();
  }
}

TEST(Effects, WhoseResultsAreReadAreKeptByALoop) {
  const auto f = [](Tensor u) {
    return sum(repeat(6, [&](Tensor v) { return sin(pass(v)) * u; }, u, {.memory = Bytes(1024)}));
  };
  heard.clear();
  f(x);
  const std::vector<std::string> expected = take_heard();
  ASSERT_EQ(expected.size(), 6u);
  expect_heard(expected, grad(f), x);
}

TEST(Effects, OfWhatIsTheSameAtEveryStepHappenAtEveryStep) {
  const auto f = [](Tensor u) {
    const Tensor w = u * 2;
    return sum(repeat(
        3, [&](Tensor v) { return sin(v) * exp(pass(w)); }, u));
  };
  expect_heard({"pass 1", "pass 1", "pass 1"}, f, x);
  expect_heard({"pass 1", "pass 1", "pass 1"}, grad(f), x);
}

TEST(Effects, HappenInTheBranchThatIsTaken) {
  const auto f = [](Tensor u) {
    const Tensor a = cond(
        sum(u) > 0,
        [](Tensor v) {
          say(v);
          pass(v * 2);
          return exp(v) + pass(v);
        },
        [](Tensor v) {
          say(-v);
          return v;
        },
        u);
    return sum(a * long_way(u));
  };
  expect_heard({"say 0.5", "pass 1", "pass 0.5"}, f, x);
  expect_heard({"say 0.5", "pass 1", "pass 0.5"}, grad(f), x);
  expect_heard({"say 0.5"}, grad(f), full({256}, -0.5f));
}

TEST(Effects, HappenOncePerStepOfAWhileLoop) {
  const auto f = [](Tensor u) {
    return sum(while_loop([](Tensor v) { return sum(v) < 1000; },
                          [](Tensor v) {
                            say(v);
                            return v * v * 0.5 + v + 0.25;
                          },
                          u));
  };
  heard.clear();
  f(x);
  const std::vector<std::string> expected = take_heard();
  ASSERT_GE(expected.size(), 2u);
  expect_heard(expected, f, x);
  expect_heard(expected, grad(f), x);
}

TEST(Effects, HappenInNestedRegions) {
  const auto f = [](Tensor u) {
    return sum(repeat(
        3,
        [&](Tensor v) {
          return repeat(
              2,
              [&](Tensor w) {
                return cond(
                    sum(w) > -1e9,
                    [](Tensor z) {
                      say(z);
                      return sin(z) + 0.25;
                    },
                    [](Tensor z) { return z; }, w * u);
              },
              v);
        },
        u));
  };
  heard.clear();
  f(x);
  const std::vector<std::string> expected = take_heard();
  ASSERT_EQ(expected.size(), 6u);
  expect_heard(expected, f, x);
  expect_heard(expected, grad(f), x);
}

TEST(Effects, HappenOnceInACheckpoint) {
  const auto f = [](Tensor u) {
    Tensor y = u;
    for (int i = 0; i < 3; ++i) {
      y = checkpoint([](Tensor v) {
        say(v);
        return long_way(pass(v));
      })(y);
    }
    return sum(y);
  };
  heard.clear();
  f(x);
  const std::vector<std::string> expected = take_heard();
  ASSERT_EQ(expected.size(), 6u);
  expect_heard(expected, grad(f), x);
}

TEST(Effects, HappenOnceInForwardMode) {
  const auto f = [](Tensor u) {
    const Tensor a = repeat(
        2,
        [](Tensor v) {
          say(v);
          return sin(v);
        },
        u);
    return cond(
        sum(a) > 0,
        [](Tensor v) {
          say(v);
          return exp(v);
        },
        [](Tensor v) { return v; }, a);
  };
  heard.clear();
  f(x);
  const std::vector<std::string> expected = take_heard();
  ASSERT_EQ(expected.size(), 3u);
  expect_heard(
      expected, [&](Tensor u) { return jvp(f, u, ones_like(u)).second; }, x);
  jacobian([&](Tensor u) { return concat({f(u), f(u), f(u)}, 0); })(full({2}, 0.5f));
  EXPECT_EQ(take_heard().size(), 9u);
}

TEST(Effects, OfDerivativeRulesHappenWithTheGradient) {
  static const Op& heard_back = passing("gradient", {.domain = "io"});
  static const Op& loud =
      make_custom_op({.name = "loud",
                      .infer = [](std::span<const Type> in) { return std::vector{in[0]}; },
                      .kernel =
                          [](std::span<const TensorRef> in, std::span<const TensorRef> out) {
                            std::copy_n(in[0].as<const float>(), in[0].count(), out[0].as<float>());
                          },
                      .vjp =
                          [](const RuleCall& rule) {
                            rule.builder.call(heard_back, std::vector{rule.seed[0]});
                            return std::vector{rule.seed[0]};
                          }});
  const auto f = [](Tensor u) {
    const Tensor a = repeat(
        2, [](Tensor v) { return call(loud, {v * 2}).front(); }, u);
    return sum(cond(
        sum(a) > 0, [](Tensor v) { return call(loud, {v * 4}).front(); }, [](Tensor v) { return v; }, a));
  };
  expect_heard({"gradient 1", "gradient 4", "gradient 8"}, grad(f), x);

  static const Op& deaf =
      make_custom_op({.name = "deaf",
                      .infer = [](std::span<const Type> in) { return std::vector{in[0]}; },
                      .kernel = [](std::span<const TensorRef>, std::span<const TensorRef>) {},
                      .vjp =
                          [](const RuleCall& rule) {
                            rule.builder.call(heard_back, std::vector{rule.in[0]});
                            return std::vector{rule.seed[0]};
                          }});
  try {
    grad([](Tensor u) {
      return sum(repeat(
          2, [](Tensor v) { return call(deaf, {v}).front(); }, u));
    })(x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_differentiable);
    EXPECT_THAT(error.what(), HasSubstr("calls gradient, an effect that reads no gradient"));
  }
}

TEST(Effects, ThatOthersRelyOnAreNotLeftOut) {
  const auto branch = [](Tensor u) {
    return sum(cond(
        sum(u) > 0,
        [](Tensor v) {
          lock(v);
          return exp(v);
        },
        [](Tensor v) { return v; }, u));
  };
  try {
    compile(grad(branch))(x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_differentiable);
    EXPECT_THAT(error.what(), HasSubstr("lock may run only once"));
    EXPECT_THAT(error.what(), HasSubstr("effects_test.cc"));
  }
  // A loop keeps what its reverse reads instead.
  const auto loop = [](Tensor u) {
    return sum(repeat(3,
                      [](Tensor v) {
                        lock(v);
                        return exp(v * 0.1);
                      },
                      u, {.memory = Bytes(1024)}));
  };
  heard.clear();
  compile(grad(loop))(x);
  EXPECT_EQ(take_heard().size(), 3u);
}

}  // namespace
}  // namespace tidemark
