// Gradients of matrices that every step of a loop multiplies with: one product after the loop, wherever both
// factors lie stacked anyway.
#include "tidemark/autodiff/loop_sums.h"

#include <gtest/gtest.h>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

Tensor waves(const Shape& shape, double frequency, DType dtype) {
  return sin(reshape(arange(element_count(shape), dtype), shape) * frequency);
}

constexpr std::int64_t steps = 12, rows = 3, width = 8;
Tensor weights(DType dtype) { return waves({width, width}, 0.37, dtype) * 0.3; }
Tensor inputs(DType dtype) { return waves({steps, rows, width}, 0.11, dtype); }
Tensor start(DType dtype) { return waves({rows, width}, 0.7, dtype); }

Tensor next(const Tensor& h, const Tensor& w, const Tensor& x) { return tanh(matmul(h, w) + x); }

Tensor looped(const Tensor& w, const Tensor& xs, const Tensor& h0, LoopOptions options = {}) {
  const auto body = [&](Tensor h, Tensor x) {
    const Tensor y = next(h, w, x);
    return std::pair(y, y);
  };
  const auto [end, ys] = scan(body, h0, xs, options);
  return sum(end) + sum(ys * ys * ys);
}
Tensor unrolled(const Tensor& w, const Tensor& xs, const Tensor& h0) {
  Tensor h = h0;
  std::vector<Tensor> ys;
  for (const Tensor& x : split_evenly(xs, 0, static_cast<int>(xs.size(0)))) {
    h = next(h, w, reshape(x, {rows, width}));
    ys.push_back(h);
  }
  const Tensor all = stack(ys);
  return sum(h) + sum(all * all * all);
}

int count(const Graph& graph, std::string_view op, bool inside) {
  int found = 0;
  for (const Node& node : graph.nodes()) {
    if (!inside) found += node.op->name == op;
    for (const Graph& region : node.regions) found += inside ? count(region, op, false) : 0;
  }
  return found;
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], tolerance) << i;
}

TEST(LoopSums, AreOneProductAfterTheLoop) {
  const auto f = [](Tensor w, Tensor xs, Tensor h0) { return looped(w, xs, h0); };
  const auto g = compile(grad<0, 1, 2>(f));
  const auto [dw, dxs, dh] = g(weights(DType::f64), inputs(DType::f64), start(DType::f64));
  // Inside: hᵀ in the first loop and the gradient of h in the second; the sum is over eleven steps and the
  // first.
  EXPECT_EQ(count(g.plan().graph, "contract", true), 2);
  EXPECT_EQ(count(g.plan().graph, "contract", false), 2);
  const auto [ew, exs, eh] =
      grad<0, 1, 2>(unrolled)(weights(DType::f64), inputs(DType::f64), start(DType::f64));
  expect_near(dw, ew, 1e-12);
  expect_near(dxs, exs, 1e-13);
  expect_near(dh, eh, 1e-13);
}

TEST(LoopSums, OfOneStepAreItsProduct) {
  const Tensor xs = waves({1, rows, width}, 0.2, DType::f64);
  const auto f = [](Tensor w, Tensor x, Tensor h0) { return looped(w, x, h0); };
  const auto [dw, dxs] = compile(grad<0, 1>(f))(weights(DType::f64), xs, start(DType::f64));
  const auto [ew, exs] = grad<0, 1>(unrolled)(weights(DType::f64), xs, start(DType::f64));
  expect_near(dw, ew, 1e-13);
  expect_near(dxs, exs, 1e-13);
}

TEST(LoopSums, StatesThatArePutOutAreNotKeptASecondTime) {
  const auto with = [](bool put_out) {
    const auto f = [put_out](Tensor w, Tensor xs, Tensor h0) {
      const auto body = [&](Tensor h, Tensor x) {
        const Tensor y = next(h, w, x);
        return std::pair(y, put_out ? y : y * 1.5);
      };
      const auto [end, ys] = scan(body, h0, xs);
      return sum(end) + sum(ys * ys * ys);
    };
    return compile(grad<0, 1>(f))
        .prepare(weights(DType::f64), inputs(DType::f64), start(DType::f64))
        .plan.peak();
  };
  EXPECT_LT(with(true), with(false));
}

