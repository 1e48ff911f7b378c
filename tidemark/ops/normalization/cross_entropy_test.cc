#include "tidemark/ops/normalization/cross_entropy.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/op_rules.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(CrossEntropy, EqualsThePlainFormulaForEveryDtype) {
  const std::pair<DType, double> dtypes[] = {
      {DType::f64, 1e-14}, {DType::f32, 1e-6}, {DType::bf16, 1e-6}, {DType::f16, 1e-6}};
  for (auto [dtype, tolerance] : dtypes) {
    for (std::int64_t classes : {1, 2, 5, 16, 1003}) {
      const Literal logits = random_literal(dtype, {6, classes}, 3, -4, 4);
      const Literal labels =
          random_literal(classes > 5 ? DType::i32 : DType::i64, {6}, 4, 0, static_cast<double>(classes));
      const Literal g = random_literal(dtype == DType::f64 ? DType::f64 : DType::f32, {6}, 5, -2, 2);
      const auto x = values_of(logits), y = values_of(labels), gn = values_of(g);
      std::vector<double> loss, logsumexp, gradient;
      for (std::size_t r = 0; r < 6; ++r) {
        const double* row = x.data() + r * static_cast<std::size_t>(classes);
        double total = 0;
        for (std::int64_t c = 0; c < classes; ++c) total += std::exp(row[c]);
        logsumexp.push_back(std::log(total));
        loss.push_back(std::log(total) - row[static_cast<std::size_t>(y[r])]);
        for (std::int64_t c = 0; c < classes; ++c) {
          gradient.push_back((std::exp(row[c]) / total - (c == static_cast<std::int64_t>(y[r]))) * gn[r]);
        }
      }
      const auto results = run(op::cross_entropy, {logits, labels}, pack(CrossEntropyAttrs{}));
      EXPECT_EQ(results[0].dtype, g.dtype);
      expect_near(values_of(results[0]), loss, tolerance);
      expect_near(values_of(results[1]), logsumexp, tolerance);
      const auto dx =
          run(op::cross_entropy_grad, {logits, labels, results[1], g}, pack(CrossEntropyAttrs{}))[0];
      EXPECT_EQ(dx.dtype, dtype);
      expect_near(values_of(dx), gradient, size_of(dtype) == 2 ? 5e-3 : tolerance);
    }
  }
}

TEST(CrossEntropy, IsStableFarOut) {
  const Literal logits = literal_of(DType::f32, {2, 3}, {1e4, -1e4, 0, 1e4, -1e4, 0});
  const auto results =
      run(op::cross_entropy, {logits, literal_of(DType::i64, {2}, {0, 1})}, pack(CrossEntropyAttrs{}));
  expect_near(values_of(results[0]), {0, 2e4}, 1e-6);
}

TEST(CrossEntropy, IgnoredExamplesCostNothing) {
  const Literal logits = random_literal(DType::f64, {3, 4}, 1, -2, 2),
                labels = literal_of(DType::i64, {3}, {1, -100, 2});
  const Attrs attrs = pack(CrossEntropyAttrs{.ignore = true, .ignore_index = -100});
  const auto results = run(op::cross_entropy, {logits, labels}, attrs);
  EXPECT_EQ(values_of(results[0])[1], 0);
  EXPECT_GT(values_of(results[0])[0], 0);
  const auto dx =
      values_of(run(op::cross_entropy_grad,
                    {logits, labels, results[1], literal_of(DType::f64, {3}, {1, 1, 1})}, attrs)[0]);
  for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(dx[4 + c], 0);
  EXPECT_NE(dx[0], 0);
}

TEST(CrossEntropy, ALabelOutOfRangePointsAtTheUsersLine) {
  for (double label : {-1.0, 4.0}) {
    Graph graph;
    Builder builder(graph);
    builder.set_where({"train.cpp", 88});
    const Var logits = builder.input({DType::f32, {2, 4}}), labels = builder.input({DType::i32, {2}});
    graph.add_output(cross_entropy(logits, labels).loss.id());
    try {
      run(graph, {random_literal(DType::f32, {2, 4}, 1, -2, 2), literal_of(DType::i32, {2}, {0, label})});
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::index_out_of_range);
      EXPECT_EQ(error.where(), SourceLine("train.cpp", 88));
      EXPECT_THAT(error.what(), HasSubstr("of example 1"));
    }
  }
}

TEST(CrossEntropy, SaysWhatIsWrongWithItsTypes) {
  const auto code = [](const Literal& logits, const Literal& labels) {
    return code_of([&] { run(op::cross_entropy, {logits, labels}, pack(CrossEntropyAttrs{})); });
  };
  EXPECT_EQ(code(random_literal(DType::f32, {2, 3}), random_literal(DType::i64, {3})),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(code(random_literal(DType::f32, {2, 3}), random_literal(DType::f32, {2})),
            ErrorCode::dtype_mismatch);
  EXPECT_EQ(code(random_literal(DType::f32, {}), random_literal(DType::i64, {})), ErrorCode::shape_mismatch);
}

TEST(CrossEntropy, RulesFollowTheExpansions) {
  expect_rules_follow_expansion(op::cross_entropy);
  expect_rules_follow_expansion(op::cross_entropy_grad);
}

}  // namespace
}  // namespace tidemark
