#include "tidemark/ir/effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tidemark/ir/compare.h"

namespace tidemark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Effects of two domains, alone and inside, beside what has none.
const char* const mixed = R"(graph(%x: f32[2]) -> () {
  %a = exp(%x) : f32[2]
  emit(%x)
  %b = share(%x) : f32[2]
  %c = unrepeatable(%x) : f32[2]
  %d = toy_loop(%x) [graph(%i: f32[2]) -> (f32[2]) {
    %j = toy_loop(%i) [graph(%k: f32[2]) -> (f32[2]) { emit(%k) %l = share(%k) : f32[2] return %l }] : f32[2]
    return %j }] : f32[2]
  %e = toy_loop(%x) [graph(%i: f32[2]) -> (f32[2]) { %j = share(%i) : f32[2] return %j }] : f32[2]
  return
})";

TEST(Effects, ANodeDoesWhatStandsInItsRegions) {
  const Graph graph = graph_from(mixed);
  const auto each = [&](auto&& ask) {
    std::vector<bool> answers;
    for (const Node& node : graph.nodes()) answers.push_back(ask(node));
    return answers;
  };
  EXPECT_THAT(each(has_effects), ElementsAre(false, true, true, false, true, true));
  EXPECT_THAT(each([](const Node& node) { return is_repeatable(node); }),
              ElementsAre(true, false, true, false, false, true));
  EXPECT_THAT(each(is_pure), ElementsAre(true, false, false, false, false, false));
  EXPECT_THAT(effect_domains(graph.nodes()[0]), IsEmpty());
  EXPECT_THAT(effect_domains(graph.nodes()[1]), ElementsAre("io"));
  EXPECT_THAT(effect_domains(graph.nodes()[4]), ElementsAre("io", "wire"));
  EXPECT_FALSE(is_repeatable(graph));
  EXPECT_TRUE(is_repeatable(graph.nodes()[5].regions[0]));
}

TEST(Effects, FollowThoseOfTheirDomains) {
  const Graph graph = graph_from(mixed);
  EffectOrder order;
  std::vector<std::vector<int>> before;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    before.push_back(order.follow(graph.nodes()[n], static_cast<int>(n)));
  EXPECT_THAT(before,
              ElementsAre(IsEmpty(), IsEmpty(), IsEmpty(), IsEmpty(), ElementsAre(1, 2), ElementsAre(4)));
}

TEST(ForReplay, LeavesAloneWhatHasNoEffects) {
  const Graph graph = graph_from("graph(%x: f32[2]) -> (f32[2]) { %dead = exp(%x) : f32[2] return %x }");
  EXPECT_TRUE(same_graph(for_replay(graph), graph));
}

TEST(ForReplay, LeavesOutWhatHasHappened) {
  const Graph graph = graph_from(R"(graph(%x: f32[2]) -> (f32[2]) {
    %a = exp(%x) : f32[2]
    emit(%a)
    %unread = share(%x) : f32[2]
    %b = share(%x) : f32[2]
    %c = toy_loop(%b) [graph(%i: f32[2]) -> (f32[2]) { emit(%i) %j = sin(%i) : f32[2] return %j }] : f32[2]
    return %c
  })");
  ASSERT_EQ(first_unreplayable(graph), nullptr);
  EXPECT_EQ(print(for_replay(graph)), normal(R"(graph(%x: f32[2]) -> (f32[2]) {
    %b = share(%x) : f32[2]
    %c = toy_loop(%b) [graph(%i: f32[2]) -> (f32[2]) { %j = sin(%i) : f32[2] return %j }] : f32[2]
    return %c
  })"));
}

TEST(ForReplay, KeepsWhatDependsOnFreshInputs) {
  const Graph graph = graph_from(R"(graph(%x: f32[2], %g: f32[2]) -> (f32[2]) {
    %a = exp(%x) : f32[2]
    emit(%a)
    %b = mul(%g, %a) : f32[2]
    emit(%b)
    %c = unrepeatable(%b) : f32[2]
    %d = toy_loop(%c) [graph(%i: f32[2]) -> (f32[2]) { emit(%i) return %i }] : f32[2]
    return %d
  })");
  EXPECT_EQ(first_unreplayable(graph, 1), nullptr);
  EXPECT_EQ(first_unreplayable(graph)->op, &toy::unrepeatable);
  EXPECT_EQ(print(for_replay(graph, 1)), normal(R"(graph(%x: f32[2], %g: f32[2]) -> (f32[2]) {
    %a = exp(%x) : f32[2]
    %b = mul(%g, %a) : f32[2]
    emit(%b)
    %c = unrepeatable(%b) : f32[2]
    %d = toy_loop(%c) [graph(%i: f32[2]) -> (f32[2]) { emit(%i) return %i }] : f32[2]
    return %d
  })"));
}

TEST(ForReplay, IsRefusedByWhatWouldRunTwice) {
  const auto refused = [](const char* text) {
    const Graph graph = graph_from(text);
    const Node* node = first_unreplayable(graph);
    return node ? node->op->name : "";
  };
  EXPECT_EQ(refused("graph(%x: f32[2]) -> (f32[2]) { %a = unrepeatable(%x) : f32[2] return %a }"),
            "unrepeatable");
  EXPECT_EQ(refused("graph(%x: f32[2]) -> (f32[2]) { %a = unrepeatable(%x) : f32[2] return %x }"), "");
  EXPECT_EQ(refused("graph(%x: f32[2]) -> (f32[2]) { hold(%x) return %x }"), "hold");
  EXPECT_EQ(refused("graph(%x: f32[2]) -> (f32[2]) { %a = toy_loop(%x) [graph(%i: f32[2]) -> (f32[2]) { "
                    "%b = unrepeatable(%i) : f32[2] return %b }] : f32[2] return %a }"),
            "unrepeatable");
  EXPECT_EQ(refused("graph(%x: f32[2]) -> (f32[2]) { %a = toy_loop(%x) [graph(%i: f32[2]) -> (f32[2]) { "
                    "hold(%i) return %i }] : f32[2] return %x }"),
            "hold");
}

}  // namespace
}  // namespace tidemark
