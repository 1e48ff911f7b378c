#include "tidemark/ir/builder.h"

#include <gtest/gtest.h>

#include "tests/support/toy_ops.h"
#include "tidemark/ir/print.h"
#include "tidemark/ir/verify.h"

namespace tidemark {
namespace {

const Type pair_type{DType::f32, {2}};

TEST(Builder, InfersTypesAndRecordsTheUsersLine) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input(pair_type, "x");
  builder.set_where({"user.cc", 42});
  const std::vector<Var> results = builder.call(toy::two, std::vector{x});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].dtype(), DType::boolean);
  EXPECT_EQ(results[1].shape(), Shape{2});
  EXPECT_EQ(graph.nodes()[0].where, SourceLine("user.cc", 42));
  EXPECT_NO_THROW(verify(graph));
}

TEST(Builder, TheCallersMistakesCarryTheUsersLine) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input(pair_type), y = builder.input({DType::f32, {3}});
  builder.set_where({"user.cc", 7});
  try {
    builder.call1(toy::blend, {x, y}, pack(toy::EveryKind{}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::shape_mismatch);
    EXPECT_EQ(error.where(), SourceLine("user.cc", 7));
  }
  EXPECT_TRUE(graph.nodes().empty()) << "a refused call leaves no trace";
}

TEST(Builder, RefusesValuesOfAnotherGraph) {
  Graph one, two;
  Builder first(one), second(two);
  const Var x = first.input(pair_type);
  EXPECT_THROW(second.call(toy::two, std::vector{x}), InternalError);
  EXPECT_THROW(second.call(toy::two, std::vector{Var()}), InternalError);
}

TEST(Var, IsEmptyUntilItHoldsAValue) {
  EXPECT_FALSE(Var());
  Graph graph;
  Builder builder(graph);
  EXPECT_TRUE(builder.input(pair_type));
}

TEST(Builder, InlinesAGraphWithNamesAndLines) {
  Graph inner;
  Builder inner_builder(inner);
  const Var a = inner_builder.input(pair_type), b = inner_builder.input(pair_type);
  inner_builder.set_where({"inner.cc", 1});
  const Var h = inner_builder.call1(toy::blend, {a, b}, pack(toy::EveryKind{.scale = 2}));
  inner[h.id()].name = "h";
  inner.add_output(h.id());
  inner.add_output(a.id());

  Graph outer;
  Builder builder(outer);
  const Var x = builder.input(pair_type, "x");
  const std::vector<Var> once = inline_graph(builder, inner, std::vector{x, x});
  const std::vector<Var> twice = inline_graph(builder, inner, once);
  outer.add_output(twice[0].id());
  EXPECT_EQ(once[1].id(), x.id());
  EXPECT_EQ(print(outer),
            "graph(%x: f32[2]) -> (f32[2]) {\n"
            "  %h = blend(%x, %x) {scale = 2.0} : f32[2]  @ \"inner.cc\":1\n"
            "  %h#2 = blend(%h, %x) {scale = 2.0} : f32[2]  @ \"inner.cc\":1\n"
            "  return %h#2\n"
            "}\n");
  EXPECT_NO_THROW(verify(outer));
}

}  // namespace
}  // namespace tidemark
