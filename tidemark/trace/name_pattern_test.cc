#include "tidemark/trace/name_pattern.h"

#include <gtest/gtest.h>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

TEST(NamePatterns, MatchNamesAsShellsMatchFiles) {
  EXPECT_TRUE(matches_name("layers.0.bias", "layers.0.bias"));
  EXPECT_TRUE(matches_name("*", "layers.0.bias"));
  EXPECT_TRUE(matches_name("*.bias", "layers.0.bias"));
  EXPECT_TRUE(matches_name("*.bias", "bias"));
  EXPECT_TRUE(matches_name("layers.?.b*s", "layers.0.bias"));
  EXPECT_TRUE(matches_name("*a*a*", "banana"));
  EXPECT_TRUE(matches_name("**", ""));
  EXPECT_FALSE(matches_name("", "bias"));
  EXPECT_FALSE(matches_name("*.bias", "debias"));
  EXPECT_FALSE(matches_name("layers.?.bias", "layers.10.bias"));
  EXPECT_FALSE(matches_name("embedding.*", "embedding"));
  EXPECT_FALSE(matches_name("bias*x", "bias"));
  EXPECT_FALSE(matches_name("a", "ab"));
  EXPECT_FALSE(matches_name("a?", "a"));
}

TEST(NamePatterns, RenameByWhatTheirStarsMet) {
  EXPECT_EQ(match_name("*.*", "x.y.z"), (std::vector<std::string>{"x.y", "z"}));
  const std::vector<NamePattern> patterns = {{"h.*.w", "blocks.*.weight"}, {"*.w", "*.last"}};
  EXPECT_EQ(renamed(patterns, "h.7.w"), "blocks.7.weight");
  EXPECT_EQ(renamed(patterns, "g.7.w"), "g.7.last");
  EXPECT_EQ(renamed(patterns, "other"), "other");
  const std::vector<NamePattern> wrong = {{"a.*", "*.*"}};
  try {
    renamed(wrong, "a.b");
    FAIL() << "more stars than there are texts";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_attribute);
  }
}

}  // namespace
}  // namespace tidemark
