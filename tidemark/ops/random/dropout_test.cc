#include "tidemark/ops/random/dropout.h"

#include "tests/support/op_rules.h"
#include "tidemark/ops/indexing/embedding.h"
#include "tidemark/ops/random/random.h"

namespace tidemark {
namespace {

using namespace testing;

Graph dropout_graph(double rate, const Shape& shape) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f64, shape});
  graph.add_output(dropout(x, rate, random_key(builder, 42)).id());
  return graph;
}

TEST(Dropout, KeepsTheExpectedShareAndScalesIt) {
  const auto y = values_of(
      run(dropout_graph(0.25, {20000}), {literal_of(DType::f64, {20000}, std::vector<double>(20000, 3))})[0]);
  double kept = 0;
  for (double v : y) {
    EXPECT_TRUE(v == 0 || v == 4) << v;
    kept += v != 0;
  }
  EXPECT_NEAR(kept / 20000, 0.75, 0.01);
}

TEST(Dropout, GradientPassesWhereTheElementStayed) {
  const Graph gradient = vjp_of_floats(dropout_graph(0.5, {1000}));
  const auto results = run(gradient, {literal_of(DType::f64, {1000}, std::vector<double>(1000, 1)),
                                      literal_of(DType::f64, {1000}, std::vector<double>(1000, 1))});
  EXPECT_EQ(values_of(results[0]), values_of(results[1]));
}

TEST(Dropout, RateZeroIsTheOperandItself) {
  EXPECT_EQ(dropout_graph(0, {3}).outputs().front(), dropout_graph(0, {3}).inputs().front().value);
}

TEST(Dropout, RateOutsideOfItsRangeIsAnError) {
  for (double rate : {-0.1, 1.0, 2.0, static_cast<double>(NAN)}) {
    EXPECT_EQ(code_of([&] { dropout_graph(rate, {3}); }), ErrorCode::bad_attribute);
  }
}

TEST(Embedding, TakesRowsOfTheTable) {
  Graph graph;
  Builder builder(graph);
  const Var table = builder.input({DType::f32, {3, 2}}), positions = builder.input({DType::i64, {2, 2}});
  graph.add_output(embedding(table, positions).id());
  const Literal result = run(graph, {literal_of(DType::f32, {3, 2}, {0, 1, 10, 11, 20, 21}),
                                     literal_of(DType::i64, {2, 2}, {2, 0, 1, 2})})[0];
  EXPECT_EQ(result.shape, (Shape{2, 2, 2}));
  EXPECT_EQ(values_of(result), (std::vector<double>{20, 21, 0, 1, 10, 11, 20, 21}));
}

}  // namespace
}  // namespace tidemark
