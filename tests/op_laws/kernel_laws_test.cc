// What a kernel promises, for every op on every dtype it takes, without a line of test code per op.
#include <gtest/gtest.h>

#include "tests/support/law_case.h"
#include "tests/support/test_target.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/registry.h"

namespace tidemark::testing {
namespace {

class KernelLaws : public ::testing::TestWithParam<const Op*> {
 protected:
  // Cases the CPU can run.
  std::vector<LawCase> cases() const {
    return runs_on_cpu(*GetParam()) ? cases_of(*GetParam()) : std::vector<LawCase>{};
  }
};

void expect_same(const std::vector<Literal>& a, const std::vector<Literal>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(bit_difference(a[i], b[i]), "") << what << ", result " << i;
  }
}

TEST_P(KernelLaws, EveryOpHasSamplesAndFacts) {
  const Op& op = *GetParam();
  EXPECT_FALSE(op.name.empty());
  ASSERT_NE(op.infer, nullptr);
  if (runs_on_cpu(op)) {
    EXPECT_FALSE(cases_of(op).empty()) << op.name << " has a kernel and no samples";
  }
  EXPECT_EQ(find_op(op.name), &op);
}

TEST_P(KernelLaws, WritesAllOfItsResultsAndNothingElse) {
  for (const LawCase& law : cases()) {
    const auto operands = law.operands();
    const KernelRun zeros = law.run(operands, {.fill = std::byte{0}});
    const KernelRun ones = law.run(operands, {.fill = std::byte{0xFF}});
    EXPECT_EQ(zeros.broken, "") << law.name();
    expect_same(zeros.results, ones.results, law.name() + ", other memory contents before");
  }
}

TEST_P(KernelLaws, GivesTheSameBitsInPlace) {
  for (const LawCase& law : cases()) {
    const Graph graph = law.graph();
    const NodeCall call(graph, graph.nodes().front());
    const auto operands = law.operands();
    const KernelRun apart = law.run(operands, {.threads = 2});
    for (int r = 0; r < static_cast<int>(call.out.size()); ++r) {
      for (int o = 0; o < static_cast<int>(call.in.size()); ++o) {
        if (!test_target().may_overwrite(call, r, o)) continue;
        ASSERT_EQ(call.in[static_cast<std::size_t>(o)].bytes(),
                  call.out[static_cast<std::size_t>(r)].bytes());
        expect_same(apart.results, law.run(operands, {.threads = 2, .result = r, .over = o}).results,
                    fmt::format("{}, result {} over operand {}", law.name(), r, o));
      }
    }
  }
}

TEST_P(KernelLaws, TakesStridedOperandsWhereItSaysSo) {
  for (const LawCase& law : cases()) {
    const Graph graph = law.graph();
    const NodeCall call(graph, graph.nodes().front());
    const auto operands = law.operands();
    const KernelRun dense = law.run(operands);
    for (int o = 0; o < static_cast<int>(call.in.size()); ++o) {
      if (!test_target().takes_strides(call, o)) continue;
      for (bool backwards : {false, true}) {  // with gaps, or against the order of memory
        std::vector<OperandLayout> layouts;
        for (const Type& type : call.in) layouts.push_back(dense_layout(type.shape));
        for (std::int64_t& stride : layouts[static_cast<std::size_t>(o)].strides)
          stride *= backwards ? -3 : 2;
        const KernelRun strided = law.run(operands, {.threads = 2, .layouts = layouts});
        EXPECT_EQ(strided.broken, "") << law.name();
        expect_same(dense.results, strided.results,
                    fmt::format("{}, operand {} strided{}", law.name(), o, backwards ? " backwards" : ""));
      }
    }
  }
}

TEST_P(KernelLaws, ViewsShowWhatTheKernelWouldCopy) {
  for (const LawCase& law : cases()) {
    if (!law.op->view) continue;
    const Graph graph = law.graph();
    const NodeCall call(graph, graph.nodes().front());
    const auto operands = law.operands();
    const KernelRun copied = law.run(operands);
    for (int r = 0; r < static_cast<int>(call.out.size()); ++r) {
      const std::optional<ViewSpec> view = law.op->view(call, r);
      if (!view) continue;
      const Type& type = call.out[static_cast<std::size_t>(r)];
      const Literal& base = operands[static_cast<std::size_t>(view->operand)];
      const auto size = static_cast<std::size_t>(size_of(type.dtype));
      Literal seen{type.dtype, type.shape, {}};
      for (std::int64_t i = 0; i < type.count(); ++i) {
        const std::int64_t at = view->offset + offset_of(type.shape, view->strides, i);
        ASSERT_GE(at, 0) << law.name();
        ASSERT_LT(at, element_count(base.shape)) << law.name();
        const auto first =
            base.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(at) * size);
        seen.bytes.insert(seen.bytes.end(), first, first + static_cast<std::ptrdiff_t>(size));
      }
      EXPECT_EQ(bit_difference(seen, copied.results[static_cast<std::size_t>(r)]), "") << law.name();
    }
  }
}

TEST_P(KernelLaws, CostsAreFiniteAndNotNegative) {
  for (const LawCase& law : cases_of(*GetParam())) {
    const Graph graph = law.graph();
    const NodeCall call(graph, graph.nodes().front());
    const Cost cost = test_target().cost(call);
    EXPECT_GE(cost.flops, 0) << law.name();
    EXPECT_GE(cost.bytes, 0) << law.name();
    EXPECT_GE(test_target().scratch(call), 0) << law.name();
  }
}

TEST_P(KernelLaws, TheTextFormReadsBackAsTheSameGraph) {
  for (const LawCase& law : cases_of(*GetParam())) {
    const std::string text = print(law.graph());
    EXPECT_EQ(print(parse(text, {.find = find_op})), text) << law.name();
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, KernelLaws, ::testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tidemark::testing
