// What a derivative rule promises, in f64: it agrees with finite differences, forward and reverse agree with
// each other (⟨J v, w⟩ = ⟨v, Jᵀ w⟩), and it can be differentiated again.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/law_case.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/autodiff/forward.h"
#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/autodiff/reverse.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/cuda/target.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/registry.h"

namespace tidemark::testing {
namespace {

constexpr double tolerance = 1e-7;  // relative

ThreadPool& pool() {
  static ThreadPool threads(1);
  return threads;
}

std::vector<Literal> run(const Graph& graph, const std::vector<Literal>& inputs) {
  const Graph runnable = expand(
      graph, [](const Node& node) { return !runs_on_cpu(*node.op) && node.op->expand; },
      ExpandRegions::inside);
  return interpret(lower_loops(runnable), inputs, pool());
}

// The floating-point inputs or outputs of a graph, as a mask.
struct Mask {
  explicit Mask(const std::vector<Type>& types) : size(types.size()), bits(new bool[types.size()]) {
    for (std::size_t i = 0; i < size; ++i) bits[i] = types[i].dtype == DType::f64;
  }
  operator std::span<const bool>() const { return {bits.get(), size}; }  // NOLINT: implicit
  std::size_t size;
  std::unique_ptr<bool[]> bits;
};

using Vectors = std::vector<std::vector<double>>;

double dot(const Vectors& a, const Vectors& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < a[i].size(); ++k) sum += a[i][k] * b[i][k];
  }
  return sum;
}
double norm(const Vectors& a) { return std::sqrt(dot(a, a)); }

// Directions for the floating-point ones among `types`.
std::vector<Literal> directions(const std::vector<Type>& types, std::uint64_t seed) {
  std::vector<Literal> list;
  for (const Type& type : types) {
    if (type.dtype == DType::f64) list.push_back(random_literal(type.dtype, type.shape, seed + list.size()));
  }
  return list;
}
Vectors vectors_of(const std::vector<Literal>& literals) {
  Vectors list;
  for (const Literal& literal : literals) {
    if (literal.dtype == DType::f64) list.push_back(values_of(literal));
  }
  return list;
}

// d/dt of f(inputs + t·direction) at 0 for the f64 inputs, by Ridders' extrapolation of central differences
// (Ridders 1982): the column with the least estimated error, good to about 1e-10 relative for smooth f.
Vectors numerical_derivative(const std::function<Vectors(const std::vector<Literal>&)>& f,
                             const std::vector<Literal>& inputs, const Vectors& direction) {
  const auto at = [&](double t) {
    std::vector<Literal> moved = inputs;
    std::size_t next = 0;
    for (Literal& literal : moved) {
      if (literal.dtype != DType::f64 || next >= direction.size()) continue;
      std::vector<double> values = values_of(literal);
      for (std::size_t k = 0; k < values.size(); ++k) values[k] += t * direction[next][k];
      literal = literal_of(DType::f64, literal.shape, values);
      ++next;
    }
    return f(moved);
  };
  const auto central = [&](double h) {
    Vectors plus = at(h);
    const Vectors minus = at(-h);
    for (std::size_t i = 0; i < plus.size(); ++i) {
      for (std::size_t k = 0; k < plus[i].size(); ++k) plus[i][k] = (plus[i][k] - minus[i][k]) / (2 * h);
    }
    return plus;
  };
  constexpr int rows = 6;
  constexpr double shrink = 1.6;
  std::vector<std::vector<Vectors>> table(rows);
  Vectors best;
  std::vector<std::vector<double>> error;
  double h = 0.02;
  for (int i = 0; i < rows; ++i, h /= shrink) {
    table[i].push_back(central(h));
    if (i == 0) {
      best = table[0][0];
      for (const auto& v : best) error.emplace_back(v.size(), 1e300);
    }
    double factor = shrink * shrink;
    for (int j = 1; j <= i; ++j, factor *= shrink * shrink) {
      Vectors next = table[i][j - 1];
      for (std::size_t v = 0; v < next.size(); ++v) {
        for (std::size_t k = 0; k < next[v].size(); ++k) {
          const double here = table[i][j - 1][v][k], above = table[i - 1][j - 1][v][k];
          next[v][k] = (here * factor - above) / (factor - 1);
          const double e = std::max(std::abs(next[v][k] - here), std::abs(next[v][k] - above));
          if (e < error[v][k]) error[v][k] = e, best[v][k] = next[v][k];
        }
      }
      table[i].push_back(std::move(next));
    }
  }
  return best;
}

void expect_close(const Vectors& given, const Vectors& expected, double factor, const std::string& what) {
  ASSERT_EQ(given.size(), expected.size()) << what;
  const double scale = std::max(1.0, norm(expected));
  for (std::size_t i = 0; i < given.size(); ++i) {
    ASSERT_EQ(given[i].size(), expected[i].size()) << what;
    for (std::size_t k = 0; k < given[i].size(); ++k) {
      ASSERT_NEAR(given[i][k], expected[i][k], factor * tolerance * scale)
          << what << ", part " << i << " element " << k;
    }
  }
}

