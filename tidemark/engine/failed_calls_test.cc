// A call that fails leaves donated state as it was: for every op that can fail while a plan runs, wherever it
// stands.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tidemark/ops/custom/custom.h"
#include "tidemark/ops/linalg/solve.h"
#include "tidemark/ops/registry.h"
#include "tidemark/tidemark.h"
#include "tidemark/trace/storage.h"
#include "tidemark/trace/trace.h"

namespace tidemark {
namespace {

Tensor waves(const Shape& shape, double frequency, DType dtype = DType::f64) {
  return sin(reshape(arange(element_count(shape), dtype), shape) * frequency);
}

// One update that can fail: f(state, good) succeeds, f(state, bad) does not. The state survives, keeps its
// bits, and can be used again.
struct Case {
  std::string name;
  std::function<std::vector<Tensor>(std::vector<Tensor>, Tensor)> f;
  Tensor good, bad;
  std::vector<Tensor> state;
};

struct State {
  std::vector<Tensor> tensors;
  TM_FIELDS(State, tensors)
};

void expect_survival(const Case& c) {
  SCOPED_TRACE(c.name);
  for (const bool tight : {false, true}) {
    const auto f = [&](const State& s, const Tensor& x) { return State{c.f(s.tensors, x)}; };
    CompileOptions options{.donate = {0}};
    if (tight)
      options.memory = compile(f, {.donate = {0}, .effort = 0.01}).smallest(State{c.state}, c.good).memory;
    options.effort = 0.01;
    const auto step = compile(f, options);
    State state{map_tree([](const Tensor& t) { return t + 0; }, c.state)};
    const State expected = f(State{c.state}, c.good);
    for (int i = 0; i < 2; ++i) {
      try {
        step(state, c.bad);
        ADD_FAILURE() << "no error";
        return;
      } catch (const std::exception&) {
      }
      for (std::size_t k = 0; k < c.state.size(); ++k)
        ASSERT_EQ(state.tensors[k].to_vector(), c.state[k].to_vector())
            << "state " << k << " after failure " << i;
    }
    const State next = step(state, c.good);
    for (std::size_t k = 0; k < c.state.size(); ++k)
      EXPECT_EQ(next.tensors[k].to_vector(), expected.tensors[k].to_vector()) << "state " << k;
  }
}

Tensor indices(std::initializer_list<std::int64_t> list) { return tensor<std::int64_t>(list); }
const Tensor table = waves({5, 300}, 0.7), row = waves({300}, 0.3);

// An update that does not depend on what can fail, before and after it in the program.
std::vector<Tensor> with_others(const std::vector<Tensor>& s, const Tensor& updated) {
  return {s[0] * 0.9, updated, s[2] - 1};
}
std::vector<Tensor> usual_state() { return {row, table, row * 3}; }

TEST(FailedCalls, LeaveStateAloneWhenAnIndexIsOutOfRange) {
  const Tensor good = indices({0, 4, 2}), bad = indices({0, 5, 2});
  expect_survival({"take", [](auto s, auto i) { return with_others(s, s[1] + sum(take(s[1], i, 0))); }, good,
                   bad, usual_state()});
  expect_survival({"take of what was updated",
                   [](auto s, auto i) {
                     const Tensor next = s[1] * 0.5;
                     return with_others(s, next + sum(take(next * 2, i, 0)));
                   },
                   good, bad, usual_state()});
  expect_survival(
      {"gather",
       [](auto s, auto i) {
         return with_others(s, s[1] + gather(s[1], broadcast(reshape(i, {3, 1}), {3, 300}), 0).at(0));
       },
       good, bad, usual_state()});
  expect_survival({"scatter_add into the state",
                   [](auto s, auto i) {
                     return with_others(s, scatter_add(s[1], broadcast(reshape(i, {3, 1}), {3, 300}),
                                                       waves({3, 300}, 0.1), 0));
                   },
                   good, bad, usual_state()});
  expect_survival({"one_hot",
                   [](auto s, auto i) { return with_others(s, s[1] + sum(one_hot(i, 5, DType::f64))); }, good,
                   bad, usual_state()});
  expect_survival({"cross_entropy",
                   [](auto s, auto i) {
                     return with_others(s, s[1] - grad([&](Tensor w) {
                                             return mean(cross_entropy(transpose(w).at(Range{0, 3}), i));
                                           })(s[1]));
                   },
                   good, bad, usual_state()});
  expect_survival({"an embedding's gradient",
                   [](auto s, auto i) {
                     return with_others(
                         s, s[1] - grad([&](Tensor w) { return sum(square(take(w, i, 0))); })(s[1]));
                   },
                   good, bad, usual_state()});
  expect_survival(
      {"an index that is computed",
       [](auto s, auto i) {
         return with_others(s, s[1] + sum(take(s[1], cast(s[0].at(Range{0, 3}) * 0, DType::i64) + i, 0)));
       },
       good, bad, usual_state()});
}

TEST(FailedCalls, LeaveStateAloneWhenAMatrixIsSingular) {
  const Tensor good = eye(17, DType::f64) * 2, bad = zeros({17, 17}, DType::f64);
  const auto state = [] {
    return std::vector<Tensor>{row, waves({17, 17}, 0.4) * 0.1 + eye(17, DType::f64), row * 2};
  };
  expect_survival(
      {"cholesky", [](auto s, auto a) { return with_others(s, s[1] + cholesky(a)); }, good, bad, state()});
  expect_survival({"cholesky in place of the state",
                   [](auto s, auto a) {
                     return std::vector<Tensor>{s[0] + 1, cholesky(s[1] * a), s[2]};
                   },
                   eye(17, DType::f64), zeros({17, 17}, DType::f64) - 1,
                   std::vector<Tensor>{row, eye(17, DType::f64) * 4, row * 2}});
  expect_survival({"solve in place of the state",
                   [](auto s, auto a) { return with_others(s, solve(a, s[1])); }, good, bad, state()});
  expect_survival({"triangular_solve in place of the state",
                   [](auto s, auto a) { return with_others(s, triangular_solve(a, s[1])); }, good, bad,
                   state()});
}

TEST(FailedCalls, LeaveStateAloneWhenALoopOrABranchFailsInside) {
  const Tensor good = indices({0, 4, 2}), bad = indices({0, 1, 5});
  const auto pick = [](const Tensor& w, const Tensor& i) { return take(w, reshape(i, {1}), 0); };
  expect_survival({"a loop over indices that carries the state",
                   [=](auto s, auto i) {
                     return with_others(
                         s, scan([&](Tensor w, Tensor at) { return w * 0.5 + sum(pick(w, at)); }, s[1], i));
                   },
                   good, bad, usual_state()});
  expect_survival({"the gradient of a loop",
                   [=](auto s, auto i) {
                     const auto loss = [&](Tensor w) {
                       return sum(
                           scan([&](Tensor u, Tensor at) { return tanh(u + sum(pick(w, at))); }, s[0], i));
                     };
                     return with_others(s, s[1] - grad(loss)(s[1]));
                   },
                   good, bad, usual_state()});
  expect_survival({"a branch",
                   [=](auto s, auto i) {
                     return with_others(s, cond(
                                               i.at(2) > 4, [&](Tensor w) { return w + sum(take(w, i, 0)); },
                                               [](Tensor w) { return w * 2; }, s[1]));
                   },
                   good, bad, usual_state()});
  expect_survival({"a loop that does not end",
                   [](auto s, auto limit) {
                     return with_others(s,
                                        while_loop([&](Tensor w) { return sum(w) < limit; },
                                                   [](Tensor w) { return w + 1; }, s[1], {.max_steps = 5}));
                   },
                   sum(table) + 1600, sum(table) + 1e9, usual_state()});
}

TEST(FailedCalls, LeaveStateAloneWhenUserCodeThrows) {
  const Op& fails = make_custom_op({.name = "fails_on_negatives",
                                    .infer = [](std::span<const Type> in) { return std::vector{in[0]}; },
                                    .kernel =
                                        [](std::span<const TensorRef> in, std::span<const TensorRef> out) {
                                          for (std::int64_t i = 0; i < in[0].count(); ++i) {
                                            out[0].as<double>()[i] = in[0].as<const double>()[i];
                                            if (in[0].as<const double>()[i] < 0)
                                              throw std::runtime_error("negative");
                                          }
                                        }});
  const auto call = [&](const Tensor& x) {
    return build({x},
                 [&](Builder& builder, std::span<const Var> in) { return builder.call1(fails, {in[0]}); });
  };
  expect_survival({"a custom op", [&](auto s, auto x) { return with_others(s, s[1] + call(x)); },
                   ones({300}, DType::f64), ones({300}, DType::f64) * -1, usual_state()});
  expect_survival({"a custom op of what was updated",
                   [&](auto s, auto x) {
                     const Tensor next = s[1] * x;
                     return with_others(s, next + sum(call(next * next * x)));
                   },
                   ones({300}, DType::f64), ones({300}, DType::f64) * -1, usual_state()});
}

TEST(FailedCalls, StateIsStillUpdatedInPlaceBehindIndicesThatWereChecked) {
  // An embedding, a layer and a loss: forward they look up, backward they add where they looked up.
  const auto step = compile(
      [](const State& s, Tensor i) {
        const auto loss = [&](const State& p) {
          return mean(cross_entropy(matmul(take(p.tensors[0], i, 0), p.tensors[1]), i));
        };
        return map_tree([](const Tensor& w, const Tensor& g) { return w - g * 0.1; }, s, grad(loss)(s));
      },
      {.donate = {0}});
  State state{{waves({7, 40}, 0.3), waves({40, 7}, 0.2)}};
  const std::byte *first = state.tensors[0].storage()->data(), *second = state.tensors[1].storage()->data();
  state = step(state, indices({0, 6, 3}));
  EXPECT_EQ(state.tensors[0].storage()->data(), first);
  EXPECT_EQ(state.tensors[1].storage()->data(), second);
}

}  // namespace
}  // namespace tidemark
