// CompileOptions::allow, as a user has it: only what is named is used, and what cannot be is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/tanh_net.h"
#include "tidemark/plan/report/plan_figures.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::code_of;
using ::testing::HasSubstr;
using testing::ScratchFolder;
using testing::tanh_loss;
using testing::TanhNet;

TanhNet allow_net(int layers = 8) { return testing::tanh_net(layers, 128); }
Tensor allow_batch() { return testing::tanh_batch(1024, 128); }

struct Uses {
  int again = 0, moved = 0, packed = 0;
};
Uses uses_of(const PlannedGraph& planned) {
  Uses uses;
  std::set<std::uint32_t> ran;
  for (const Step& step : planned.plan.steps) {
    uses.moved += step.kind == StepKind::copy;
    if (step.kind != StepKind::compute) continue;
    uses.again += !ran.insert(step.node.index).second;
    uses.packed += planned.graph[step.node].op->unpacks;
  }
  return uses;
}

std::vector<std::vector<double>> numbers(const TanhNet& gradient) {
  std::vector<std::vector<double>> all;
  for (const Tensor& g : gradient.weights) all.push_back(g.to_vector());
  return all;
}

TEST(Allow, OnlyWhatIsNamedIsUsed) {
  const ScratchFolder folder;
  const TanhNet net = allow_net();
  const Tensor x = allow_batch();
  const auto exact = numbers(compile(grad(tanh_loss))(net, x));
  const auto step = [&](Choices allow) {
    return compile(grad(tanh_loss), {.memory = 4_MiB,
                                     .disk = {{folder.path(), 1_GiB}},
                                     .lossy = Lossy{.error = 4e-3},
                                     .allow = allow,
                                     .effort = 0.1});
  };
  const auto recompute = step({Choice::recompute});
  EXPECT_EQ(numbers(recompute(net, x)), exact);
  EXPECT_GT(uses_of(recompute.plan()).again, 0);
  EXPECT_EQ(uses_of(recompute.plan()).moved, 0);
  EXPECT_EQ(uses_of(recompute.plan()).packed, 0);

  const auto disk = step({Choice::disk});
  EXPECT_EQ(numbers(disk(net, x)), exact);
  EXPECT_EQ(uses_of(disk.plan()).again, 0);
  EXPECT_GT(uses_of(disk.plan()).moved, 0);
  EXPECT_EQ(uses_of(disk.plan()).packed, 0);

  const auto compress = step({Choice::compress});
  (void)compress(net, x);
  EXPECT_EQ(uses_of(compress.plan()).again, 0);
  EXPECT_EQ(uses_of(compress.plan()).moved, 0);
  EXPECT_GT(uses_of(compress.plan()).packed, 0);

  const auto both = step({Choice::recompute, Choice::disk});
  EXPECT_EQ(numbers(both(net, x)), exact);
  EXPECT_LE(both.plan().plan.seconds, disk.plan().plan.seconds);
  EXPECT_LE(both.plan().plan.seconds, recompute.plan().plan.seconds);
  for (const PlannedGraph& plan : {recompute.plan(), disk.plan(), compress.plan(), both.plan()})
    EXPECT_LE(plan.peak(), 4_MiB);
}

TEST(Allow, NothingRunsTwiceWithoutRecomputing) {
  const TanhNet net = allow_net();
  const Tensor x = allow_batch();
  const Bytes free = compile(grad(tanh_loss)).prepare(net, x).peak();
  const auto with = [&](Bytes memory, Choices allow) {
    return compile(grad(tanh_loss), {.memory = memory, .allow = allow, .effort = 0.1});
  };
  const auto kept = with(free, {Choice::keep});
  (void)kept(net, x);
  EXPECT_EQ(uses_of(kept.plan()).again, 0);
  // The smallest that is named can be asked for, and nothing below it is there.
  const Bytes least = kept.smallest(net, x).memory;
  EXPECT_LE(least, free);
  const auto tight = with(least, {Choice::keep});
  EXPECT_EQ(uses_of(tight.prepare(net, x)).again, 0);
  const auto refused = with(least - 1_B, {Choice::keep}).try_prepare(net, x);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().smallest(), least);
  EXPECT_THAT(refused.error().what(), HasSubstr("recompute"));  // which would help
  const auto more = with(least - 1_B, {Choice::recompute}).try_prepare(net, x);
  EXPECT_TRUE(more);
  EXPECT_LT(with(free, {Choice::recompute}).smallest(net, x).memory, least);
}

