#include "tidemark/ops/attention/attention.h"

#include <cmath>

#include "tests/support/op_rules.h"
#include "tests/support/sanitized.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/softmax.h"
#include "tidemark/ops/random/dropout.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

using namespace testing;

struct Problem {
  std::int64_t batch, heads, kv_heads, queries, keys, width;
  Shape q() const { return {batch, heads, queries, width}; }
  Shape k() const { return {batch, kv_heads, keys, width}; }
};

struct Plain {
  std::vector<double> y, logsumexp;
};
// Softmax over explicit scores; `visible(b, h, i, j)` says what may be attended to.
template <class F>
Plain plain(const Problem& p, const std::vector<double>& q, const std::vector<double>& k,
            const std::vector<double>& v, double scale, const F& visible) {
  Plain result;
  const auto at = [&](std::int64_t head, std::int64_t row, std::int64_t rows, std::int64_t c) {
    return static_cast<std::size_t>((head * rows + row) * p.width + c);
  };
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      const std::int64_t qh = b * p.heads + h, kh = b * p.kv_heads + h / (p.heads / p.kv_heads);
      for (std::int64_t i = 0; i < p.queries; ++i) {
        std::vector<double> score(static_cast<std::size_t>(p.keys), -inf);
        double top = -inf, total = 0;
        for (std::int64_t j = 0; j < p.keys; ++j) {
          if (!visible(b, h, i, j)) continue;
          double dot = 0;
          for (std::int64_t c = 0; c < p.width; ++c)
            dot += q[at(qh, i, p.queries, c)] * k[at(kh, j, p.keys, c)];
          score[static_cast<std::size_t>(j)] = dot * scale;
          top = std::max(top, dot * scale);
        }
        for (double s : score) total += top == -inf ? 0 : std::exp(s - top);
        for (std::int64_t c = 0; c < p.width; ++c) {
          double y = 0;
          for (std::int64_t j = 0; j < p.keys && total > 0; ++j) {
            y += std::exp(score[static_cast<std::size_t>(j)] - top) / total * v[at(kh, j, p.keys, c)];
          }
          result.y.push_back(y);
        }
        result.logsumexp.push_back(top + std::log(total));
      }
    }
  }
  return result;
}

TEST(Attention, EqualsThePlainFormulaForEveryDtypeAndShape) {
  if (looks_for_races) GTEST_SKIP() << "threads have tests of their own";
  const std::pair<DType, double> dtypes[] = {
      {DType::f64, 1e-13}, {DType::f32, 5e-6}, {DType::bf16, 1e-2}, {DType::f16, 2e-3}};
  const Problem problems[] = {{1, 1, 1, 1, 1, 1},     {2, 2, 2, 5, 9, 3},    {1, 4, 2, 70, 130, 16},
                              {1, 2, 1, 130, 70, 9},  {1, 1, 1, 3, 40, 300}, {1, 2, 1, 300, 330, 20},
                              {1, 1, 1, 220, 230, 80}};
  for (auto [dtype, tolerance] : dtypes) {
    for (const Problem& p : problems) {
      for (bool causal : {false, true}) {
        const Literal q = random_literal(dtype, p.q(), 1, -2, 2), k = random_literal(dtype, p.k(), 2, -2, 2),
                      v = random_literal(dtype, p.k(), 3, -2, 2);
        const auto results = run(op::attention, {q, k, v}, pack(AttentionAttrs{.causal = causal}));
        const Plain want =
            plain(p, values_of(q), values_of(k), values_of(v), 1 / std::sqrt(static_cast<double>(p.width)),
                  [&](auto, auto, auto i, auto j) { return !causal || j <= i + p.keys - p.queries; });
        expect_near(values_of(results[0]), want.y, tolerance);
        expect_near(values_of(results[1]), want.logsumexp, dtype == DType::f64 ? 1e-13 : 5e-6);
      }
    }
  }
}