TEST(LoopSums, StayInTheLoopWhereAFactorIsNotStacked) {
  // Nobody asks for the gradient of xs, and what is carried is not put out.
  const auto f = [](Tensor w, Tensor xs, Tensor h0) {
    return sum(scan([&](Tensor h, Tensor x) { return std::pair(next(h, w, x), sum(h)); }, h0, xs).first);
  };
  const auto g = compile(grad<0>(f));
  g(weights(DType::f64), inputs(DType::f64), start(DType::f64));
  EXPECT_EQ(count(g.plan().graph, "contract", false), 0);
  EXPECT_EQ(count(g.plan().graph, "contract", true), 3);
}

TEST(LoopSums, TheBitsAreThoseOfEveryBudget) {
  const auto with = [](LoopOptions options) {
    return compile(
        grad<0, 1>([options](Tensor w, Tensor xs, Tensor h0) { return looped(w, xs, h0, options); }));
  };
  const auto free = with({});
  const auto [dw, dxs] = free(weights(DType::f32), inputs(DType::f32), start(DType::f32));
  for (const std::int64_t slots : {12, 5, 2, 1}) {
    const auto tight = with({.memory = Bytes(slots * rows * width * 4)});
    const auto [tw, txs] = tight(weights(DType::f32), inputs(DType::f32), start(DType::f32));
    EXPECT_EQ(tw.to_vector(), dw.to_vector()) << slots;
    EXPECT_EQ(txs.to_vector(), dxs.to_vector()) << slots;
  }
}

// The reverse of the reverse runs forwards, and the loops in between backwards.
TEST(LoopSums, SecondOrderPassesThroughThem) {
  const auto slope = [](auto f) {
    return [f](Tensor w, Tensor xs, Tensor h0) {
      const auto [dw, dxs] = grad<0, 1>(f)(w, xs, h0);
      return sum(sin(dw)) + sum(dxs * dxs);
    };
  };
  const auto loop = [](Tensor w, Tensor xs, Tensor h0) { return looped(w, xs, h0); };
  const auto [dw, dxs] =
      compile(grad<0, 1>(slope(loop)))(weights(DType::f64), inputs(DType::f64), start(DType::f64));
  const auto [ew, exs] =
      grad<0, 1>(slope(unrolled))(weights(DType::f64), inputs(DType::f64), start(DType::f64));
  expect_near(dw, ew, 1e-10);
  expect_near(dxs, exs, 1e-10);
}

TEST(LoopSums, OfAnUnrolledLoopAreGathered) {
  const auto g = compile(grad<0, 1, 2>(unrolled));
  const auto apart = compile(grad<0, 1, 2>(unrolled), {.program = {.skip_optimisations = {"gather"}}});
  const auto [dw, dxs, dh] = g(weights(DType::f64), inputs(DType::f64), start(DType::f64));
  const auto [ew, exs, eh] = apart(weights(DType::f64), inputs(DType::f64), start(DType::f64));
  expect_near(dw, ew, 1e-12);
  EXPECT_EQ(dxs.to_vector(), exs.to_vector());
  EXPECT_EQ(dh.to_vector(), eh.to_vector());
  const int fewer = count(apart.plan().graph, "contract", false) - count(g.plan().graph, "contract", false);
  EXPECT_EQ(fewer, steps - 2) << "eleven products are one";
  // The stack of outputs lives longer, its parts do not.
  EXPECT_LE(g.plan().peak().count, apart.plan().peak().count + steps * rows * width * 8);
}

}  // namespace
}  // namespace tidemark