TEST(Allow, LoopsKeepRecordsWhereNothingMayRunAgain) {
  const auto loss = [](const Tensor& w, const Tensor& x) {
    return mean(square(repeat(
        64, [&](const Tensor& y) { return tanh(matmul(y, w)); }, x)));
  };
  const Tensor w = random_normal(key(1), {32, 32}, 0, 0.1), x = random_normal(key(2), {64, 32});
  const auto free = compile(grad(loss));
  const auto exact = free(w, x).to_vector();
  const Bytes all = free.plan().peak(), half(all.count / 2);
  const auto loops_again = [](const auto& f) -> int {
    return plan_figures(f.plan().graph, f.plan().plan)["choices"]["loops_again"];
  };
  const auto kept = compile(grad(loss), {.memory = all, .allow = {Choice::keep}, .effort = 0.1});
  EXPECT_EQ(kept(w, x).to_vector(), exact);
  EXPECT_TRUE(kept.plan().loops().empty()) << kept.plan().summary();
  EXPECT_THAT(kept.plan().summary(), ::testing::Not(HasSubstr("steps of 1 loop")));
  EXPECT_EQ(loops_again(kept), 0);
  EXPECT_FALSE(
      compile(grad(loss), {.memory = half, .allow = {Choice::keep}, .effort = 0.1}).try_prepare(w, x));
  const auto again = compile(grad(loss), {.memory = half, .allow = {Choice::recompute}, .effort = 0.1});
  EXPECT_EQ(again(w, x).to_vector(), exact);
  // What takes its extra time is said, though no step of the plan itself runs twice.
  EXPECT_EQ(again.plan().loops().size(), 1u);
  EXPECT_THAT(again.plan().summary(), HasSubstr(" and steps of 1 loop"));
  EXPECT_EQ(loops_again(again), 1);
}

TEST(Allow, MicroBatchesAreMadeWhereTheyAreNamed) {
  const TanhNet net = allow_net(4);
  const Tensor x = allow_batch();
  const auto with = [&](Choices allow) {
    return compile(grad(tanh_loss),
                   {.memory = 3_MiB, .allow = allow, .effort = 0.1, .accumulate = automatic});
  };
  const auto split = with({Choice::split});
  (void)split(net, x);
  EXPECT_THAT(split.plan().summary(), HasSubstr("micro-batches"));
  EXPECT_EQ(uses_of(split.plan()).again, 0);
  const auto whole = with({Choice::recompute});
  (void)whole(net, x);
  EXPECT_THAT(whole.plan().summary(), ::testing::Not(HasSubstr("micro-batches")));
}

TEST(Allow, WhatCannotHappenIsRefused) {
  const auto with = [](CompileOptions options) {
    return [=] { (void)compile(grad(tanh_loss), options)(allow_net(2), allow_batch()); };
  };
  EXPECT_EQ(code_of(with({.memory = 8_MiB, .allow = {Choice::disk}})), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of(with({.memory = 8_MiB, .allow = {Choice::split}})), ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of(with({.memory = 8_MiB, .allow = {Choice::recompute}, .accumulate = 2})),
            ErrorCode::bad_plan_option);
  EXPECT_EQ(code_of(with({.memory = 8_MiB, .allow = {Choice::split}, .accumulate = 2})), ErrorCode{0});
  EXPECT_EQ(code_of(with({.memory = 8_MiB, .allow = {}})), ErrorCode{0});  // not given
  EXPECT_EQ(code_of(with({.allow = {Choice::keep}})), ErrorCode{0});
}

TEST(Allow, NamesAreReadAndWritten) {
  for (const Choice choice : all_choices) EXPECT_EQ(choice_named(name_of(choice)), choice);
  EXPECT_FALSE(choice_named("Recompute"));
  EXPECT_EQ(to_string(Choices{Choice::disk, Choice::recompute}), "recompute, disk");
  EXPECT_EQ(to_string(Choices{Choice::keep}), "keep");
  EXPECT_TRUE(Choices().has(Choice::split));
  EXPECT_FALSE(Choices().named());
  CompileOptions options;
  EXPECT_TRUE(allows(options, Choice::invert));
  EXPECT_FALSE(allows(options, Choice::disk));
  options.allow = {Choice::recompute};
  EXPECT_FALSE(allows(options, Choice::invert));
}

}  // namespace
}  // namespace tidemark
