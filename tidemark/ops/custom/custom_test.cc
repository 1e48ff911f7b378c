#include "tidemark/ops/custom/custom.h"

#include <gmock/gmock.h>

#include "tests/support/op_rules.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

using namespace testing;
using ::testing::HasSubstr;

CustomRules cube_rules() {
  return {.name = "cube",
          .infer = [](std::span<const Type> in) { return std::vector<Type>{in[0]}; },
          .kernel =
              [](std::span<const TensorRef> in, std::span<const TensorRef> out) {
                for (std::int64_t i = 0; i < in[0].count(); ++i) {
                  const double x = in[0].as<double>()[i];
                  out[0].as<double>()[i] = x * x * x;
                }
              },
          .vjp = [](const RuleCall& r) { return std::vector<Var>{3 * r.seed[0] * r.in[0] * r.in[0]}; }};
}

Graph call_graph(const Op& op) {
  Graph graph;
  Builder builder(graph);
  builder.set_where({"train.cpp", 12});
  const Var x = builder.input({DType::f64, {3}});
  graph.add_output(builder.call1(op, {x}).id());
  return graph;
}

TEST(Custom, RunsTheUsersKernelAndRule) {
  const Graph graph = call_graph(make_custom_op(cube_rules()));
  const Literal x = literal_of(DType::f64, {3}, {1, 2, 3});
  EXPECT_EQ(values_of(run(graph, {x})[0]), (std::vector<double>{1, 8, 27}));
  EXPECT_EQ(values_of(run(vjp_of_floats(graph), {x, literal_of(DType::f64, {3}, {1, 1, 2})})[1]),
            (std::vector<double>{3, 12, 54}));
}

TEST(Custom, TheRuleCanBeDifferentiatedAgain) {
  const Graph second = vjp_of_floats(vjp_of_floats(call_graph(make_custom_op(cube_rules()))));
  std::vector<Literal> operands = {literal_of(DType::f64, {3}, {1, 2, 3})};
  for (std::size_t i = 1; i < second.inputs().size(); ++i)
    operands.push_back(literal_of(DType::f64, {3}, {1, 1, 1}));
  // d/dx of x³ + 3x² with seeds of one
  EXPECT_EQ(values_of(run(second, operands)[2]), (std::vector<double>{9, 24, 45}));
}

TEST(Custom, AGradientWithoutARuleNamesTheOp) {
  CustomRules rules = cube_rules();
  rules.vjp = nullptr;
  const Graph graph = call_graph(make_custom_op(rules));
  try {
    vjp_of_floats(graph);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_differentiable);
    EXPECT_EQ(error.where(), SourceLine("train.cpp", 12));
    EXPECT_THAT(error.what(), HasSubstr("cube"));
  }
}

TEST(Custom, ADerivativeDeclaredZeroStopsGradients) {
  CustomRules rules = cube_rules();
  rules.vjp = nullptr;
  rules.derivative = Derivative::zero;
  const Graph gradient = vjp_of_floats(call_graph(make_custom_op(rules)));
  const Literal x = literal_of(DType::f64, {3}, {1, 2, 3});
  EXPECT_EQ(values_of(run(gradient, {x, x})[1]), (std::vector<double>{0, 0, 0}));
}

TEST(Custom, IncompleteRulesAreRefused) {
  CustomRules rules = cube_rules();
  rules.name = "";
  EXPECT_EQ(code_of([&] { make_custom_op(rules); }), ErrorCode::bad_attribute);
  rules = cube_rules();
  rules.name = "softmax";
  EXPECT_EQ(code_of([&] { make_custom_op(rules); }), ErrorCode::bad_attribute);
  rules = cube_rules();
  rules.kernel = nullptr;
  EXPECT_EQ(code_of([&] { make_custom_op(rules); }), ErrorCode::bad_attribute);
}

TEST(Custom, KeepsItsEffectAndTheNameOfItsDomain) {
  CustomRules rules = cube_rules();
  std::string domain = "a domain that is longer than a short string";
  rules.effect = {.domain = domain, .on_replay = OnReplay::refuse};
  const Op& op = make_custom_op(rules);
  domain.assign(domain.size(), 'x');
  EXPECT_EQ(op.effect.domain, "a domain that is longer than a short string");
  EXPECT_EQ(op.effect.on_replay, OnReplay::refuse);
  EXPECT_FALSE(make_custom_op(cube_rules()).effect.exists());
}

TEST(Custom, EffectsThatContradictThemselvesAreRefused) {
  const auto message = [](Effect effect, Replay replay) -> std::string {
    CustomRules rules = cube_rules();
    rules.effect = effect;
    rules.replay = replay;
    try {
      make_custom_op(rules);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_attribute);
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(message({.domain = "", .on_replay = OnReplay::repeat}, Replay::exact),
              HasSubstr("its effect has no domain"));
  EXPECT_THAT(message({.domain = "io", .on_replay = OnReplay::repeat}, Replay::never),
              HasSubstr("may be repeated and its results may not"));
  EXPECT_EQ(message({.domain = "io"}, Replay::never), "");
}

}  // namespace
}  // namespace tidemark