TEST(Attention, MasksBroadcastAndAHiddenQueryGivesZero) {
  const Problem p{2, 2, 1, 5, 70, 4};
  const Literal q = random_literal(DType::f64, p.q(), 1, -2, 2),
                k = random_literal(DType::f64, p.k(), 2, -2, 2),
                v = random_literal(DType::f64, p.k(), 3, -2, 2);
  for (const Shape& shape :
       {Shape{5, 70}, Shape{70}, Shape{2, 1, 1, 70}, Shape{2, 2, 5, 70}, Shape{2, 5, 1}}) {
    std::vector<double> bits;
    for (double x : values_of(random_literal(DType::f64, shape, 4, 0, 1))) bits.push_back(x < 0.4);
    const auto results = run(op::attention, {q, k, v, literal_of(DType::boolean, shape, bits)},
                             pack(AttentionAttrs{.scale = 0.7}));
    const Plain want =
        plain(p, values_of(q), values_of(k), values_of(v), 0.7, [&](auto b, auto h, auto i, auto j) {
          const std::int64_t place[] = {b, h, i, j};
          std::int64_t at = 0;
          for (int d = 0; d < shape.rank(); ++d)
            at = at * shape[d] + (shape[d] == 1 ? 0 : place[4 - shape.rank() + d]);
          return bits[static_cast<std::size_t>(at)] != 0;
        });
    expect_near(values_of(results[0]), want.y, 1e-13);
    expect_near(values_of(results[1]), want.logsumexp, 1e-13);
  }
}

TEST(Attention, GradientsOfAHiddenQueryAreZeroAndFinite) {
  const Shape shape = {1, 1, 2, 3};
  const Literal x = random_literal(DType::f64, shape, 1, -2, 2),
                mask = literal_of(DType::boolean, {2, 2}, {1, 1, 0, 0});
  Graph graph;
  Builder builder(graph);
  const Var q = builder.input({DType::f64, shape});
  graph.add_output(attention(q, q, q, {}, builder.input({DType::boolean, {2, 2}})).id());
  const bool wrt[] = {true, false};
  for (double g :
       values_of(run(vjp_graph(graph, wrt), {x, mask, random_literal(DType::f64, shape, 9, -2, 2)})[1])) {
    EXPECT_TRUE(std::isfinite(g));
  }
}

// Whether a query or a key is NaN: what looks at it is NaN, whatever else is hidden; the others are not.
TEST(Attention, NaNIsNotTakenForAHiddenQuery) {
  const double nan = std::nan("");
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (const std::int64_t keys : {3, 70, 300}) {
      const Problem p{1, 1, 1, 6, keys, 4};
      std::vector<double> rows = values_of(random_literal(dtype, p.q(), 1, -2, 2));
      for (std::size_t c = 0; c < 4; ++c) rows[2 * 4 + c] = nan;
      const Literal q = literal_of(dtype, p.q(), rows), k = random_literal(dtype, p.k(), 2, -2, 2),
                    v = random_literal(dtype, p.k(), 3, -2, 2);
      std::vector<double> bits(static_cast<std::size_t>(6 * keys), 1);
      std::fill_n(bits.begin() + 5 * keys, keys, 0.0);  // the last query is hidden
      std::fill_n(bits.begin() + 2 * keys, keys - 1, 0.0);
      const Literal mask = literal_of(DType::boolean, {6, keys}, bits);
      const std::vector<double> y = values_of(run(op::attention, {q, k, v, mask}, pack(AttentionAttrs{}))[0]);
      for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_EQ(std::isnan(y[i]), i / 4 == 2) << name_of(dtype) << " " << keys << " " << i;
        if (i / 4 == 5) {
          EXPECT_EQ(y[i], 0);
        }
      }
      for (double x : values_of(run(op::attention, {q, k, v}, pack(AttentionAttrs{.scale = nan}))[0]))
        EXPECT_TRUE(std::isnan(x));
    }
  }
}

TEST(Attention, IsStableFarOut) {
  const Literal q = literal_of(DType::f32, {1, 1, 1, 1}, {100}),
                k = literal_of(DType::f32, {1, 1, 3, 1}, {100, -100, 100});
  const Literal v = literal_of(DType::f32, {1, 1, 3, 1}, {1, 2, 3});
  expect_near(values_of(run(op::attention, {q, k, v}, pack(AttentionAttrs{}))[0]), {2}, 1e-6);
}

TEST(Attention, RulesFollowTheExpansions) {
  for (const Op* op : {&op::attention, &op::attention_grad, &op::attention_delta})
    expect_rules_follow_expansion(*op, 1e-9);
}

