#include "tidemark/ir/graph.h"
#include "tests/support/test_target.h"

#include <gtest/gtest.h>

#include "tests/support/toy_ops.h"
#include "tidemark/ir/builder.h"

namespace tidemark {
namespace {

const Type pair_type{DType::f32, {2}};

TEST(Graph, LinksValuesToTheirProducers) {
  Graph graph;
  const ValueId x = graph.add_input(pair_type, "x", true);
  const Type types[] = {pair_type, {DType::boolean, {2}}};
  const NodeId node = graph.add_node(
      {.op = &toy::two, .operands = {x}, .results = {}, .attrs = {}, .regions = {}, .where = {"a.cc", 3}},
      types);
  graph.add_output(graph[node].results[1]);

  EXPECT_TRUE(graph.is_input(x));
  EXPECT_TRUE(graph.inputs()[0].donated);
  EXPECT_EQ(graph[x].name, "x");
  ASSERT_EQ(graph[node].results.size(), 2u);
  EXPECT_EQ(graph[graph[node].results[1]].producer, node);
  EXPECT_EQ(graph[graph[node].results[1]].result, 1u);
  EXPECT_EQ(graph.type(graph[node].results[1]), types[1]);
  EXPECT_FALSE(graph.is_input(graph[node].results[0]));
}

TEST(Graph, NodeCallGathersTheTypesAround) {
  Graph graph;
  Builder builder(graph);
  builder.set_where({"a.cc", 5});
  const Var x = builder.input(pair_type);
  builder.call(toy::two, std::vector{x});
  const NodeCall call(graph, graph.nodes()[0]);
  EXPECT_EQ(call.call.op, &toy::two);
  ASSERT_EQ(call.call.in.size(), 1u);
  ASSERT_EQ(call.call.out.size(), 2u);
  EXPECT_EQ(call.call.out[1].dtype, DType::boolean);
  EXPECT_EQ(call.call.where, SourceLine("a.cc", 5));
  EXPECT_TRUE(call.call.is_dense_operand(0));
}

TEST(Graph, CountsUsesAndListsConsumers) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input(pair_type), unused = builder.input(pair_type);
  const Var y = builder.call1(toy::blend, {x, x}, pack(toy::EveryKind{}));
  const Var z = builder.call1(toy::blend, {x, y}, pack(toy::EveryKind{}));
  graph.add_output(z.id());
  graph.add_output(y.id());
  EXPECT_EQ(use_counts(graph), (std::vector<int>{3, 0, 2, 1}));
  const auto lists = consumers(graph);
  EXPECT_EQ(lists[x.id().index], (std::vector<NodeId>{NodeId(0), NodeId(1)}));
  EXPECT_TRUE(lists[unused.id().index].empty());
  EXPECT_EQ(lists[y.id().index], std::vector<NodeId>{NodeId(1)});
}

TEST(Type, KnowsItsSize) {
  const Type type{DType::f16, {3, 4}};
  EXPECT_EQ(type.count(), 12);
  EXPECT_EQ(type.bytes(), 24);
  EXPECT_EQ(type.rank(), 2);
  EXPECT_EQ(to_string(type), "f16[3, 4]");
  EXPECT_EQ(to_string(Type{DType::boolean, {}}), "bool[]");
  EXPECT_NE(type, (Type{DType::f16, {4, 3}}));
}

TEST(Op, FactsThatAreNotGivenHaveDefaults) {
  const Type in[] = {pair_type, pair_type}, out[] = {pair_type};
  const Call call{.op = &toy::blend, .in = in, .out = out};
  EXPECT_EQ(test_target().cost(call).flops, 2);
  EXPECT_EQ(test_target().cost(call).bytes, 24);
  EXPECT_EQ(test_target().scratch(call), 0);
  EXPECT_FALSE(test_target().may_overwrite(call, 0, 0));
}

TEST(Op, NamesItsKinds) {
  EXPECT_EQ(name_of(OpKind::elementwise), "elementwise");
  EXPECT_EQ(name_of(OpKind::composite), "composite");
  EXPECT_EQ(name_of(Replay::exact), "exact");
  EXPECT_EQ(name_of(Replay::never), "never");
}

TEST(Op, DTypeSetsAreWhatTheirNamesSay) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(floats.contains(t), is_float(t));
    EXPECT_EQ(integers.contains(t), is_integer(t));
    EXPECT_EQ(numbers.contains(t), t != DType::boolean);
    EXPECT_EQ(booleans.contains(t), t == DType::boolean);
    EXPECT_TRUE(any_dtype.contains(t));
    EXPECT_EQ(wide_floats.contains(t), t == DType::f32 || t == DType::f64);
  }
}

}  // namespace
}  // namespace tidemark
