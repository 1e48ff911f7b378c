// Values of a loop's steps that wait as the difference to the step before: what that does to gradients and
// bytes, and that nothing else changes, however the loop is reversed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/errors.h"
#include "tests/support/sanitized.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/autodiff/residuals.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/engine/form_search.h"
#include "tidemark/engine/program.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/custom/custom.h"
#include "tidemark/ops/registry.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::code_of;
using ::testing::HasSubstr;

int deltas_in(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes()) {
    count += node.op == &op::from_delta;
    for (const Graph& region : node.regions) count += deltas_in(region);
  }
  return count;
}

double largest_gap(const std::vector<double>& a, const std::vector<double>& b) {
  double gap = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    gap = std::max(gap, std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(a[i]));
  }
  return gap / size;
}

// u diffuses, is damped and driven, by terms whose rules read it: slow states, of which there are many.
auto diffusion(std::optional<Form> form, std::int64_t steps = 60) {
  return [=](Tensor rate, Tensor u) {
    const auto step = [&](Tensor v) {
      if (form) v = compress(v, *form);
      const Tensor inner = v.at(Range{2, v.shape()[0]}) - 2 * v.at(Range{1, v.shape()[0] - 1}) +
                           v.at(Range{0, v.shape()[0] - 2});
      return v + 0.2 * pad(inner, {1}, {1}) - 0.01 * rate * v + 0.01 * sin(v);
    };
    return mean(square(repeat(steps, step, u)));
  };
}
Tensor wavy(std::int64_t count = 2048) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(std::sin(0.01 * static_cast<double>(i)) + 0.3);
  return cast(tensor(values, {count}), DType::f32);
}
Tensor rates(std::int64_t count = 2048) { return random_uniform(key(5), {count}, 0.5, 1.5); }

TEST(DeltaForm, IsCloserThanTheFormatAloneInTheSameBytes) {
  const Tensor rate = rates(), u = wavy();
  const auto exact = compile(value_and_grad(diffusion({})));
  const auto [value, right] = exact(rate, u);
  double alone = 0, with_eight = 0, with_four = 0;
  for (const Form& form :
       {Form(codec::int8), Form(codec::delta(codec::int8)), Form(codec::delta(codec::int4))}) {
    const auto step = compile(value_and_grad(diffusion(form)));
    const auto [same, close] = step(rate, u);
    EXPECT_EQ(value.to_vector(), same.to_vector()) << "the forward pass is not touched";
    const double error = largest_gap(right.to_vector(), close.to_vector());
    (form == Form(codec::int8)                 ? alone
     : form == Form(codec::delta(codec::int8)) ? with_eight
                                               : with_four) = error;
    EXPECT_EQ(step.arena_high_water().count, step.plan().plan.arena_bytes);
    EXPECT_LT(step.plan().peak().count, exact.plan().peak().count * 2 / 3);
    EXPECT_EQ(deltas_in(step.plan().graph), form == Form(codec::int8) ? 0 : 1);
    EXPECT_THAT(step.plan().summary(), HasSubstr("compressed"));
  }
  EXPECT_GT(alone, 20 * with_eight);
  EXPECT_GT(alone, with_four);
  EXPECT_GT(with_eight, 0);
}

TEST(DeltaForm, GradientErrorMeasuresItOverAllSteps) {
  const auto step = compile(grad(diffusion(codec::delta(codec::int8))));
  const GradientError error = step.gradient_error(rates(), wavy());
  ASSERT_EQ(error.values.size(), 1u);
  const LossyValue& value = error.values[0];
  EXPECT_EQ(value.form, Form(Delta{QuantFormat::int8}));
  EXPECT_EQ(value.copies, 60);
  EXPECT_EQ(value.small.count, 60 * quantized_bytes(QuantFormat::int8, {DType::f32, {2048}}));
  ASSERT_TRUE(value.measured);
  EXPECT_GT(*value.measured, 0);
  EXPECT_LT(*value.measured, 1e-4);
  EXPECT_LE(*value.measured, value.bound);
  EXPECT_LT(value.bound, 0.01);
  EXPECT_GT(error.largest, 0);
  EXPECT_LT(error.largest, 1e-3);
  EXPECT_THAT(error.text(), HasSubstr("delta(int8)"));
  // Other forms are measured in loops too, and are as far off as they may be.
  const GradientError plain = compile(grad(diffusion(codec::int8))).gradient_error(rates(), wavy());
  ASSERT_EQ(plain.values.size(), 1u);
  ASSERT_TRUE(plain.values[0].measured);
  EXPECT_GT(*plain.values[0].measured, 10 * *value.measured);
  EXPECT_LE(*plain.values[0].measured, plain.values[0].bound);
}

