// An op with an inverse gives its operands back: to the bit, or as closely as it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/law_case.h"
#include "tests/support/literals.h"
#include "tidemark/ops/registry.h"

namespace tidemark::testing {
namespace {

// What errors are stated as shares of.
double largest_of(const std::vector<Literal>& operands, const std::vector<Literal>& results) {
  double largest = 0;
  for (const auto* list : {&operands, &results}) {
    for (const Literal& literal : *list) {
      for (const double x : values_of(literal)) largest = std::max(largest, std::abs(x));
    }
  }
  return largest;
}

class InverseLaws : public ::testing::TestWithParam<const Op*> {};

TEST_P(InverseLaws, GivesOperandsBack) {
  const Op& op = *GetParam();
  int tried = 0;
  for (const LawCase& law : cases_of(op)) {
    const auto operands = law.operands();
    const std::size_t count = law.graph().nodes().front().operands.size();
    for (std::size_t o = 0; o < count; ++o) {
      Graph graph = law.graph();
      const Node node = graph.nodes().front();
      if (op.invertible && !op.invertible(graph, node, static_cast<int>(o))) continue;
      Builder builder(graph);
      std::vector<Var> in, out;
      for (std::size_t k = 0; k < count; ++k) in.push_back(k == o ? Var() : Var(builder, node.operands[k]));
      for (ValueId v : node.results) out.emplace_back(builder, v);
      {
        const NodeCall call(graph, node);
        const Var back = op.inverse({.builder = builder, .call = call, .in = in, .out = out, .seed = {}},
                                    static_cast<int>(o));
        graph.add_output(back.id());
      }
      const std::vector<Literal> results = run(graph, operands);
      const Literal& found = results.back();
      if (op.conditioning) {
        const double bound = op.conditioning(NodeCall(law.graph(), node)).rounding;
        const std::vector<double> right = values_of(operands[o]), given = values_of(found);
        const double scale = largest_of(operands, results);
        for (std::size_t i = 0; i < right.size(); ++i)
          EXPECT_LE(std::abs(given[i] - right[i]), bound * scale) << law.name() << ", element " << i;
      } else {
        EXPECT_EQ(bit_difference(found, operands[o]), "") << law.name() << ", operand " << o;
      }
      ++tried;
    }
  }
  // Sums can be undone only on the grid, where samples are not: ops/reversible/couple_test.cc tries those.
  if (!op.invertible) {
    EXPECT_GT(tried, 0);
  }
}

std::vector<const Op*> ops_with_an_inverse() {
  std::vector<const Op*> list;
  for (const Op* op : all_ops()) {
    if (op->inverse) list.push_back(op);
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(AllOps, InverseLaws, ::testing::ValuesIn(ops_with_an_inverse()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tidemark::testing