TEST(Attention, GradientsOverManyBlocksFollowTheFormula) {
  for (const Problem& p :
       {Problem{1, 2, 1, 200, 150, 20}, Problem{1, 2, 2, 150, 200, 40}, Problem{1, 1, 1, 220, 230, 80}}) {
    for (bool causal : {false, true}) {
      const Shape rows = {p.batch, p.heads, p.queries};
      const Literal operands[] = {
          random_literal(DType::f64, p.q(), 1, -1, 1), random_literal(DType::f64, p.k(), 2, -1, 1),
          random_literal(DType::f64, p.k(), 3, -1, 1), random_literal(DType::f64, rows, 5, 4, 5),
          random_literal(DType::f64, rows, 6, -2, 2),  random_literal(DType::f64, p.q(), 4, -1, 1)};
      std::vector<double> x[6];
      for (int i = 0; i < 6; ++i) x[i] = values_of(operands[i]);
      std::vector<double> dq(x[0].size()), dk(x[1].size()), dv(x[2].size());
      const double scale = 1 / std::sqrt(static_cast<double>(p.width));
      for (std::int64_t h = 0; h < p.heads; ++h) {
        for (std::int64_t i = 0; i < p.queries; ++i) {
          for (std::int64_t j = 0; j < p.keys && (!causal || j <= i + p.keys - p.queries); ++j) {
            const auto row = static_cast<std::size_t>(h * p.queries + i);
            const std::size_t q = row * static_cast<std::size_t>(p.width),
                              k = static_cast<std::size_t>((h / (p.heads / p.kv_heads) * p.keys + j) *
                                                           p.width);
            double score = 0, dp = 0;
            for (std::size_t c = 0; c < static_cast<std::size_t>(p.width); ++c) {
              score += x[0][q + c] * x[1][k + c];
              dp += x[5][q + c] * x[2][k + c];
            }
            const double weight = std::exp(score * scale - x[3][row]), ds = weight * (dp - x[4][row]) * scale;
            for (std::size_t c = 0; c < static_cast<std::size_t>(p.width); ++c) {
              dq[q + c] += ds * x[1][k + c];
              dk[k + c] += ds * x[0][q + c];
              dv[k + c] += weight * x[5][q + c];
            }
          }
        }
      }
      const auto results = run(op::attention_grad, {std::begin(operands), std::end(operands)},
                               pack(AttentionAttrs{.causal = causal}));
      expect_near(values_of(results[0]), dq, 1e-12);
      expect_near(values_of(results[1]), dk, 1e-12);
      expect_near(values_of(results[2]), dv, 1e-12);
    }
  }
}

// softmax, dropout and products one after another, where the fused op has no such matrices.
Graph composed(const Problem& p, DType dtype, double rate, bool causal, bool fused) {
  Graph graph;
  Builder builder(graph);
  const Var q = builder.input({dtype, p.q()}), k = builder.input({dtype, p.k()}),
            v = builder.input({dtype, p.k()}), key = builder.input({DType::i64, {}});
  if (fused) {
    graph.add_output(attention(q, k, v, {.causal = causal, .dropout = rate}, {}, key).id());
    return graph;
  }
  Var scores = matmul(q * (1 / std::sqrt(static_cast<double>(p.width))), swap_last_two(k));
  if (causal) {
    const Shape square = {p.queries, p.keys};
    const Var i = iota(builder, DType::i64, square, 0), j = iota(builder, DType::i64, square, 1);
    const Var seen = less_equal(j, i + static_cast<double>(p.keys - p.queries));
    scores = select(seen, scores, constant_like(scores, -1e30));
  }
  graph.add_output(matmul(dropout(softmax(scores, 3), rate, key), v).id());
  return graph;
}

TEST(Attention, DropsTheSameProbabilitiesAsDropoutDoes) {
  const Problem problems[] = {
      {2, 2, 2, 5, 9, 3}, {1, 2, 2, 150, 203, 20}, {2, 1, 1, 140, 140, 64}, {1, 1, 1, 3, 40, 300}};
  for (auto [dtype, tolerance] : {std::pair{DType::f64, 1e-12}, std::pair{DType::f32, 2e-5}}) {
    for (const Problem& p : problems) {
      for (bool causal : {false, true}) {
        for (double rate : {0.1, 0.75}) {
          const Graph fused = composed(p, dtype, rate, causal, true),
                      plain = composed(p, dtype, rate, causal, false);
          std::vector<Literal> operands = {
              random_literal(dtype, p.q(), 1, -2, 2), random_literal(dtype, p.k(), 2, -2, 2),
              random_literal(dtype, p.k(), 3, -2, 2), literal_of(DType::i64, {}, {77})};
          expect_same_results(fused, plain, operands, tolerance);
          const Graph fused_gradient = vjp_of_floats(fused), plain_gradient = vjp_of_floats(plain);
          operands.push_back(random_literal(dtype, p.q(), 4, -1, 1));
          expect_same_results(fused_gradient, plain_gradient, operands, tolerance * 10);
        }
      }
    }
  }
}