TEST(DeltaForm, HasTheSameBitsAtEveryBudgetAndOnAnyThreads) {
  const Tensor rate = rates(40000), u = wavy(40000);
  const auto loss = diffusion(codec::delta(codec::int8), 12);
  const auto step = compile(grad(loss));
  const std::vector<double> right = step(rate, u).to_vector();
  const Bytes least = step.smallest(rate, u).memory;
  const auto room = static_cast<double>(step.plan().peak().count - least.count);
  for (const double part : {0.0, 0.2, 0.7}) {
    if (few && part != 0.2) continue;
    const Bytes budget(least.count + static_cast<std::int64_t>(room * part));
    const auto tight = compile(grad(loss), {.memory = budget, .effort = 0.1});
    EXPECT_EQ(tight(rate, u).to_vector(), right) << part;
    EXPECT_LE(tight.plan().peak(), budget);
    EXPECT_EQ(tight.arena_high_water().count, tight.plan().plan.arena_bytes);
  }
  for (const int threads : {1, 2, 3}) {
    set_threads(threads);
    EXPECT_EQ(compile(grad(loss))(rate, u).to_vector(), right) << threads;
  }
  set_threads(0);
}

TEST(DeltaForm, HasTheSameBitsWhereRecordsWaitOnADisk) {
  const testing::ScratchFolder folder;
  const Tensor rate = rates(8192), u = wavy(8192);
  const auto loss = diffusion(codec::delta(codec::int8), 64);
  const auto step = compile(grad(loss));
  const std::vector<double> right = step(rate, u).to_vector();
  const auto on_disk = compile(grad(loss), {.memory = Bytes(step.plan().peak().count * 6 / 10),
                                            .disk = {{folder.path(), 64_MiB}},
                                            .allow = {Choice::disk},
                                            .effort = 0.05});
  EXPECT_EQ(on_disk(rate, u).to_vector(), right);
  EXPECT_LT(on_disk.plan().peak(), step.plan().peak());
}

TEST(DeltaForm, HasTheSameBitsWhereStatesAreInFiles) {
  const auto loss = [](LoopOptions options) {
    return [=](Tensor rate, Tensor u) {
      const auto step = [&](Tensor v) {
        v = compress(v, codec::delta(codec::int8));
        return v - 0.05 * rate * v + 0.02 * sin(v);
      };
      return mean(square(repeat(40, step, u, options)));
    };
  };
  const Tensor rate = rates(512), u = wavy(512);
  EXPECT_EQ(compile(grad(loss({.memory = 16_KiB, .disk = 128_KiB})))(rate, u).to_vector(),
            compile(grad(loss({})))(rate, u).to_vector());
}

TEST(DeltaForm, EffectsOfAStepHappenOnceInEach) {
  static int calls = 0;
  static const Op& counting =
      make_custom_op({.name = "counting_steps",
                      .infer = [](std::span<const Type>) { return std::vector<Type>{}; },
                      .kernel = [](std::span<const TensorRef>, std::span<const TensorRef>) { ++calls; },
                      .effect = {.domain = "io"},
                      .derivative = Derivative::zero});
  const auto loss = [](Tensor rate, Tensor u) {
    const auto step = [&](Tensor v) {
      call(counting, {v});
      v = compress(v, codec::delta(codec::int8));
      return v - 0.05 * rate * v;
    };
    return mean(square(repeat(7, step, u)));
  };
  const auto gradient = compile(grad(loss));
  (void)gradient.prepare(rates(512), wavy(512));
  calls = 0;
  (void)gradient(rates(512), wavy(512));
  EXPECT_EQ(calls, 7);
  EXPECT_EQ(deltas_in(gradient.plan().graph), 1);
}

