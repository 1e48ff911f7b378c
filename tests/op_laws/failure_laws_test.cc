// Whether a call can fail while a plan runs is a fact of its op (ir/failure.h), on which donated state rests.
// So kernels are given operands that no sample has, and what they do is held against what the facts say.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/law_case.h"
#include "tidemark/ir/failure.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/registry.h"

namespace tidemark::testing {
namespace {

constexpr std::byte untouched{0x5a};

class FailureLaws : public ::testing::TestWithParam<const Op*> {
 protected:
  std::vector<LawCase> cases() const {
    return runs_on_cpu(*GetParam()) ? cases_of(*GetParam()) : std::vector<LawCase>{};
  }
};

Literal all_of(const Literal& like, double value) {
  return literal_of(like.dtype, like.shape,
                    std::vector<double>(static_cast<std::size_t>(element_count(like.shape)), value));
}

// Matrices that are singular or nothing at all, indices that point outside.
std::vector<double> hostile_values(const LawCase& law, DType dtype) {
  if (is_float(dtype)) return {0, -1, nan};
  // Integers beside regions count steps, which nobody but the library itself writes.
  if (!is_integer(dtype) || !law.regions.empty()) return {};
  return {dtype == DType::u8 ? 255.0 : -1.0, 100};
}

Failure failure_of(const LawCase& law) {
  const Graph graph = law.graph();
  return tidemark::failure_of(NodeCall(graph, graph.nodes().front()));
}

TEST_P(FailureLaws, FailsOnlyWhereItsFactsSaySo) {
  bool says_so = false, failed = false;
  for (const LawCase& law : cases()) {
    const Failure failure = failure_of(law);
    const auto operands = law.operands();
    for (std::size_t o = 0; o < operands.size(); ++o) {
      if (operands[o].bytes.empty()) continue;
      const auto values = hostile_values(law, operands[o].dtype);
      says_so = says_so || (failure.when != Fails::never && !values.empty());
      for (double value : values) {
        auto hostile = operands;
        hostile[o] = all_of(operands[o], value);
        const KernelRun run = law.run(hostile, {.fill = untouched, .may_fail = true});
        EXPECT_EQ(run.broken, "") << law.name();
        if (run.failure.empty()) continue;
        failed = true;
        EXPECT_NE(failure.when, Fails::never) << law.name() << " has no row `fails`: " << run.failure;
        if (failure.when != Fails::early) continue;
        for (const Literal& result : run.results) {
          EXPECT_TRUE(std::ranges::all_of(result.bytes, [](std::byte b) { return b == untouched; }))
              << law.name() << " wrote before it failed: " << run.failure;
        }
      }
    }
  }
  EXPECT_TRUE(failed || !says_so) << GetParam()->name << " says that it can fail, and never did";
}

TEST_P(FailureLaws, ChecksIndicesAsItsFactsSay) {
  for (const LawCase& law : cases()) {
    const std::optional<IndexCheck> check = failure_of(law).check;
    if (!check) continue;
    auto operands = law.operands();
    Literal& checked = operands[static_cast<std::size_t>(check->operand)];
    if (checked.bytes.empty()) continue;
    for (std::int64_t index : {std::int64_t{-1}, std::int64_t{0}, check->bound - 1, check->bound,
                               check->except.value_or(check->bound + 1)}) {
      checked = all_of(checked, static_cast<double>(index));
      const bool allowed = (index >= 0 && index < check->bound) || index == check->except;
      EXPECT_EQ(law.run(operands, {.may_fail = true}).failure.empty(), allowed)
          << law.name() << ", index " << index;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, FailureLaws, ::testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tidemark::testing
