// Holds docs/ir_format.md against the code: ```ir blocks print as they are written, ```ir loose blocks parse,
// ```ir error blocks give the ```text message that follows.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

constexpr OpLookup lookup{.find = find_op, .nearest = nearest_op};

struct Block {
  std::string info, text;
};
std::vector<Block> blocks() {
  std::ifstream page(TIDEMARK_SOURCE_DIR "/docs/ir_format.md");
  std::vector<Block> list;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) list.push_back({line.substr(3), ""});
    } else if (inside) {
      list.back().text += line + "\n";
    }
  }
  return list;
}

TEST(FormatPage, ExamplesPrintAsWritten) {
  int seen = 0;
  for (const Block& block : blocks()) {
    if (block.info != "ir") continue;
    ++seen;
    EXPECT_EQ(print(parse(block.text, lookup)), block.text);
  }
  EXPECT_GE(seen, 3);
}

TEST(FormatPage, LooseExamplesParse) {
  int seen = 0;
  for (const Block& block : blocks()) {
    if (block.info != "ir loose") continue;
    ++seen;
    const Graph graph = parse(block.text, lookup);
    EXPECT_TRUE(same_graph(parse(print(graph), lookup), graph));
  }
  EXPECT_GE(seen, 1);
}

TEST(FormatPage, MistakesGiveTheMessageShown) {
  const std::vector<Block> list = blocks();
  int seen = 0;
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    if (list[i].info != "ir error") continue;
    ASSERT_EQ(list[i + 1].info, "text message");
    ++seen;
    try {
      parse(list[i].text, lookup);
      ADD_FAILURE() << "accepted:\n" << list[i].text;
    } catch (const Error& error) {
      EXPECT_EQ(error.what() + std::string("\n"), list[i + 1].text);
    }
  }
  EXPECT_GE(seen, 2);
}

}  // namespace
}  // namespace tidemark
