#include "tidemark/opt/gather.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tests/support/literals.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/verify.h"
#include "tidemark/ops/registry.h"
#include "tidemark/opt/dce.h"

namespace tidemark {
namespace {

using namespace testing;

constexpr int parts = 6;

// Parts a0… and b0…, their stacks, and the sum of a_iᵀ b_(i+shift); `sum_first`: before the stacks are made.
Graph parts_graph(int shift, bool sum_first, const std::string& more = {}) {
  std::string inputs, body, sums, stacks, a_rows, b_rows;
  for (int i = 0; i < parts; ++i) {
    inputs += fmt::format("%x{0}: f64[2, 3], %y{0}: f64[2, 4], ", i);
    body += fmt::format("%a{0} = exp(%x{0}) : f64[2, 3]\n %b{0} = sin(%y{0}) : f64[2, 4]\n", i);
    stacks += fmt::format("%ra{0} = reshape(%a{0}) {{shape=[1, 2, 3]}} : f64[1, 2, 3]\n", i);
    stacks += fmt::format("%rb{0} = reshape(%b{0}) {{shape=[1, 2, 4]}} : f64[1, 2, 4]\n", i);
    a_rows += fmt::format("{}%ra{}", i == 0 ? "" : ", ", i);
    b_rows += fmt::format("{}%rb{}", i == 0 ? "" : ", ", i);
  }
  std::string total = "%x";
  for (int i = parts - 1 - shift; i >= 0; --i) {
    sums += fmt::format("%p{0} = contract(%a{0}, %b{1}) {{lhs_contract=[0], rhs_contract=[0]}} : f64[3, 4]\n",
                        i, i + shift);
    sums += fmt::format("%s{0} = add({1}, %p{0}) : f64[3, 4]\n", i, total);
    total = fmt::format("%s{}", i);
  }
  stacks += fmt::format("%as = concat({}) {{axis=0}} : f64[{}, 2, 3]\n", a_rows, parts);
  stacks += fmt::format("%bs = concat({}) {{axis=0}} : f64[{}, 2, 4]\n", b_rows, parts);
  return graph_from("graph(" + inputs + "%x: f64[3, 4]) -> (f64[3, 4], f64[6, 2, 3], f64[6, 2, 4]) {\n" +
                    body + (sum_first ? sums + stacks : stacks + sums) + more + "%out = neg(" + total +
                    ") : f64[3, 4]\n return %out, %as, %bs\n}");
}

std::vector<const Node*> products(const Graph& graph) {
  std::vector<const Node*> found;
  for (const Node& node : graph.nodes()) {
    if (node.op->name == "contract") found.push_back(&node);
  }
  return found;
}

Graph gathered(const Graph& graph) { return dce(gather(graph, known_ops(find_op))); }

TEST(Gather, MakesOneProductOfThePartsProducts) {
  ThreadPool pool(1);
  for (const int shift : {0, 1}) {
    for (const bool sum_first : {true, false}) {
      const Graph graph = parts_graph(shift, sum_first), after = gathered(graph);
      verify_or_internal(after, "gather");
      ASSERT_EQ(products(after).size(), 1u);
      EXPECT_EQ(after.type(products(after)[0]->operands[0]).shape, Shape({parts - shift, 2, 3}));
      EXPECT_EQ(after.type(products(after)[0]->operands[1]).shape, Shape({parts - shift, 2, 4}));
      std::vector<Literal> inputs;
      for (int i = 0; i < parts; ++i) {
        inputs.push_back(random_literal(DType::f64, {2, 3}, static_cast<std::uint64_t>(2 * i)));
        inputs.push_back(random_literal(DType::f64, {2, 4}, static_cast<std::uint64_t>(2 * i + 1)));
      }
      inputs.push_back(random_literal(DType::f64, {3, 4}, 99));
      const auto before = interpret(graph, inputs, pool), now = interpret(after, inputs, pool);
      const std::vector<double> apart = values_of(before[0]), together = values_of(now[0]);
      for (std::size_t i = 0; i < apart.size(); ++i) EXPECT_NEAR(apart[i], together[i], 1e-13);
      EXPECT_EQ(before[1], now[1]);
      EXPECT_EQ(before[2], now[2]);
    }
  }
}

TEST(Gather, LeavesSumsThatTheStacksAreMadeOf) {
  // A part of the stack depends on the sum, so that the sum cannot wait for the stack.
  const std::string text = R"(graph(%x: f64[2, 2], %y: f64[2, 2]) -> (f64[2, 2], f64[5, 2, 2], f64[2, 2]) {
    %a = exp(%x) : f64[2, 2]
    %b = exp(%y) : f64[2, 2]
    %c = neg(%x) : f64[2, 2]
    %d = neg(%y) : f64[2, 2]
    %p = contract(%a, %a) {lhs_contract=[0], rhs_contract=[0]} : f64[2, 2]
    %q = contract(%b, %b) {lhs_contract=[0], rhs_contract=[0]} : f64[2, 2]
    %r = contract(%c, %c) {lhs_contract=[0], rhs_contract=[0]} : f64[2, 2]
    %t = contract(%d, %d) {lhs_contract=[0], rhs_contract=[0]} : f64[2, 2]
    %pq = add(%p, %q) : f64[2, 2]
    %pqr = add(%pq, %r) : f64[2, 2]
    %s = add(%pqr, %t) : f64[2, 2]
    %e = exp(%s) : f64[2, 2]
    %ra = reshape(%a) {shape=[1, 2, 2]} : f64[1, 2, 2]
    %rb = reshape(%b) {shape=[1, 2, 2]} : f64[1, 2, 2]
    %rc = reshape(%c) {shape=[1, 2, 2]} : f64[1, 2, 2]
    %rd = reshape(%d) {shape=[1, 2, 2]} : f64[1, 2, 2]
    %re = reshape(LAST) {shape=[1, 2, 2]} : f64[1, 2, 2]
    %as = concat(%ra, %rb, %rc, %rd, %re) {axis=0} : f64[5, 2, 2]
    return %s, %as, %e
  })";
  const auto with_last = [&](const std::string& last) {
    std::string all = text;
    return graph_from(all.replace(all.find("LAST"), 4, last));
  };
  const Graph cyclic = with_last("%e");
  EXPECT_TRUE(same_graph(gathered(cyclic), cyclic));
  EXPECT_EQ(products(gathered(with_last("%x"))).size(), 1u);
}

TEST(Gather, LeavesFewProductsAndProductsThatAreReadElsewhere) {
  EXPECT_EQ(products(gathered(parts_graph(3, true))).size(), 3u);
  // p2 is an operand of something else: the parts beside it are too few on either side.
  Graph graph = parts_graph(0, true, "%other = exp(%p2) : f64[3, 4]\n %bs2 = neg(%other) : f64[3, 4]\n");
  EXPECT_EQ(products(gather(graph, known_ops(find_op))).size(), 6u);
}

}  // namespace
}  // namespace tidemark
