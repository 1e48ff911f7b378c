// vmap around and inside of loops, branches and checkpoints.
#include <gtest/gtest.h>

#include "tests/support/examples_by_hand.h"
#include "tidemark/autodiff/lower_loops.h"

namespace tidemark {
namespace {

using namespace tidemark::testing;

TEST(VmapControl, LoopsStayLoops) {
  const Tensor w = batch({3, 3}, 20) * 0.5;
  const auto rnn = [](Tensor m, Tensor h, Tensor xs) {
    const auto [last, all] = scan(
        [&](Tensor state, Tensor u) {
          const Tensor next = tanh(matmul(m, state) + u);
          return std::pair(next, sum(next * next));
        },
        h, xs);
    return sum(last) + sum(all * all);
  };
  const Tensor h = batch({4, 3}, 21), xs = batch({4, 6, 3}, 22);
  const VmapOptions examples{.in_axes = {not_mapped, 0, 0}};
  std::vector<Tensor> values, gradients, gradients_h;
  for (std::int64_t i = 0; i < 4; ++i) {
    values.push_back(rnn(w, h.at(i), xs.at(i)));
    const auto [gw, gh] = grad<0, 1>(rnn)(w, h.at(i), xs.at(i));
    gradients.push_back(gw), gradients_h.push_back(gh);
  }
  expect_close(vmap(rnn, examples)(w, h, xs), stack(values));
  const auto per_example = vmap(grad<0, 1>(rnn), examples);
  const auto [eager_w, eager_h] = per_example(w, h, xs);
  expect_close(eager_w, stack(gradients));
  expect_close(eager_h, stack(gradients_h));
  const auto compiled = compile(per_example);
  const auto [gw, gh] = compiled(w, h, xs);
  expect_close(gw, stack(gradients));
  expect_close(gh, stack(gradients_h));
  // Only the inputs of the steps are mapped; only the state is.
  const auto of_inputs = vmap(grad(rnn), {.in_axes = {not_mapped, not_mapped, 0}})(w, h.at(0), xs);
  const auto of_state = vmap(grad(rnn), {.in_axes = {not_mapped, 0, not_mapped}})(w, h, xs.at(0));
  for (std::int64_t i = 0; i < 4; ++i) {
    expect_close(of_inputs.at(i), grad(rnn)(w, h.at(0), xs.at(i)));
    expect_close(of_state.at(i), grad(rnn)(w, h.at(i), xs.at(0)));
  }
  // Around vmap.
  const auto total = [&](Tensor m) { return sum(vmap(rnn, examples)(m, h, xs)); };
  expect_close(grad(total)(w), sum(stack(gradients), {0}));
  expect_close(compile(grad(total))(w), sum(stack(gradients), {0}));
  // Second order, and seeds that are mapped where nothing else is.
  const auto second = [&](Tensor u) { return sum(square(grad<1>(rnn)(w, u, xs.at(0)))); };
  const Tensor found = vmap(grad(second))(h);
  for (std::int64_t i = 0; i < 4; ++i) expect_close(found.at(i), grad(second)(h.at(i)), 1e-10);
  const auto states = [&](Tensor u) {
    return repeat(
        5, [&](Tensor s) { return tanh(matmul(w, s)); }, u);
  };
  const auto [value, pullback] = vjp(states, Tensor(h.at(0)));
  expect_close(vmap(pullback)(eye(3, DType::f64)), jacobian(states)(h.at(0)));
}

TEST(VmapControl, GradientsOfMappedLoopsHaveTheSameBitsAtEveryBudget) {
  const Tensor w = batch({8, 8}, 20) * 0.3, h = batch({4, 8}, 21), xs = batch({4, 40, 8}, 22);
  const auto rnn = [](Tensor m, Tensor state, Tensor inputs) {
    return sum(scan([&](Tensor s, Tensor u) { return tanh(matmul(m, s) + u) * s; }, state, inputs));
  };
  const auto per_example = vmap(grad(rnn), {.in_axes = {not_mapped, 0, 0}});
  const auto free_of_budget = compile(per_example);
  const Tensor expected = free_of_budget(w, h, xs);
  const std::int64_t peak = free_of_budget.prepare(w, h, xs).peak().count;
  for (const double share : {0.9, 0.7, 0.5}) {
    const Bytes budget{static_cast<std::int64_t>(static_cast<double>(peak) * share)};
    const auto f = compile(per_example, {.memory = budget});
    try {
      EXPECT_EQ(f(w, h, xs).to_vector(), expected.to_vector());
      EXPECT_LE(f.prepare(w, h, xs).peak().count, budget.count);
    } catch (const InfeasibleBudget&) {
      EXPECT_LT(share, 0.9);
    }
  }
}

// How they are reversed is decided with the plan, as for any loop: states and their reversal stay a pair.
TEST(VmapControl, GradientsOfMappedLoopsAreStillToBePlanned) {
  const auto f = [](Tensor w, Tensor h, Tensor xs) {
    return sum(scan([&](Tensor s, Tensor u) { return tanh(matmul(w, s) + u) * s; }, h, xs));
  };
  const Tensor w = batch({3, 3}), h = batch({4, 3}), xs = batch({4, 6, 3});
  const auto gradient = vmap(grad<0, 1>(f), {.in_axes = {not_mapped, 0, 0}});
  const auto call = trace_call(gradient, std::tuple(w, h, xs), {});
  const std::vector<LoopModes> modes = loop_modes(*call.graph);
  ASSERT_EQ(modes.size(), 1u);
  EXPECT_GE(modes[0].own.size(), 3u);
}

TEST(VmapControl, WhileLoopsAndBranchesGoTheirOwnWayForEachExample) {
  const auto newton = [](Tensor a) {
    return while_loop([&](Tensor x) { return abs(x * x - a) > 1e-9; },
                      [&](Tensor x) { return (x + a / x) / 2; }, a + 1);
  };
  const Tensor a = tensor<double>({2, 9, 1e-3, 400});
  expect_close(vmap(newton)(a), sqrt(a), 1e-7);
  expect_close(compile(vmap(newton))(a), sqrt(a), 1e-7);
  const Tensor slopes = by_hand(grad(newton), a);
  expect_close(vmap(grad(newton))(a), slopes);
  expect_close(compile(vmap(grad(newton)))(a), slopes);
  expect_close(grad([&](Tensor x) { return sum(vmap(newton)(x)); })(a), slopes);
  expect_close(compile(grad([&](Tensor x) { return sum(vmap(newton)(x)); }))(a), slopes);
  // A branch that is not taken is not computed, so it spoils no gradient.
  const auto f = [](Tensor x) {
    return cond(
        x > 0, [](Tensor u) { return log(u); }, [](Tensor u) { return u * u; }, x);
  };
  const Tensor x = tensor<double>({-2, 0.5, 0, 3});
  expect_close(vmap(f)(x), by_hand(f, x));
  expect_close(vmap(grad(f))(x), by_hand(grad(f), x));
  expect_close(compile(vmap(grad(f)))(x), by_hand(grad(f), x));
  // Steered by what all examples share.
  const auto shared = [](Tensor n, Tensor u) {
    const auto steps =
        while_loop([&](std::pair<Tensor, Tensor> s) { return s.first < n; },
                   [](std::pair<Tensor, Tensor> s) { return std::pair(s.first + 1, sin(s.second) * 2); },
                   std::pair(zeros_like(n), u));
    return cond(
        n > 2, [](Tensor v) { return v * 3; }, [](Tensor v) { return v; }, steps.second);
  };
  const VmapOptions second{.in_axes = {not_mapped, 0}};
  const Tensor n = scalar(4, DType::i64);
  const auto with_n = [&](Tensor u) { return shared(n, u); };
  expect_close(vmap(shared, second)(n, x), by_hand(with_n, x));
  expect_close(vmap(grad<1>(shared), second)(n, x), by_hand(grad(with_n), x));
  expect_close(compile(vmap(grad<1>(shared), second))(n, x), by_hand(grad(with_n), x));
  expect_close(vmap(grad(grad(with_n)))(x), by_hand(grad(grad(with_n)), x), 1e-10);
}

TEST(VmapControl, StandsInsideLoopsBranchesCheckpointsAndBesideMutation) {
  const Tensor w = batch({3, 3}, 30) * 0.5, x = batch({4, 3}, 31);
  const auto step = [&](Tensor h) { return tanh(matmul(w, h)); };
  const auto by_vmap = [&](Tensor h) {
    return sum(repeat(
        5, [&](Tensor s) { return vmap(step)(s); }, h));
  };
  const auto written_out = [&](Tensor h) {
    return sum(repeat(
        5, [&](Tensor s) { return tanh(matmul(s, transpose(w))); }, h));
  };
  expect_close(compile(grad(by_vmap))(x), grad(written_out)(x));
  const auto branched = [&](Tensor h) {
    return cond(
        sum(h) > 0, [&](Tensor u) { return sum(vmap(step)(u)); }, [](Tensor u) { return sum(u * u); }, h);
  };
  const Tensor positive = abs(x);
  expect_close(grad(branched)(positive),
               grad([&](Tensor h) { return sum(tanh(matmul(h, transpose(w)))); })(positive));
  const auto heavy = [&](Tensor h) {
    const auto part = checkpoint([&](Tensor u) { return exp(sin(matmul(w, u))); });
    return sum(part(part(h)));
  };
  expect_close(compile(vmap(grad(heavy)))(x), by_hand(grad(heavy), x));
  const auto mutated = [](Tensor u) {
    Tensor v = u * 2;
    v.at(1) = sum(u);
    v += 1;
    return v;
  };
  expect_close(vmap(mutated)(x), by_hand(mutated, x));
  const auto of_mutated = [&](Tensor u) { return sum(square(mutated(u))); };
  expect_close(compile(vmap(grad(of_mutated)))(x), by_hand(grad(of_mutated), x));
}

}  // namespace
}  // namespace tidemark
