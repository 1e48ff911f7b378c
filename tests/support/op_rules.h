// For tests of an op's rules: its kernel, vjp and second order held against those of its expansion, on its
// samples.
#pragma once
#include <memory>

#include "tests/support/errors.h"
#include "tests/support/run_kernel.h"
#include "tidemark/autodiff/expand.h"
#include "tidemark/autodiff/reverse.h"

namespace tidemark::testing {

struct SampleRun {
  Graph graph;
  std::vector<Literal> operands;
};

inline SampleRun sample_run(const Op& op, const Sample& sample, std::uint64_t seed) {
  SampleRun run;
  Builder builder(run.graph);
  std::vector<Var> in;
  for (const Sample::Operand& o : sample.in) {
    in.push_back(builder.input(o.type));
    if (o.type.dtype == DType::boolean) {  // mostly true: a mask should leave something
      std::vector<double> bits;
      for (double x : values_of(random_literal(DType::f64, o.type.shape, ++seed, 0, 1)))
        bits.push_back(x < 0.7);
      run.operands.push_back(literal_of(o.type.dtype, o.type.shape, bits));
    } else {
      run.operands.push_back(random_literal(o.type.dtype, o.type.shape, ++seed, o.low, o.high));
    }
  }
  for (const Var& out : builder.call(op, in, sample.attrs)) run.graph.add_output(out.id());
  return run;
}

inline void expect_same_results(const Graph& a, const Graph& b, const std::vector<Literal>& operands,
                                double tolerance) {
  const std::vector<Literal> left = run(a, operands), right = run(b, operands);
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].shape, right[i].shape);
    EXPECT_EQ(left[i].dtype, right[i].dtype);
    expect_near(values_of(left[i]), values_of(right[i]), tolerance);
  }
}

inline Graph vjp_of_floats(const Graph& graph) {
  std::unique_ptr<bool[]> wrt(new bool[graph.inputs().size()]);
  for (std::size_t i = 0; i < graph.inputs().size(); ++i)
    wrt[i] = is_float(graph.type(graph.inputs()[i].value).dtype);
  return vjp_graph(graph, {wrt.get(), graph.inputs().size()});
}

inline void add_seeds(const Graph& joint, std::vector<Literal>& operands, std::uint64_t seed) {
  for (std::size_t i = operands.size(); i < joint.inputs().size(); ++i) {
    const Type& type = joint.type(joint.inputs()[i].value);
    operands.push_back(random_literal(type.dtype, type.shape, seed + i, -2, 2));
  }
}

// Kernel = expansion; vjp = vjp of the expansion; vjp of the vjp likewise. In f64.
inline void expect_rules_follow_expansion(const Op& op, double tolerance = 1e-10) {
  std::uint64_t seed = 100;
  for (const Sample& sample : op.samples()) {
    SCOPED_TRACE(fmt::format("{}, sample {}", op.name, seed - 100));
    SampleRun sample_of_op = sample_run(op, sample, seed);
    seed += 1;
    std::vector<Literal>& operands = sample_of_op.operands;
    const Graph expanded = expand(sample_of_op.graph, [&](const Node& node) { return node.op == &op; });
    expect_same_results(sample_of_op.graph, expanded, operands, tolerance);
    const Graph gradient = vjp_of_floats(sample_of_op.graph), expanded_gradient = vjp_of_floats(expanded);
    add_seeds(gradient, operands, 1000);
    expect_same_results(gradient, expanded_gradient, operands, tolerance);
    const Graph second = vjp_of_floats(gradient), expanded_second = vjp_of_floats(expanded_gradient);
    add_seeds(second, operands, 2000);
    expect_same_results(second, expanded_second, operands, tolerance * 10);
  }
}

}  // namespace tidemark::testing
