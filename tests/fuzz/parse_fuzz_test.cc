// The fuzz target of parse() on fixed mutations of a corpus: valid graphs of every op's samples and
// hand-written ones. For open-ended fuzzing build the same target with -DTIDEMARK_FUZZ=ON (clang) and run it
// on tests/fuzz/corpus.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_entry.h"
#include "tests/fuzz/mutator.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using testing::Mutator;
using testing::texts_in;

Graph graph_of(const Op& op, const Sample& sample) {
  Graph graph;
  Builder builder(graph);
  std::vector<Var> in;
  for (const Sample::Operand& operand : sample.in) in.push_back(builder.input(operand.type));
  for (const Var& result : builder.call(op, in, sample.attrs)) graph.add_output(result.id());
  return graph;
}

std::vector<std::string> corpus() {
  std::vector<std::string> texts = texts_in(TIDEMARK_TEST_DIR "/corpus");
  for (const Op* op : all_ops()) {
    if (!op->samples) continue;
    std::size_t taken = 0;
    for (const Sample& sample : op->samples()) {
      if (++taken > 3) break;
      texts.push_back(print(graph_of(*op, sample)));
    }
  }
  return texts;
}

const std::vector<std::string> words = {"%0",
                                        "%x",
                                        "-1",
                                        "0",
                                        "1",
                                        "8",
                                        "281474976710656",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        "(",
                                        ")",
                                        ",",
                                        "=",
                                        "\"",
                                        "graph(",
                                        "f32[]",
                                        "f64[2, 3]",
                                        "bool[0]",
                                        "[0, 0]",
                                        "[2, 1, 0]",
                                        "[9, 9]",
                                        "[-1]",
                                        "[4503599627370496]",
                                        "nan",
                                        "-inf",
                                        "1e308",
                                        "true",
                                        "return",
                                        "@",
                                        "hex",
                                        "#"};

int run_target(const std::string& text) {
  return parse_fuzz(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

TEST(ParseFuzz, TheCorpusIsValid) {
  const std::vector<std::string> texts = corpus();
  ASSERT_GT(texts.size(), 3u);
  for (const std::string& text : texts) {
    EXPECT_NO_THROW(parse(text, {find_op, nearest_op})) << text;
    EXPECT_EQ(run_target(text), 0);
  }
}

TEST(ParseFuzz, EveryOpSurvivesPrintingAndParsing) {
  for (const Op* op : all_ops()) {
    if (!op->samples) continue;
    for (const Sample& sample : op->samples()) {
      const Graph graph = graph_of(*op, sample);
      EXPECT_TRUE(same_graph(parse(print(graph), {find_op, nearest_op}), graph)) << print(graph);
    }
  }
}

TEST(ParseFuzz, MutatedTextsGiveOnlyCleanErrors) {
  const std::vector<std::string> texts = corpus();
  Mutator mutator(texts, words);
  int failures = 0;
  for (int i = 0; i < 20000 && failures < 5; ++i) {
    const std::string text = mutator.next();
    try {
      ASSERT_EQ(run_target(text), 0);
    } catch (const std::exception& error) {
      ++failures;
      ADD_FAILURE() << "mutation " << i << ": " << error.what() << "\n" << text;
    }
  }
}

// Sizes whose products would overflow before the result could be found too large.
TEST(ParseFuzz, AbsurdSizesGiveCleanErrors) {
  for (const char* node : {
           "pad(%x, %f) {low = [0], high = [0], interior = [281474976710656]}",
           "reshape(%x) {shape = [281474976710656, 281474976710656]}",
           "broadcast(%x) {shape = [281474976710656, 281474976710656]}",
           "iota() {shape = [281474976710656, 281474976710656]}",
           "update_slice(%x, %x) {start = [281474976710656], step = [281474976710656]}",
           "conv(%c, %c) {stride = [1], low = [1], high = [1], dilation = [281474976710656]}",
           "conv(%c, %c) {stride = [1], low = [1], high = [1], dilation = [1], groups = 9223372036854775807}",
           "one_hot(%i) {classes = 9223372036854775807}",
           "tril(%x) {diagonal = -9223372036854775808}",
           "contract(%b, %b)",
           "argmax(%x) {axis = 9223372036854775807}",
           "concat(%x, %x, %x)",
       }) {
    const std::string text =
        "graph(%x: u8[281474976710656], %f: u8[], %c: f32[1, 1048576, 1048576], %i: i64[4], "
        "%b: f32[8388608, 8388608]) -> () { %y = " +
        std::string(node) + " : u8[] return }";
    EXPECT_THROW(parse(text, {find_op, nearest_op}), Error) << text;
    EXPECT_EQ(run_target(text), 0) << text;
  }
}

}  // namespace
}  // namespace tidemark
