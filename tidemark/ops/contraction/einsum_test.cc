#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/support/run_kernel.h"
#include "tests/support/test_target.h"
#include "tidemark/base/error.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

Literal run(const std::vector<Literal>& operands, const std::function<Var(std::span<const Var>)>& f) {
  Graph graph;
  Builder builder(graph);
  builder.set_where({"model.cpp", 31});
  std::vector<Var> in;
  for (const Literal& operand : operands) in.push_back(builder.input({operand.dtype, operand.shape}));
  graph.add_output(f(in).id());
  return testing::run(graph, operands).front();
}

Literal einsum_of(std::string_view formula, const std::vector<Literal>& operands) {
  return run(operands, [&](std::span<const Var> in) { return einsum(formula, in); });
}

// By the definition, for formulas of plain letters with an explicit result.
std::vector<double> naive(const std::string& formula, const std::vector<Literal>& operands) {
  std::vector<std::string> terms(1);
  const std::size_t arrow = formula.find("->");
  for (char c : formula.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  std::string order = formula.substr(arrow + 2);
  const std::size_t kept = order.size();
  std::map<char, std::int64_t> size;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    for (std::size_t i = 0; i < terms[t].size(); ++i) {
      size[terms[t][i]] = operands[t].shape[static_cast<int>(i)];
      if (order.find(terms[t][i]) == std::string::npos) order += terms[t][i];
    }
  }
  std::int64_t total = 1, summed = 1;
  for (std::size_t i = 0; i < order.size(); ++i) (i < kept ? total : summed) *= size[order[i]];
  std::vector<std::vector<double>> values;
  for (const Literal& operand : operands) values.push_back(values_of(operand));
  std::vector<double> result(static_cast<std::size_t>(total));
  for (std::int64_t index = 0; index < total * summed; ++index) {
    std::map<char, std::int64_t> at;
    std::int64_t rest = index;
    for (std::size_t i = order.size(); i-- > 0;) at[order[i]] = rest % size[order[i]], rest /= size[order[i]];
    double product = 1;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      std::int64_t offset = 0;
      for (char c : terms[t]) offset = offset * size[c] + at[c];
      product *= values[t][static_cast<std::size_t>(offset)];
    }
    result[static_cast<std::size_t>(index / summed)] += product;
  }
  return result;
}

TEST(Einsum, MatchesTheDefinition) {
  const std::map<char, std::int64_t> size = {{'a', 2}, {'b', 3}, {'c', 4}, {'d', 5},
                                             {'e', 2}, {'i', 4}, {'j', 3}, {'k', 5}};
  for (const std::string formula :
       {"ij,jk->ik",      "ij,jk->ki",       "bij,bjk->bik", "bij,bjk->ibk",  "ij->ji",      "ij->j",
        "ij->",           "ii->i",           "ii->",         "iij->ji",       "iii->i",      "i,i->i",
        "i,j->ij",        "i,j->ji",         "ij,ij->ij",    "ij,ij->",       "ij,j->i",     "j,ij->i",
        "abc,cd,be->ade", "ab,bc,cd,de->ae", "ab,cb->",      "aij,ajk,k->ai", "ab,cd->abcd", "iij,jk->ik",
        "ab,a->ab",       "bi,bj->bij",      "ab,ab,ab->a"}) {
    std::vector<Literal> operands;
    std::string term;
    for (char c : formula.substr(0, formula.find("->")) + ",") {
      if (c != ',') {
        term += c;
        continue;
      }
      Shape shape;
      for (char label : term) shape.push_back(size.at(label));
      operands.push_back(random_literal(DType::f64, shape, operands.size() + 1));
      term.clear();
    }
    EXPECT_LE(distance(values_of(einsum_of(formula, operands)), naive(formula, operands)), 1e-12) << formula;
  }
}

TEST(Einsum, ImplicitResultsAndEllipsesAreAsInNumPy) {
  const Literal a = random_literal(DType::f64, {4, 3}, 1), b = random_literal(DType::f64, {3, 5}, 2);
  EXPECT_EQ(einsum_of("ij,jk", {a, b}), einsum_of("ij,jk->ik", {a, b}));
  EXPECT_EQ(einsum_of("ba", {a}), einsum_of("ba->ab", {a}));
  const Literal x = random_literal(DType::f64, {2, 1, 4, 3}, 3), y = random_literal(DType::f64, {6, 3, 5}, 4);
  const Literal got = einsum_of("...ij, ...jk -> ...ik", {x, y});
  EXPECT_EQ(got.shape, (Shape{2, 6, 4, 5}));
  const Literal by_matmul = run({x, y}, [](std::span<const Var> in) { return matmul(in[0], in[1]); });
  EXPECT_LE(distance(values_of(got), values_of(by_matmul)), 1e-13);
  EXPECT_EQ(einsum_of("...i->...", {x}).shape, (Shape{2, 1, 4}));
  EXPECT_EQ(einsum_of("...i,i->...", {x, random_literal(DType::f64, {3}, 5)}).shape, (Shape{2, 1, 4}));
}

