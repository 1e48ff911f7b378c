#include "tidemark/trace/trace.h"

#include <gtest/gtest.h>

#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

TEST(Trace, OperationsOnDataRunAtOnce) {
  const Tensor x = tensor<float>({1, 2, 3});
  EXPECT_EQ((x * x + 1).to_vector(), (std::vector<double>{2, 5, 10}));
  EXPECT_EQ((2 - x).to_vector(), (std::vector<double>{1, 0, -1}));
  EXPECT_EQ((x > 1.5).dtype(), DType::boolean);
}

TEST(Trace, CapturedTensorsBecomeInputsOnce) {
  const Tensor w = tensor<double>({2, 3});
  const auto call =
      trace_call([&](Tensor x) { return sum(x * w + w); }, std::tuple(tensor<double>({1, 1})), {});
  ASSERT_EQ(call.graph->inputs().size(), 2u);
  EXPECT_EQ(call.inputs[1].storage(), w.storage());
  for (const Node& node : call.graph->nodes()) EXPECT_NE(node.op->name, "constant") << "data was baked in";
}

TEST(Trace, NodesKnowTheLineTheyWereWrittenOn) {
  const auto call = trace_call([](Tensor x) { return sin(x) + x; }, std::tuple(scalar(1)), {});
  for (const Node& node : call.graph->nodes()) {
    EXPECT_EQ(short_form(node.where), "trace_test.cc:" + std::to_string(__LINE__ - 2));
  }
}

TEST(Trace, ATensorThatEscapedItsTraceIsRefused) {
  Tensor escaped;
  grad([&](Tensor x) {
    escaped = x * 2;
    return sum(escaped);
  })(tensor<double>({1, 2}));
  EXPECT_TRUE(escaped.is_traced());
  try {
    const Tensor y = escaped + 1;
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::foreign_tensor);
    EXPECT_EQ(short_form(error.where()), "trace_test.cc:" + std::to_string(__LINE__ - 4));
  }
  EXPECT_THROW(grad([&](Tensor x) { return sum(x * escaped); })(tensor<double>({1, 2})), Error);
}

TEST(Trace, ValuesOfTracedTensorsCannotBeRead) {
  const auto f = [](Tensor x) { return x.item() > 0 ? x : -x; };
  try {
    grad(f)(scalar(1));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::traced_value_read);
  }
}

TEST(Trace, MistakesCarryTheUsersLine) {
  const Tensor x = zeros({2, 3}), y = zeros({4}), i = arange(3);
  const auto expect_error = [](ErrorCode code, int line, auto&& f) {
    try {
      f();
      ADD_FAILURE() << "no error at line " << line;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_EQ(short_form(error.where()), "trace_test.cc:" + std::to_string(line)) << error.what();
    }
  };
  expect_error(ErrorCode::shape_mismatch, __LINE__, [&] { return x + y; });
  expect_error(ErrorCode::shape_mismatch, __LINE__, [&] { return matmul(x, y); });
  expect_error(ErrorCode::dtype_mismatch, __LINE__, [&] { return x * i; });
  expect_error(ErrorCode::dtype_mismatch, __LINE__, [&] { return i * 0.5; });
  expect_error(ErrorCode::shape_mismatch, __LINE__, [&] { return reshape(x, {4, -1}); });
  expect_error(ErrorCode::index_out_of_range, __LINE__, [&] { return sum(x, {2}); });
  expect_error(ErrorCode::index_out_of_range, __LINE__, [&] { return take(x, i, 0); });
  const auto total = [](Tensor t) { return sum(t); };
  const auto twice = [](Tensor t) { return t * 2; };
  expect_error(ErrorCode::not_differentiable, __LINE__, [&] { return grad(total)(i); });
  expect_error(ErrorCode::loss_not_scalar, __LINE__, [&] { return grad(twice)(x); });
  expect_error(ErrorCode::dtype_mismatch, __LINE__, [&] { return x.data<double>(); });
}

TEST(CrossEntropy, TheOptionThatItsHelpNamesCanBeGiven) {
  const Tensor logits = zeros({2, 3}), labels = tensor<std::int32_t>({-1, 0});
  try {
    cross_entropy(logits, labels);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(error.parts().help.find("{.ignore = true, .ignore_index = -1}"), std::string::npos)
        << error.what();
  }
  const std::vector<double> losses =
      cross_entropy(logits, labels, {.ignore = true, .ignore_index = -1}).to_vector();
  EXPECT_EQ(losses[0], 0);
  EXPECT_GT(losses[1], 1);
}

}  // namespace
}  // namespace tidemark