// An RNN over xs, with a value per step beside what is carried.
auto recurrent(std::optional<Form> form) {
  return [=](Tensor w, Tensor xs) {
    const auto body = [&](Tensor h, Tensor x) {
      Tensor z = tanh(matmul(h, w) + x);
      if (form) z = compress(z, *form);
      const Tensor next = 0.9 * h + 0.1 * z;
      return std::pair(next, mean(square(z)));
    };
    const auto [last, losses] = scan(body, zeros({32, 64}), xs);
    return mean(square(last)) + mean(losses);
  };
}
Tensor slow_inputs(std::int64_t steps = 40) {
  const Tensor phase = reshape(arange(steps, DType::f32), {steps, 1, 1}) * 0.05;
  return sin(phase + random_normal(key(21), {1, 32, 64}));
}

// The results of a graph however its loops are reversed: by records, of all or fewer, in segments, from
// states; on one, two and three threads in turn.
std::vector<std::vector<Literal>> in_every_way(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Literal> literals;  // of f32
  for (const Tensor& tensor : inputs) {
    const std::vector<double> values = tensor.to_vector();
    const std::vector<float> elements(values.begin(), values.end());
    const auto bytes = std::as_bytes(std::span(elements));
    literals.push_back({DType::f32, tensor.shape(), {bytes.begin(), bytes.end()}});
  }
  const Graph unlowered = prepare_unlowered(graph, {}, cpu_target());
  std::vector<LoopMemory> ways = {LoopMemory()};
  for (const std::int64_t segments : {2, 3, 7}) {
    ways.emplace_back();
    ways.back().each.segments = segments;
  }
  for (const LoopModes& modes : loop_modes(unlowered)) {
    for (const std::int64_t bytes : modes.own) ways.emplace_back(bytes);
    for (const std::int64_t bytes : modes.records) {
      ways.emplace_back(bytes);
      ways.back().each.segments = 3;
    }
  }
  ways.emplace_back(0);
  std::vector<std::vector<Literal>> all;
  for (const LoopMemory& way : ways) {
    ThreadPool pool(1 + static_cast<int>(all.size()) % 3);
    all.push_back(interpret(prepare_lowered(unlowered, {}, nullptr, way, cpu_target()), literals, pool));
  }
  return all;
}
template <class F, class... Args>
Graph asked_gradient(const F& f, const Args&... args) {
  const Graph traced = *trace_call(f, std::tuple(args...), {}).graph;
  return lower_residuals(traced, asked_for(residuals_of(traced)));
}
void expect_one_result(const std::vector<std::vector<Literal>>& all) {
  ASSERT_GT(all.size(), 5u);
  for (std::size_t w = 1; w < all.size(); ++w) {
    for (std::size_t i = 0; i < all[0].size(); ++i)
      EXPECT_TRUE(all[w][i].bytes == all[0][i].bytes) << "way " << w << ", result " << i;
  }
}

TEST(DeltaForm, HasTheSameBitsHoweverTheLoopIsReversed) {
  const Tensor rate = rates(), u = wavy();
  expect_one_result(in_every_way(
      asked_gradient(value_and_grad(diffusion(codec::delta(codec::int8), 13)), rate, u), {rate, u}));
  const Tensor w = random_normal(key(20), {64, 64}, 0, 0.1), xs = slow_inputs(17);
  const Graph rnn = asked_gradient(grad(recurrent(codec::delta(codec::int4))), w, xs);
  EXPECT_GT(deltas_in(rnn), 0);
  expect_one_result(in_every_way(rnn, {w, xs}));
}

