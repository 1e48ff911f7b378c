#include "tidemark/opt/fp8_products.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/graph_text.h"
#include "tests/support/literals.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

// A product takes three seconds, one of codes one. Making codes takes little, or as long as is won.
double quickly(const Call& call) {
  return call.op == &op::contract ? 3 : call.op == &op::fp8_product ? 1 : 0.25;
}
double slowly(const Call& call) {
  return call.op == &op::contract ? 3 : call.op == &op::fp8_product ? 1 : 0.75;
}
Graph with_codes(const Graph& graph, double (*seconds)(const Call&) = quickly) {
  Target target = cpu_target();
  target.fp8_seconds = seconds;
  return fp8_products(graph, known_ops(find_op), target);
}

int count_of(const Graph& graph, const Op& op) {
  int count = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op == &op) ++count;
    for (const Graph& region : node.regions) count += count_of(region, op);
  }
  return count;
}

// Relative to the largest element.
double apart(const Literal& a, const Literal& b) {
  const std::vector<double> x = values_of(a), y = values_of(b);
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(x[i]));
    difference = std::max(difference, std::abs(x[i] - y[i]));
  }
  return difference / largest;
}

// A layer and the products of its gradient: every operand lies in each of the two ways once.
Graph layer_and_gradient(const std::string& dtype) {
  std::string text =
      "graph(%x: f16[2, 16, 32], %w: f16[32, 48], %g: f16[2, 16, 48]) -> (f16[2, 16, 48], f16[2, 16, 32], "
      "f16[32, 48]) {\n"
      "%y = contract(%x, %w) {lhs_contract=[2], rhs_contract=[0]} : f16[2, 16, 48]\n"
      "%dx = contract(%g, %w) {lhs_contract=[2], rhs_contract=[1]} : f16[2, 16, 32]\n"
      "%dw = contract(%x, %g) {lhs_contract=[0, 1], rhs_contract=[0, 1]} : f16[32, 48]\n"
      "return %y, %dx, %dw\n}";
  for (std::size_t at = text.find("f16"); at != std::string::npos; at = text.find("f16", at + dtype.size()))
    text.replace(at, 3, dtype);
  return graph_from(text);
}

TEST(Fp8Products, ALayerAndItsGradientsAreMultipliedInCodes) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Graph graph = layer_and_gradient(std::string(name_of(dtype))), after = with_codes(graph);
    EXPECT_EQ(count_of(after, op::contract), 0);
    EXPECT_EQ(count_of(after, op::fp8_product), 3);
    EXPECT_EQ(count_of(after, op::fp8_scale), 3) << "one for each tensor";
    EXPECT_EQ(count_of(after, op::fp8_codes), 6) << "each lies in two ways";
    const std::vector<Literal> inputs = {random_literal(dtype, {2, 16, 32}, 1),
                                         random_literal(dtype, {32, 48}, 2),
                                         random_literal(dtype, {2, 16, 48}, 3)};
    ThreadPool pool(1);
    const std::vector<Literal> exact = interpret(graph, inputs, pool), coded = interpret(after, inputs, pool);
    for (std::size_t r = 0; r < exact.size(); ++r) {
      EXPECT_EQ(coded[r].shape, exact[r].shape);
      EXPECT_LT(apart(exact[r], coded[r]), 0.06) << r;
      EXPECT_GT(apart(exact[r], coded[r]), 0.002) << r << ": nothing was rounded";
    }
  }
}

TEST(Fp8Products, NoTimeIsWonNoCodes) {
  EXPECT_EQ(count_of(with_codes(layer_and_gradient("bf16"), slowly), op::fp8_product), 0);
  EXPECT_EQ(count_of(with_codes(layer_and_gradient("bf16"), nullptr), op::fp8_product), 0);
}