std::vector<Literal> joined(std::vector<Literal> a, const std::vector<Literal>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
std::vector<Literal> from(const std::vector<Literal>& list, std::size_t first) {
  return {list.begin() + static_cast<std::ptrdiff_t>(first), list.end()};
}

// A law case with its derivative graphs.
struct Derived {
  explicit Derived(const LawCase& law)
      : graph(law.graph()), operands(law.operands()), wrt(law.types()), v(directions(law.types(), 77)) {
    for (ValueId id : graph.outputs()) result_types.push_back(graph.type(id));
    w = directions(result_types, 99);
  }
  // Jᵀw at x, and J v at x.
  Vectors pulled(const std::vector<Literal>& x) const {
    return vectors_of(from(run(vjp_graph(graph, wrt), joined(x, w)), result_types.size()));
  }
  Vectors pushed(const std::vector<Literal>& x) const {
    return vectors_of(from(run(jvp_graph(graph, wrt), joined(x, v)), result_types.size()));
  }
  Vectors value(const std::vector<Literal>& x) const { return vectors_of(run(graph, x)); }

  Graph graph;
  std::vector<Literal> operands;
  Mask wrt;
  std::vector<Type> result_types;
  std::vector<Literal> v, w;
};

class DerivativeLaws : public ::testing::TestWithParam<const Op*> {};

TEST_P(DerivativeLaws, ForwardModeAgreesWithFiniteDifferences) {
  for (const LawCase& law : smooth_cases_of(*GetParam())) {
    const Derived d(law);
    const Vectors numeric =
        numerical_derivative([&](const auto& x) { return d.value(x); }, d.operands, vectors_of(d.v));
    expect_close(d.pushed(d.operands), numeric, law.sample.tolerance, law.name());
  }
}

TEST_P(DerivativeLaws, ReverseModeIsTheTransposeOfForwardMode) {
  for (const LawCase& law : smooth_cases_of(*GetParam())) {
    const Derived d(law);
    const double forward = dot(d.pushed(d.operands), vectors_of(d.w));
    const double reverse = dot(vectors_of(d.v), d.pulled(d.operands));
    const double scale =
        std::max({1.0, norm(d.pushed(d.operands)) * norm(vectors_of(d.w)), std::abs(forward)});
    EXPECT_NEAR(forward, reverse, 1e-11 * scale * law.sample.tolerance) << law.name();
  }
}

TEST_P(DerivativeLaws, TheGradientCanBeDifferentiatedAgain) {
  for (const LawCase& law : smooth_cases_of(*GetParam())) {
    const Derived d(law);
    // g(x) = Jᵀ(x) w with w fixed: forward mode over reverse mode against finite differences of reverse mode.
    const Graph joint = vjp_graph(d.graph, d.wrt);
    std::vector<Type> joint_types;
    for (const Input& input : joint.inputs()) joint_types.push_back(joint.type(input.value));
    Mask wrt(joint_types);
    for (std::size_t i = law.sample.in.size(); i < wrt.size; ++i) wrt.bits[i] = false;
    const Graph second = jvp_graph(joint, wrt);
    const auto all = run(second, joined(joined(d.operands, d.w), d.v));
    const std::size_t float_values =
        vectors_of(d.value(d.operands).empty() ? std::vector<Literal>{} : run(d.graph, d.operands)).size();
    const Vectors tangents = vectors_of(from(all, joint.outputs().size()));
    const Vectors exact(tangents.begin() + static_cast<std::ptrdiff_t>(float_values), tangents.end());
    const Vectors numeric =
        numerical_derivative([&](const auto& x) { return d.pulled(x); }, d.operands, vectors_of(d.v));
    expect_close(exact, numeric, 10 * law.sample.tolerance, law.name() + ", forward over reverse");
  }
}

TEST_P(DerivativeLaws, ReverseOverReverseAgreesWithForwardOverReverse) {
  for (const LawCase& law : smooth_cases_of(*GetParam())) {
    const Derived d(law);
    const Graph joint = vjp_graph(d.graph, d.wrt);
    std::vector<Type> joint_types, joint_results;
    for (const Input& input : joint.inputs()) joint_types.push_back(joint.type(input.value));
    for (ValueId id : joint.outputs()) joint_results.push_back(joint.type(id));
    Mask wrt(joint_types);
    for (std::size_t i = law.sample.in.size(); i < wrt.size; ++i) wrt.bits[i] = false;
    const auto u = directions(joint_results, 123);
    const auto inputs = joined(d.operands, d.w);
    const double forward =
        dot(vectors_of(from(run(jvp_graph(joint, wrt), joined(inputs, d.v)), joint_results.size())),
            vectors_of(u));
    const Vectors pulled =
        vectors_of(from(run(vjp_graph(joint, wrt), joined(inputs, u)), joint_results.size()));
    const double reverse = dot(vectors_of(d.v), pulled);
    EXPECT_NEAR(forward, reverse,
                1e-10 * std::max({1.0, std::abs(forward), norm(pulled)}) * law.sample.tolerance)
        << law.name();
  }
}

TEST_P(DerivativeLaws, TheExpansionMeansTheSame) {
  const Op& op = *GetParam();
  if (!op.expand) return;
  if (!runs_on_cpu(op)) {
    // It runs as its expansion. That it is one of its own is for what only an op can say, or for another
    // target's kernel.
    EXPECT_TRUE(op.kind == OpKind::control || op.kind == OpKind::opaque || op.inverse ||
                cuda::cuda_target().runs(op))
        << "an expansion without a kernel";
    return;
  }
  for (const LawCase& law : cases_of(op)) {
    if (law.dtype != DType::f64 || !law.expands) continue;
    const Graph graph = law.graph();
    const auto operands = law.operands();
    const Graph simple = expand(graph, [&](const Node& node) { return node.op == &op; });
    expect_close(vectors_of(run(simple, operands)), vectors_of(interpret(graph, operands, pool())), 1e-3,
                 law.name());
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, DerivativeLaws, ::testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tidemark::testing