TEST(DeltaForm, WorksOnWhatAScanComputesFromItsSlices) {
  const Tensor w = random_normal(key(20), {64, 64}, 0, 0.1), xs = slow_inputs();
  const auto exact = compile(grad(recurrent({})));
  const std::vector<double> right = exact(w, xs).to_vector();
  const double alone = largest_gap(right, compile(grad(recurrent(codec::int8)))(w, xs).to_vector());
  const auto step = compile(grad(recurrent(codec::delta(codec::int8))));
  const double close = largest_gap(right, step(w, xs).to_vector());
  EXPECT_EQ(deltas_in(step.plan().graph), 1);
  EXPECT_LT(close, alone / 4);
  EXPECT_GT(close, 0);
  const GradientError error = step.gradient_error(w, xs);
  ASSERT_EQ(error.values.size(), 1u);
  EXPECT_LE(*error.values[0].measured, error.values[0].bound);
}

TEST(DeltaForm, TheStepsOfAnInnerLoopAreNeighboursInEachRunOfIt) {
  const auto loss = [](std::optional<Form> form) {
    return [=](Tensor w, Tensor xs) {
      const auto inner = [&](Tensor h) {
        if (form) h = compress(h, *form);
        return h + 0.02 * sin(h * w);
      };
      const auto outer = [&](Tensor h, Tensor x) {
        Tensor mixed = h + 0.01 * x;
        if (form) mixed = compress(mixed, *form);
        return repeat(9, inner, mixed * mixed * 0.5 + 0.5 * mixed);
      };
      return mean(square(scan(outer, full({512}, 0.8), xs)));
    };
  };
  const Tensor w = random_normal(key(2), {512}), xs = random_normal(key(3), {7, 512});
  const std::vector<double> right = compile(grad(loss({})))(w, xs).to_vector();
  const auto step = compile(grad(loss(codec::delta(codec::int8))));
  EXPECT_LT(largest_gap(right, step(w, xs).to_vector()), 5e-3) << "xs are noise";
  EXPECT_EQ(deltas_in(step.plan().graph), 2);
  const Graph graph = asked_gradient(grad(loss(codec::delta(codec::int8))), w, xs);
  expect_one_result(in_every_way(graph, {w, xs}));
  const GradientError error = step.gradient_error(w, xs);
  ASSERT_EQ(error.values.size(), 2u);
  EXPECT_NE(error.values[0].measured.has_value(), error.values[1].measured.has_value())
      << "of the inner loop's nobody knows";
}

TEST(DeltaForm, WhatIsNoNumberAtOneStepStaysThere) {
  // Step 5 divides by zero at one element; its contribution to the carry is cut out again.
  const auto loss = [](std::optional<Form> form) {
    return [=](Tensor rate, Tensor xs) {
      const auto body = [&](Tensor h, Tensor x) {
        Tensor z = rate / x;
        if (form) z = compress(z, *form);
        const Tensor safe = select(abs(z) < 100, z, zeros_like(z));
        return std::pair(h * 0.5 + sin(safe) * h, z * z);
      };
      const auto [last, all] = scan(body, ones({300}), xs);
      return std::pair(sum(last), all);
    };
  };
  std::vector<double> divisors;
  for (int t = 0; t < 12; ++t) {
    for (int i = 0; i < 300; ++i) divisors.push_back(1 + 0.01 * t + (i % 7));
  }
  divisors[5 * 300 + 17] = 0;
  const Tensor xs = cast(tensor(divisors, {12, 300}), DType::f32), rate = full({300}, 1.5);
  const auto gradients = [&](std::optional<Form> form) {
    const auto summed = [=](Tensor r, Tensor x) { return sum(loss(form)(r, x).second, {1}); };
    const auto at = [=](Tensor r, Tensor x) { return sum(summed(r, x).at(3)); };
    return compile(grad(at))(rate, xs).to_vector();
  };
  const std::vector<double> right = gradients({}), close = gradients(codec::delta(codec::int8));
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (i == 17) continue;  // 0 times an infinity, in both
    ASSERT_TRUE(std::isfinite(close[i])) << i;
    EXPECT_NEAR(close[i], right[i], 1e-3 * std::abs(right[i])) << i;
  }
}

