// Random programs whose rules read copies in random forms: what the forward pass computes keeps its bits, and
// the gradients have the same bits however they run.
#include <gtest/gtest.h>

#include "tests/programs/check.h"
#include "tests/support/sanitized.h"
#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/autodiff/residuals.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/interpret.h"

namespace tidemark::testing {
namespace {

ResidualChoice random_forms(const Graph& marked, Draw draw) {
  ResidualChoice choice;
  for (const Residual& residual : residuals_of(marked)) {
    const auto at = static_cast<int>(draw.bits() % (quant_format_count + 3));
    const std::optional<Form> exact = exact_form_of(*residual.graph, residual.value);
    choice.emplace_back();
    if (at < quant_format_count) choice.back() = static_cast<QuantFormat>(at);
    if (at % 2 == 1 && at < quant_format_count && residual.has_neighbour)
      choice.back() = Delta{static_cast<QuantFormat>(at)};
    if (at == quant_format_count) choice.back() = LowRank{2};
    if (exact && at % 2 == 0) choice.back() = exact;
  }
  return choice;
}

// With its loops in segments, and from one state each; "" if the bits are the same.
std::string difference_reversed_otherwise(const GraphCase& program) {
  if (!loop_memory_range(program.graph).any) return "";
  ThreadPool pool(2);
  const std::vector<Literal> expected = interpret(prepare_graph(program.graph), program.inputs, pool);
  LoopMemory segments;
  segments.each.segments = 3;
  for (const LoopMemory& way : {segments, LoopMemory(0)}) {
    const Graph other = prepare_graph(program.graph, {}, nullptr, way);
    std::string text = bit_difference(interpret(other, program.inputs, pool), expected, NaNs::alike);
    if (!text.empty()) return text;
  }
  return "";
}

bool has_deltas(const ResidualChoice& forms) {
  return std::ranges::any_of(forms,
                             [](const auto& form) { return form && std::holds_alternative<Delta>(*form); });
}

class LossyPrograms : public ::testing::TestWithParam<int> {};

TEST_P(LossyPrograms, KeepTheForwardPassAndHaveTheSameBitsHoweverTheyRun) {
  constexpr unsigned share = 60;
  int with_copies = 0, with_deltas = 0;
  for (unsigned k = 0; k < seeds(share); ++k) {
    const std::uint64_t seed = 1'000'000 + static_cast<unsigned>(GetParam()) * share + k;
    SCOPED_TRACE(seed);
    const RandomFunction function(seed);
    GraphCase exact, marked;
    std::vector<Literal> expected;
    std::size_t forward_results = 0;
    try {
      const GraphCase forward = graph_of(function, Part::gradient);
      forward_results = forward.graph.outputs().size();
      exact = with_gradients(forward);
      const MarkedReads reads(StandIns::lossy);
      marked = with_gradients(forward);
      expected = run_as_written(exact);
    } catch (const Error&) {
      continue;  // it has no gradient, or what it was given is the caller's mistake
    }
    Draw draw = Draw(seed).branch(30);
    const ResidualChoice forms = random_forms(marked.graph, draw.branch(1));
    const GraphCase lowered{lower_residuals(marked.graph, forms), marked.inputs};
    std::vector<Literal> all = run_as_written(lowered);
    ASSERT_EQ(all.size(), expected.size());
    all.resize(forward_results);
    expected.resize(forward_results);
    ASSERT_EQ(bit_difference(all, expected, NaNs::alike), "");
    with_copies += std::ranges::any_of(forms, [](const auto& form) { return form.has_value(); });
    ASSERT_EQ(difference_reversed_otherwise(lowered), "");
    with_deltas += has_deltas(forms);
    Trials trials(lowered);
    for (const Variation& variation :
         {Variation{.threads = 3}, Variation{.threads = 1, .budget = 0}, Variation{.threads = 2, .budget = 2},
          Variation{.threads = 1, .budget = 1, .donated = draw.bits()}}) {
      ASSERT_EQ(trials.run(variation), "") << variation.text();
    }
  }
  if (!few) {
    EXPECT_GT(with_copies, static_cast<int>(share) / 3);
    if (GetParam() == 0) EXPECT_GT(with_deltas, 0);  // few programs have loops that can carry one
  }
}

INSTANTIATE_TEST_SUITE_P(Quarters, LossyPrograms, ::testing::Range(0, 4));

}  // namespace
}  // namespace tidemark::testing