TEST(Fp8Products, OtherDtypesSizesAndLayoutsStay) {
  EXPECT_EQ(count_of(with_codes(layer_and_gradient("f32")), op::fp8_product), 0);
  const auto product = [](const std::string& a, const std::string& b, const std::string& attrs,
                          const std::string& y) {
    return count_of(
        with_codes(graph_from("graph(%a: bf16" + a + ", %b: bf16" + b + ") -> (bf16" + y +
                              ") {\n%y = contract(%a, %b) {" + attrs + "} : bf16" + y + "\nreturn %y\n}")),
        op::fp8_product);
  };
  const std::string plain = "lhs_contract=[1], rhs_contract=[0]";
  EXPECT_EQ(product("[16, 32]", "[32, 48]", plain, "[16, 48]"), 1);
  EXPECT_EQ(product("[17, 32]", "[32, 48]", plain, "[17, 48]"), 0);
  EXPECT_EQ(product("[16, 40]", "[40, 48]", plain, "[16, 48]"), 0);
  EXPECT_EQ(product("[16, 32]", "[32, 4]", plain, "[16, 4]"), 0);
  EXPECT_EQ(product("[16, 32]", "[32]", plain, "[16]"), 0);
  EXPECT_EQ(product("[0, 32]", "[32, 48]", plain, "[0, 48]"), 0);
  EXPECT_EQ(product("[2, 16, 32]", "[2, 32, 48]",
                    "lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], rhs_contract=[1]", "[2, 16, 48]"),
            0);
  EXPECT_EQ(product("[16, 32, 16]", "[32, 48]", plain, "[16, 16, 48]"), 0);
}

TEST(Fp8Products, WhatIsAddedIsAddedToTheProduct) {
  const Graph graph = graph_from(
      "graph(%a: bf16[16, 32], %b: bf16[32, 48], %s: bf16[16, 48]) -> (bf16[16, 48]) {\n"
      "%y = contract(%a, %b, %s) {lhs_contract=[1], rhs_contract=[0]} : bf16[16, 48]\nreturn %y\n}");
  const Graph after = with_codes(graph);
  ASSERT_EQ(count_of(after, op::fp8_product), 1);
  const std::vector<Literal> inputs = {random_literal(DType::bf16, {16, 32}, 1),
                                       random_literal(DType::bf16, {32, 48}, 2),
                                       random_literal(DType::bf16, {16, 48}, 3, 99, 100)};
  ThreadPool pool(1);
  EXPECT_LT(apart(interpret(graph, inputs, pool)[0], interpret(after, inputs, pool)[0]), 0.01);
}

// A budget may put a product into a loop, or compute it a second time there: it must be the same product.
TEST(Fp8Products, WhatBecomesOfAProductDoesNotDependOnOthers) {
  const Graph alone = graph_from(
      "graph(%a: bf16[16, 32], %b: bf16[32, 48]) -> (bf16[16, 48]) {\n"
      "%y = contract(%a, %b) {lhs_contract=[1], rhs_contract=[0]} : bf16[16, 48]\nreturn %y\n}");
  const Graph beside = graph_from(
      "graph(%a: bf16[16, 32], %b: bf16[32, 48]) -> (bf16[16, 48], bf16[16, 48]) {\n"
      "%y = contract(%a, %b) {lhs_contract=[1], rhs_contract=[0]} : bf16[16, 48]\n"
      "%c = neg(%a) : bf16[16, 32]\n"
      "%z = contract(%c, %b) {lhs_contract=[1], rhs_contract=[0]} : bf16[16, 48]\nreturn %y, %z\n}");
  const std::vector<Literal> inputs = {random_literal(DType::bf16, {16, 32}, 1),
                                       random_literal(DType::bf16, {32, 48}, 2)};
  ThreadPool pool(1);
  for (const auto seconds : {quickly, slowly}) {
    const Graph one = with_codes(alone, seconds), two = with_codes(beside, seconds);
    EXPECT_EQ(count_of(two, op::fp8_product), 2 * count_of(one, op::fp8_product));
    EXPECT_EQ(bit_difference(interpret(one, inputs, pool)[0], interpret(two, inputs, pool)[0]), "");
  }
}

}  // namespace
}  // namespace tidemark