TEST(DeltaForm, EveryFloatDtypeHasOne) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const auto loss = [](std::optional<Form> form) {
      return [=](Tensor rate, Tensor u) {
        const auto step = [&](Tensor v) {
          if (form) v = compress(v, *form);
          return v - 0.05 * rate * v * v;
        };
        return mean(square(repeat(20, step, u)));
      };
    };
    const Tensor rate = cast(rates(700), dtype), u = cast(wavy(700), dtype);
    const std::vector<double> right = compile(grad(loss({})))(rate, u).to_vector();
    const auto step = compile(grad(loss(codec::delta(codec::int8))));
    const double tolerance = dtype == DType::bf16 ? 0.05 : dtype == DType::f16 ? 5e-3 : 5e-4;
    EXPECT_LT(largest_gap(right, step(rate, u).to_vector()), tolerance) << name_of(dtype);
    EXPECT_EQ(deltas_in(step.plan().graph), 1) << name_of(dtype);
    const GradientError error = step.gradient_error(rate, u);
    ASSERT_EQ(error.values.size(), 1u);
    EXPECT_LE(*error.values[0].measured, error.values[0].bound) << name_of(dtype);
  }
}

TEST(DeltaForm, LoopsOfOneStepAndOfNoneAndValuesTooSmallAreLeftAlone) {
  const Tensor rate = rates(256), u = wavy(256);
  for (const std::int64_t steps : {0, 1}) {
    EXPECT_EQ(compile(grad(diffusion(codec::delta(codec::int8), steps)))(rate, u).to_vector(),
              compile(grad(diffusion({}, steps)))(rate, u).to_vector())
        << steps;
  }
  const auto scalar = [](Tensor x) {
    return repeat(
        5, [](Tensor v) { return sin(compress(v, codec::delta(codec::int8))); }, x);
  };
  EXPECT_EQ(compile(grad(scalar))(full({}, 0.3)).to_vector(), compile(grad([](Tensor x) {
                                                                return repeat(
                                                                    5, [](Tensor v) { return sin(v); }, x);
                                                              }))(full({}, 0.3))
                                                                  .to_vector());
  EXPECT_TRUE(compile(grad(scalar)).gradient_error(full({}, 0.3)).values.empty());
}

TEST(DeltaForm, SecondDerivativesAndWhatIsComputedAgainAreExactOrClose) {
  const Tensor rate = rates(256), u = wavy(256);
  const auto curvature = [](const auto& loss) {
    return
        [=](Tensor r, Tensor x) { return grad([&](Tensor s) { return sum(square(grad(loss)(s, x))); })(r); };
  };
  const std::vector<double> right = compile(curvature(diffusion({}, 12)))(rate, u).to_vector();
  const std::vector<double> close =
      compile(curvature(diffusion(codec::delta(codec::int8), 12)))(rate, u).to_vector();
  EXPECT_LT(largest_gap(right, close), 1e-2);
  // Within a checkpoint there is nothing that waits.
  const auto inside = [](Tensor r, Tensor x) {
    const auto step = [&](Tensor v) {
      return checkpoint([&](Tensor w) { return sin(compress(w * r, codec::delta(codec::int8))) + w; })(v);
    };
    return mean(square(repeat(6, step, x)));
  };
  (void)compile(grad(inside))(rate, u);
}

TEST(DeltaForm, BranchesAndLoopsOfUnknownLengthInAStepHaveNoNeighbour) {
  const Tensor x = wavy(300);
  const auto loss = [](std::optional<Form> form) {
    return [=](Tensor u) {
      const auto body = [&](Tensor v) {
        const auto waved = [&](Tensor w) { return sin(form ? compress(w, *form) : w) * w; };
        return cond(
            sum(v) > 0, waved, [](Tensor w) { return w * w; }, v * 0.9);
      };
      return sum(repeat(4, body, u));
    };
  };
  EXPECT_EQ(compile(grad(loss(codec::delta(codec::int8))))(x).to_vector(),
            compile(grad(loss({})))(x).to_vector());
}