TEST(Einsum, ContractsTheCheapestPairFirst) {
  Graph graph;
  Builder builder(graph);
  const Var in[] = {builder.input({DType::f32, {100, 100}}), builder.input({DType::f32, {100, 100}}),
                    builder.input({DType::f32, {100}})};
  einsum("ij,jk,k->i", in);
  double flops = 0;
  for (const Node& node : graph.nodes()) flops += test_target().cost(NodeCall(graph, node)).flops;
  EXPECT_LE(flops, 4 * 100 * 100 + 1000);  // two matrix-vector products, not a matrix product
}

std::string error_of(std::string_view formula, const std::vector<Shape>& shapes) {
  std::vector<Literal> operands;
  for (const Shape& shape : shapes) operands.push_back(random_literal(DType::f32, shape, 1));
  try {
    einsum_of(formula, operands);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Einsum, PointsAtThePlaceInTheFormula) {
  const std::string text = error_of("ij,jk->iq", {{2, 3}, {3, 4}});
  EXPECT_NE(text.find("formula: ij,jk->iq\n                   ^"), std::string::npos) << text;
  EXPECT_NE(text.find("model.cpp:31"), std::string::npos) << text;
  EXPECT_NE(error_of("ij,jk->ik", {{2, 3}, {4, 4}}).find("`j` has size 4 here and 3 before"),
            std::string::npos);
  EXPECT_NE(error_of("ij,jk->ik", {{2, 3}}).find("only 1 operands"), std::string::npos);
  EXPECT_NE(error_of("ij->ik", {{2, 3}, {3, 4}}).find("the formula names 1"), std::string::npos);
  EXPECT_NE(error_of("ijk->i", {{2, 3}}).find("(2, 3)"), std::string::npos);
  EXPECT_NE(error_of("ij->ii", {{2, 3}}).find("twice"), std::string::npos);
  EXPECT_NE(error_of("i1->i", {{2, 3}}).find("TM02"), std::string::npos);
}

struct Product {
  Shape lhs, rhs, out;
};

TEST(Matmul, FollowsNumPyForVectorsMatricesAndBatches) {
  for (const Product& p : {Product{{3, 4}, {4, 5}, {3, 5}},
                           {{4}, {4}, {}},
                           {{4}, {4, 5}, {5}},
                           {{3, 4}, {4}, {3}},
                           {{2, 6, 3, 4}, {4, 5}, {2, 6, 3, 5}},
                           {{2, 6, 3, 4}, {4}, {2, 6, 3}},
                           {{4}, {2, 6, 4, 5}, {2, 6, 5}},
                           {{6, 3, 4}, {6, 4, 5}, {6, 3, 5}},
                           {{2, 1, 3, 4}, {6, 4, 5}, {2, 6, 3, 5}},
                           {{3, 4}, {6, 4, 5}, {6, 3, 5}},
                           {{6, 3, 4}, {1, 4, 5}, {6, 3, 5}}}) {
    const Literal a = random_literal(DType::f64, p.lhs, 1), b = random_literal(DType::f64, p.rhs, 2);
    const Literal got = run({a, b}, [](std::span<const Var> in) { return matmul(in[0], in[1]); });
    ASSERT_EQ(got.shape, p.out);
    const std::string left = p.lhs.rank() == 1 ? "j" : "...ij", right = p.rhs.rank() == 1 ? "j" : "...jk";
    const std::string out =
        std::string("...") + (p.lhs.rank() == 1 ? "" : "i") + (p.rhs.rank() == 1 ? "" : "k");
    EXPECT_LE(distance(values_of(got), values_of(einsum_of(left + "," + right + "->" + out, {a, b}))), 1e-13);
  }
}

TEST(Matmul, OfManyLeadingDimensionsByOneMatrixIsOneProduct) {
  Graph graph;
  Builder builder(graph);
  matmul(builder.input({DType::f32, {2, 6, 3, 4}}), builder.input({DType::f32, {4, 5}}));
  ASSERT_EQ(graph.nodes().size(), 1u);
  EXPECT_TRUE(unpack<ContractAttrs>(graph.nodes()[0].attrs).lhs_batch.empty());
}

TEST(Matmul, NamesBothShapesWhenInnerSizesDiffer) {
  Graph graph;
  Builder builder(graph);
  builder.set_where({"train.cpp", 88});
  const Var x = builder.input({DType::f32, {32, 784}}), w = builder.input({DType::f32, {512, 784}});
  try {
    matmul(x, w);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* part : {"matmul: the inner sizes differ: 784 and 512", "train.cpp:88",
                             "transpose the right operand", "[512, 784]"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
  EXPECT_THROW(matmul(builder.input({DType::f32, {2, 3, 4}}), builder.input({DType::f32, {5, 4, 3}})), Error);
  EXPECT_THROW(matmul(builder.input({DType::f32, {}}), w), Error);
}

}  // namespace
}  // namespace tidemark
