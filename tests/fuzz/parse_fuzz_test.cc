// The fuzz target of parse() on fixed mutations of a corpus: valid graphs of every op's samples and hand-written ones.
// For open-ended fuzzing build the same target with -DTIDEMARK_FUZZ=ON (clang) and run it on tests/fuzz/corpus.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

Graph graph_of(const Op& op, const Sample& sample) {
  Graph graph;
  Builder builder(graph);
  std::vector<Var> in;
  for (const Sample::Operand& operand : sample.in) in.push_back(builder.input(operand.type));
  for (const Var& result : builder.call(op, in, sample.attrs)) graph.add_output(result.id());
  return graph;
}

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(TIDEMARK_TEST_DIR "/corpus"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream in(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
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

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& texts) : texts_(texts) {}

  std::string next() {
    std::string text = texts_[below(texts_.size())];
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) edit(text);
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  void edit(std::string& text) {
    static const std::string words[] = {"%0",
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
    if (text.empty()) text = "graph";
    const std::size_t at = below(text.size()), length = std::min(1 + below(12), text.size() - at);
    switch (below(8)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), length));
        break;
      case 3:
        text.insert(at, words[below(std::size(words))]);
        break;
      case 4:
        replace_number(text, at);
        break;
      case 5:
        replace_number(text, at);
        break;
      case 6:
        text.resize(at);
        break;
      default: {  // splice with another text
        const std::string& other = texts_[below(texts_.size())];
        const std::size_t from = below(other.size());
        text.replace(at, length, other, from, std::min(other.size() - from, std::size_t{1} + below(40)));
      }
    }
  }

  // The most telling mutation: the syntax stays, a size, axis or operand changes.
  void replace_number(std::string& text, std::size_t at) {
    static const std::string numbers[] = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "7",
                                          "-1",
                                          "-5",
                                          "8",
                                          "4096",
                                          "281474976710656",
                                          "4294967296",
                                          "9223372036854775807",
                                          "-9223372036854775808"};
    const std::size_t begin = text.find_first_of("0123456789", at);
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    text.replace(begin, end - begin, numbers[below(std::size(numbers))]);
  }

  const std::vector<std::string>& texts_;
  std::mt19937_64 random_{20240607};
};

int run_target(const std::string& text) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
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
  Mutator mutator(texts);
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