TEST(DeltaForm, OutsideOfALoopTheErrorNamesTheLine) {
  const Tensor x = wavy(128);
  const auto outside = [](Tensor v) { return sum(sin(compress(v * 2, codec::delta(codec::int8)))); };
  EXPECT_EQ(code_of([&] { (void)compile(grad(outside))(x); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { (void)compress(x, codec::delta(codec::int4)); }), ErrorCode::bad_attribute);
  const auto waiting = [](Tensor v) {
    return sum(while_loop([](Tensor w) { return sum(w) > 1; },
                          [](Tensor w) { return compress(w, codec::delta(codec::int8)) * 0.5; }, v));
  };
  EXPECT_EQ(code_of([&] { (void)compile(waiting)(x); }), ErrorCode::bad_attribute);
  try {
    (void)outside(x);
    FAIL() << "it is outside of a loop";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("delta_forms_test.cc"));
    EXPECT_THAT(error.what(), HasSubstr("repeat or scan"));
    EXPECT_THAT(error.what(), HasSubstr("int8 takes a value by itself"));
  }
  const auto whole = [](Tensor v) {
    return repeat(
        3, [](Tensor w) { return compress(w, codec::delta(codec::int8)) + 1; }, v);
  };
  EXPECT_EQ(code_of([&] { (void)whole(arange(4, DType::i32)); }), ErrorCode::dtype_mismatch);
  // After an error, as before it: outside.
  EXPECT_EQ(code_of([&] { (void)compress(x, codec::delta(codec::int4)); }), ErrorCode::bad_attribute);
}

TEST(DeltaForm, MicroBatchesHaveIt) {
  const auto loss = [](Tensor rate, Tensor u) {
    const auto step = [&](Tensor v) {
      v = compress(v, codec::delta(codec::int8));
      return v - 0.05 * rate * v + 0.02 * sin(v);
    };
    return mean(square(repeat(10, step, u)));
  };
  const Tensor rate = rates(256), u = random_normal(key(31), {8, 256});
  const auto whole = compile(grad(loss)), parts = compile(grad(loss), {.accumulate = 4});
  EXPECT_LT(largest_gap(whole(rate, u).to_vector(), parts(rate, u).to_vector()), 1e-3);
  EXPECT_EQ(deltas_in(parts.plan().graph), 1);
}

TEST(DeltaForm, SeveralGradientsOfOneLoopShareIt) {
  const auto both = [](Tensor rate, Tensor u) {
    const auto end = diffusion(codec::delta(codec::int8), 9);
    const Tensor first = grad(end)(rate, u),
                 second = grad([&](Tensor r, Tensor v) { return end(r, v) * 3; })(rate, u);
    return std::pair(first, second);
  };
  const Tensor rate = rates(300), u = wavy(300);
  const auto [first, second] = compile(both)(rate, u);
  const std::vector<double> alone =
      compile(grad(diffusion(codec::delta(codec::int8), 9)))(rate, u).to_vector();
  EXPECT_EQ(first.to_vector(), alone);
  std::vector<double> thrice = alone;
  for (double& x : thrice) x *= 3;
  EXPECT_LT(largest_gap(thrice, second.to_vector()), 1e-6);
}

TEST(DeltaForm, IsNeverChosenUnasked) {
  const MarkedReads marked(StandIns::lossy);
  const Graph traced = *trace_call(grad(diffusion({}, 24)), std::tuple(rates(20000), wavy(20000)), {}).graph;
  const ResidualChoice forms = all_forms(traced, Lossy{.error = 0.5}, {});
  EXPECT_TRUE(std::ranges::any_of(forms, [](const auto& form) { return form.has_value(); }));
  for (const std::optional<Form>& form : forms) EXPECT_FALSE(form && std::holds_alternative<Delta>(*form));
}

}  // namespace
}  // namespace tidemark
