#include "tidemark/ir/compare.h"

#include <gtest/gtest.h>

#include "tests/support/toy_ops.h"
#include "tidemark/ir/parse.h"

namespace tidemark {
namespace {

Graph read(const char* text) { return parse(text, toy::lookup); }

TEST(Compare, IgnoresWhatItIsAskedToIgnore) {
  const Graph a = read("graph @a(%x: f32[]) -> (f32[]) { %y = blend(%x) : f32[] @ \"f\":1 return %y }");
  const Graph b = read("graph @b(%0: f32[]) -> (f32[]) { %1 = blend(%0) : f32[] @ \"f\":2 return %1 }");
  EXPECT_TRUE(same_graph(a, a));
  EXPECT_FALSE(same_graph(a, b));
  EXPECT_FALSE(same_graph(a, b, {.names = false}));
  EXPECT_FALSE(same_graph(a, b, {.lines = false}));
  EXPECT_TRUE(same_graph(a, b, {.names = false, .lines = false}));
  EXPECT_EQ(hash_graph(a), hash_graph(b));
}

TEST(Compare, SeesEveryDifferenceOfMeaning) {
  const char* texts[] = {
      "graph(%a: f32[], %b: f32[]) -> (f32[]) { %y = blend(%a, %b) : f32[] return %y }",
      "graph(%a: f32[], %b: f32[]) -> (f32[]) { %y = blend(%b, %a) : f32[] return %y }",
      "graph(%a: f32[], %b: f32[]) -> (f32[]) { %y = blend(%a, %b) {scale = -0.0} : f32[] return %y }",
      "graph(%a: f32[], %b: f32[]) -> (f32[]) { %y = blend(%a, %b) {scale = 0.0} : f32[] return %y }",
      "graph(%a: f32[], %b: f32[]) -> (f32[]) { %y = blend(%a, %b) : f32[] return %a }",
      "graph(%a: f32[], %b: f32[] donated) -> (f32[]) { %y = blend(%a, %b) : f32[] return %y }",
      "graph(%a: f64[], %b: f64[]) -> (f64[]) { %y = blend(%a, %b) : f64[] return %y }",
      "graph(%a: f32[], %b: f32[]) -> (f32[]) { %y = toy_loop() [graph(%i: f32[]) -> (f32[]) { return %i }] "
      ": "
      "f32[] return %y }",
      "graph(%a: f32[], %b: f32[]) -> (f32[]) { %y = toy_loop() [graph(%i: f32[], %j: f32[]) -> (f32[]) { "
      "return "
      "%i }] : f32[] return %y }",
  };
  for (const char* a : texts) {
    for (const char* b : texts) EXPECT_EQ(same_graph(read(a), read(b)), a == b) << a << "\n" << b;
  }
}

}  // namespace
}  // namespace tidemark
