// What `explain` says of a plan is true: each alternative is made, run, and held to the figures that were
// given for it.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/sanitized.h"
#include "tests/support/test_target.h"
#include "tests/support/tiny_models.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/explain_alternatives.h"
#include "tidemark/engine/explain_plan.h"
#include "tidemark/engine/program.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/plan/costs.h"
#include "tidemark/plan/report/frontier.h"
#include "tidemark/plan/report/plan_edits.h"
#include "tidemark/plan/verify/verify.h"

namespace tidemark {
namespace {

constexpr double effort = 0.01;
using Bits = std::vector<std::vector<std::byte>>;

Bits run_once(const Graph& graph, const Plan& plan, const tiny::TinyModel& model) {
  Program program(graph, plan, std::make_shared<Workspace>(default_device()));
  const std::vector<Tensor> outputs = program.run(model.inputs(), {});
  EXPECT_EQ(program.arena_high_water(), plan.arena_bytes);
  Bits bits;
  for (const Tensor& t : outputs) bits.emplace_back(t.bytes(), t.bytes() + t.type().bytes());
  return bits;
}

double predicted(const Graph& graph, const Plan& plan) {
  double seconds = 0;
  for (const KernelCost& kernel : kernel_costs(graph, plan, test_target(), reference_machine()))
    seconds += kernel.seconds;
  return seconds;
}

// Alternatives that were looked at, of all.
struct Checked {
  int edited = 0, recomputed = 0, kept = 0;
};

// Every alternative by a change of the plan, made again, run, and held to what was said of it.
Checked check_edits(const tiny::TinyModel& model, const Graph& graph, const Plan& plan,
                    const PlanOptions& options) {
  Checked checked;
  const Explanation explanation = explain_plan(graph, plan, options, {.top = few ? 3u : 10u});
  const Bits expected = run_once(graph, plan, model);
  const PlanEdits edits(graph, plan, test_target(), reference_machine());
  EXPECT_TRUE(edits.possible()) << model.name;
  for (const ExplainedValue& value : explanation.values) {
    if (value.region != 0) continue;
    for (const Alternative& other : value.alternatives) {
      if (other.basis != Basis::edited) continue;
      const std::string what = fmt::format("{} %{} {}", model.name, value.value, name_of(other.decision));
      const bool again = other.decision == Decision::recomputed;
      const EditedPlan edited =
          again ? edits.recomputed(ValueId(value.value)) : edits.kept(ValueId(value.value));
      EXPECT_TRUE(edited.plan) << what << ": " << edited.why_not;
      if (!edited.plan) continue;
      EXPECT_EQ(edited.plan->peak(), plan.peak() + other.peak_change) << what;
      EXPECT_EQ(other.fits, plan.budget == 0 || edited.plan->peak() <= plan.budget) << what;
      EXPECT_NEAR(predicted(graph, *edited.plan), plan.seconds + other.seconds_change, 1e-9 * plan.seconds)
          << what;
      EXPECT_TRUE(run_once(graph, *edited.plan, model) == expected) << what << ": other bits";
      const NodeId maker = graph[ValueId(value.value)].producer;
      const auto runs = [&](const Plan& p) { return std::ranges::count(p.steps, maker, &Step::node); };
      EXPECT_TRUE(again ? runs(*edited.plan) > runs(plan) : runs(*edited.plan) == 1) << what;
      ++checked.edited;
      ++(again ? checked.recomputed : checked.kept);
    }
  }
  return checked;
}

void check_model(const tiny::TinyModel& model) {
  const Graph graph = prepare_graph(model.step);
  const Plan free = make_plan(graph, test_target(), {.effort = effort});
  const Plan smallest = smallest_plan(graph, test_target(), {.effort = effort});
  Checked all = check_edits(model, graph, free, {.effort = effort});
  EXPECT_GT(all.recomputed, 0) << model.name << " without a budget";
  EXPECT_EQ(all.kept, 0) << model.name << ": without a budget all is kept";
  const PlanOptions options{.memory = (smallest.budget + free.peak()) / 2, .effort = effort};
  const Checked within = check_edits(model, graph, make_plan(graph, test_target(), options), options);
  EXPECT_GT(within.edited, 0) << model.name;
}

TEST(Explain, AnMlpsAlternativesAreWhatTheyAreSaidToBe) { check_model(tiny::mlp()); }
TEST(Explain, AGptsAlternativesAreWhatTheyAreSaidToBe) { check_model(tiny::gpt()); }
TEST(Explain, AResNetsAlternativesAreWhatTheyAreSaidToBe) { check_model(tiny::resnet18(2, 16, 4)); }
TEST(Explain, AUNetsAlternativesAreWhatTheyAreSaidToBe) { check_model(tiny::unet()); }
TEST(Explain, AnLstmsAlternativesAreWhatTheyAreSaidToBe) { check_model(tiny::lstm(6)); }

// The demo's model in small: its ten largest values, each alternative planned by itself from a hint.
TEST(Explain, PlannedAlternativesOfAGptAreThoseOfItsHints) {
  const tiny::TinyModel model = tiny::gpt();
  const Graph graph = prepare_graph(model.step);
  const Plan free = make_plan(graph, test_target(), {.effort = effort});
  const Plan smallest = smallest_plan(graph, test_target(), {.effort = effort});
  const PlanOptions options{.memory = (smallest.budget + free.peak()) / 2, .effort = effort};
  const Plan plan = make_plan(graph, test_target(), options);
  const Bits expected = run_once(graph, plan, model);
  const Explanation explanation = explain_plan(graph, plan, options, {.top = few ? 2u : 10u, .force = true});
  ASSERT_EQ(explanation.values.size(), few ? 2u : 10u);
  int planned = 0;
  for (const ExplainedValue& value : explanation.values) {
    for (const Alternative& other : value.alternatives) {
      if (other.basis != Basis::planned) continue;
      const std::string what = fmt::format("%{} {}", value.value, name_of(other.decision));
      Graph hinted = graph;
      hinted.add_hint({.kind = other.decision == Decision::kept ? HintKind::keep : HintKind::recompute,
                       .value = ValueId(value.value)});
      const Result<Plan, Infeasible> found = try_plan(hinted, test_target(), options);
      const Plan& there = found ? found.value() : found.error().smallest;
      EXPECT_EQ(static_cast<bool>(found), other.fits) << what;
      EXPECT_EQ(there.peak(), plan.peak() + other.peak_change) << what;
      EXPECT_NEAR(there.seconds, plan.seconds + other.seconds_change, 1e-9 * plan.seconds) << what;
      EXPECT_TRUE(run_once(hinted, there, model) == expected) << what << ": other bits";
      ++planned;
    }
  }
  EXPECT_GT(planned, 0);
}

TEST(Explain, TheSamePlanIsExplainedTheSame) {
  const tiny::TinyModel model = tiny::gpt();
  const Graph graph = prepare_graph(model.step);
  const std::int64_t peak = make_plan(graph, test_target(), {.effort = effort}).peak();
  const PlanOptions options{.memory = peak * 49 / 50, .effort = effort};
  const Plan plan = make_plan(graph, test_target(), options);
  EXPECT_EQ(to_json(explain_plan(graph, plan, options)), to_json(explain_plan(graph, plan, options)));
}

// Thousands of values, and all that is asked for of a few of them.
TEST(Explain, ALargeGraphIsExplainedWithFewPlans) {
  const Graph graph =
      prepare_graph(nn::find_in_zoo("lstm")->training_step({.batch = 2, .context = few ? 16 : 128}));
  const PlanOptions options{.effort = effort};
  const Plan plan = make_plan(graph, test_target(), options);
  const Explanation explanation = explain_plan(graph, plan, options, {.top = 5});
  EXPECT_EQ(explanation.values.size(), 5u);
  EXPECT_GT(explanation.left_out, few ? 20u : 1000u);
}

}  // namespace
}  // namespace tidemark