TEST(Attention, WhatIsDroppedDependsOnTheKeyAlone) {
  const Problem p{1, 2, 1, 70, 90, 8};
  const Literal q = random_literal(DType::f32, p.q(), 1, -2, 2),
                k = random_literal(DType::f32, p.k(), 2, -2, 2);
  const auto result = [&](double key) {
    return run(op::attention, {q, k, k, literal_of(DType::i64, {}, {key})},
               pack(AttentionAttrs{.dropout = 0.5}))[0];
  };
  EXPECT_EQ(result(3).bytes, result(3).bytes);
  EXPECT_NE(result(3).bytes, result(4).bytes);
}

TEST(Attention, SixteenBitGradientsRoundOnce) {
  const Shape q_shape = {1, 2, 70, 8}, k_shape = {1, 1, 90, 8}, rows = {1, 2, 70};
  for (DType dtype : {DType::bf16, DType::f16}) {
    const Literal q = random_literal(dtype, q_shape, 1, -2, 2), k = random_literal(dtype, k_shape, 2, -2, 2),
                  v = random_literal(dtype, k_shape, 3, -2, 2);
    const Literal g = random_literal(dtype, q_shape, 4, -2, 2);
    const Literal lse = random_literal(DType::f32, rows, 5, 4, 5),
                  delta = random_literal(DType::f32, rows, 6, -2, 2);
    const auto wide = [](const Literal& l) { return literal_of(DType::f64, l.shape, values_of(l)); };
    const Attrs attrs = pack(AttentionAttrs{.causal = true});
    const auto narrow_results = run(op::attention_grad, {q, k, v, lse, delta, g}, attrs);
    const auto wide_results =
        run(op::attention_grad, {wide(q), wide(k), wide(v), wide(lse), wide(delta), wide(g)}, attrs);
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_EQ(narrow_results[r].dtype, dtype);
      expect_near(values_of(narrow_results[r]), values_of(wide_results[r]), 5e-3);
    }
  }
}

TEST(Attention, SaysWhatIsWrongWithItsOperands) {
  const auto code = [](const std::vector<Literal>& operands) {
    return code_of([&] { run(op::attention, operands, pack(AttentionAttrs{})); });
  };
  const Literal q = random_literal(DType::f32, {1, 4, 2, 3}), k = random_literal(DType::f32, {1, 2, 2, 3});
  EXPECT_EQ(code({q, k, random_literal(DType::f32, {1, 2, 2, 4})}), ErrorCode::shape_mismatch);
  EXPECT_EQ(code({k, q, q}), ErrorCode::shape_mismatch);
  EXPECT_EQ(code({q, k, random_literal(DType::f64, {1, 2, 2, 3})}), ErrorCode::dtype_mismatch);
  EXPECT_EQ(code({q, k, k, random_literal(DType::f32, {2, 2})}), ErrorCode::dtype_mismatch);
  EXPECT_EQ(code({q, k, k, random_literal(DType::boolean, {3, 2})}), ErrorCode::shape_mismatch);
  EXPECT_EQ(code({q, k}), ErrorCode::wrong_operand_count);
}

TEST(Attention, DropoutNeedsAKeyAndARateBelowOne) {
  const Literal q = random_literal(DType::f32, {1, 1, 2, 3}), key = literal_of(DType::i64, {}, {5}),
                mask = random_literal(DType::boolean, {2, 2});
  const auto code = [](const std::vector<Literal>& operands, double rate) {
    return code_of([&] { run(op::attention, operands, pack(AttentionAttrs{.dropout = rate})); });
  };
  for (double rate : {-0.1, 1.0, static_cast<double>(NAN)})
    EXPECT_EQ(code({q, q, q, key}, rate), ErrorCode::bad_attribute);
  EXPECT_EQ(code({q, q, q}, 0.1), ErrorCode::wrong_operand_count);
  EXPECT_EQ(code({q, q, q, mask}, 0.1), ErrorCode::wrong_operand_count);
  EXPECT_EQ(code({q, q, q, mask, key, key}, 0.1), ErrorCode::wrong_operand_count);
  EXPECT_EQ(code({q, q, q, key}, 0), ErrorCode::dtype_mismatch);  // taken for a mask
}

}  // namespace
}  // namespace tidemark
