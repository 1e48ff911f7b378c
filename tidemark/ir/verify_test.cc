#include "tidemark/ir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/toy_ops.h"
#include "tidemark/ir/limits.h"

namespace tidemark {
namespace {

constexpr DType f32 = DType::f32;
const Type pair_type{f32, {2}};

Graph small() {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input(pair_type, "x");
  const Var y = builder.call1(toy::blend, {x, x}, pack(toy::EveryKind{}));
  graph.add_output(builder.call(toy::two, std::vector{y})[0].id());
  return graph;
}

void expect_malformed(const Graph& graph, const std::string& part) {
  try {
    verify(graph);
    ADD_FAILURE() << "accepted; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_graph);
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
  EXPECT_THROW(verify_or_internal(graph, "a test"), InternalError);
}

TEST(Verify, AcceptsWhatTheBuilderMakes) {
  EXPECT_NO_THROW(verify(small()));
  EXPECT_NO_THROW(verify_or_internal(small(), "a test"));
  EXPECT_NO_THROW(verify(Graph{}));
}

TEST(Verify, FindsIdsOutOfRange) {
  Graph graph = small();
  graph[NodeId(1)].operands[0] = ValueId(99);
  expect_malformed(graph, "operand 0 is not in the graph");
  graph = small();
  graph.add_output(ValueId(99));
  expect_malformed(graph, "output 1 is no value");
  graph = small();
  graph.inputs()[0].value = ValueId(99);
  expect_malformed(graph, "value 99 is not in the graph");
  graph = small();
  graph[NodeId(0)].results[0] = ValueId();
  expect_malformed(graph, "is not in the graph");
}

TEST(Verify, FindsUsesBeforeTheirDefinition) {
  Graph graph = small();
  graph[NodeId(0)].operands[1] = ValueId(2);
  expect_malformed(graph, "operand 1 is used before it is defined");
}

TEST(Verify, FindsBrokenBackLinks) {
  Graph graph = small();
  graph[ValueId(1)].producer = NodeId(1);
  expect_malformed(graph, "value 1 names another producer");
  graph = small();
  graph[ValueId(2)].result = 1;
  expect_malformed(graph, "value 2 names another producer");
  graph = small();
  graph.inputs().push_back(graph.inputs()[0]);
  expect_malformed(graph, "value 0 is defined twice");
  graph = small();
  graph.inputs().clear();
  expect_malformed(graph, "used before it is defined");
}

TEST(Verify, FindsValuesNobodyDefines) {
  Graph graph;
  graph.add_input(pair_type);
  graph.inputs().clear();
  expect_malformed(graph, "value 0 is neither an input nor a result");
}

TEST(Verify, FindsWrongTypes) {
  Graph graph = small();
  graph[ValueId(1)].type = {f32, {3}};
  expect_malformed(graph, "result 0 is f32[3], its operands give f32[2]");
  graph = small();
  graph[ValueId(0)].type.shape = {-1};
  expect_malformed(graph, "");
  graph = Graph();
  graph.add_input({f32, {max_extent, 8}});
  expect_malformed(graph, "value 0 is too large");
}

TEST(Verify, FindsWrongOperandAndResultCounts) {
  Graph graph = small();
  graph[NodeId(1)].operands.push_back(ValueId(0));
  expect_malformed(graph, "two got 2 operands");
  graph = small();
  const Type types[] = {pair_type, pair_type};
  graph.add_node({.op = &toy::blend,
                  .operands = {ValueId(0)},
                  .results = {},
                  .attrs = pack(toy::EveryKind{}),
                  .regions = {},
                  .where = {}},
                 types);
  expect_malformed(graph, "blend has 2 results instead of 1");
}

TEST(Verify, FindsAttributesThatTheSchemaDoesNotHave) {
  Graph graph = small();
  graph[NodeId(0)].attrs.pop_back();
  expect_malformed(graph, "blend has 6 attributes instead of 7");
  graph = small();
  graph[NodeId(0)].attrs[0] = 1.5;
  expect_malformed(graph, "the attribute flag has another kind");
  graph = Graph();
  graph.add_node({.op = &toy::literal,
                  .operands = {},
                  .results = {},
                  .attrs = pack(toy::LiteralAttrs{}),
                  .regions = {},
                  .where = {"a.cc", 3}},
                 std::span(&pair_type, 1));
  expect_malformed(graph, "--> a.cc:3");
  expect_malformed(graph, "the attribute value has other bytes than its type");
}

TEST(Verify, FindsNodesWithoutAnOp) {
  Graph graph;
  graph.add_node({}, {});
  expect_malformed(graph, "node 0 has no operation");
}

TEST(Verify, LooksIntoRegions) {
  Graph body = small();
  body[NodeId(1)].operands[0] = ValueId(99);
  Graph graph;
  graph.add_node(
      {.op = &toy::loop, .operands = {}, .results = {}, .attrs = {}, .regions = {body}, .where = {}},
      std::span(&pair_type, 1));
  expect_malformed(graph, "operand 0 is not in the graph");
  Graph deep;
  for (int i = 0; i <= max_region_depth; ++i) {
    Graph outer;
    outer.add_node(
        {.op = &toy::loop, .operands = {}, .results = {}, .attrs = {}, .regions = {deep}, .where = {}}, {});
    deep = outer;
  }
  expect_malformed(deep, "nested more than 64 deep");
}

}  // namespace
}  // namespace tidemark
