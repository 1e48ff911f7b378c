#include "tidemark/data/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/base/error.h"
#include "tidemark/data/word_split.h"

namespace tidemark::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tidemark::testing::code_of;
using tidemark::testing::ScratchFolder;
using Merge = BpeTokenizer::Merge;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    words.emplace_back(text.substr(0, first_word(text)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

std::string random_bytes(std::size_t count, unsigned seed, int kinds = 256) {
  std::mt19937 random(seed);
  std::string text(count, '\0');
  for (char& c : text)
    c = static_cast<char>(random() % static_cast<unsigned>(kinds) + (kinds < 256 ? ' ' : 0));
  return text;
}

const std::string story =
    "The cat sat on the mat. The cat's hat isn't the rat's; they're 12 cats, 345 rats!\n\n  And the mats: "
    "naïve, café, Ænima, 名前 — the end. the the the cat cat sat.\t\tEnd";

TEST(WordSplit, CutsAsGpt2Does) {
  EXPECT_THAT(words_of("Hello world, it's 42 o'clock"),
              ElementsAre("Hello", " world", ",", " it", "'s", " 42", " o", "'", "clock"));
  EXPECT_THAT(words_of("a  b\n\n c   "), ElementsAre("a", " ", " b", "\n\n", " c", "   "));
  EXPECT_THAT(words_of("they'll we've I'm he'd x're"),
              ElementsAre("they", "'ll", " we", "'ve", " I", "'m", " he", "'d", " x", "'re"));
  EXPECT_THAT(words_of("x1 --y"), ElementsAre("x", "1", " --", "y"));
  EXPECT_THAT(words_of(" "), ElementsAre(" "));
  EXPECT_THAT(words_of("\nx"), ElementsAre("\n", "x"));
  EXPECT_THAT(words_of("caf\xc3\xa9s 12"), ElementsAre("caf\xc3\xa9s", " 12"));
}

TEST(WordSplit, NoWordIsLongAndNoCharacterIsCut) {
  for (const std::string& unit : {std::string("a"), std::string("é"), std::string("名"), std::string(" "),
                                  std::string("\xf0\x9f\x98\x80"), std::string("\x80"), std::string("!")}) {
    std::string text;
    while (text.size() < 3000) text += unit;
    std::string together;
    for (const std::string& word : words_of(text)) {
      EXPECT_LE(word.size(), 256u);
      EXPECT_EQ(word.size() % (unit.size() == 1 ? 1 : unit.size()), 0u) << unit;
      together += word;
    }
    EXPECT_EQ(together, text);
  }
}

TEST(ByteTokens, EveryByteIsItself) {
  const std::string all = random_bytes(1000, 1);
  EXPECT_EQ(ByteTokenizer::decode(ByteTokenizer::encode(all)), all);
  EXPECT_THAT(ByteTokenizer::encode(std::string("a\0\xff", 3)), ElementsAre(97, 0, 255));
  EXPECT_EQ(code_of([] { ByteTokenizer::decode(Tokens{256}); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([] { ByteTokenizer::decode(Tokens{-1}); }), ErrorCode::index_out_of_range);
}

TEST(Bpe, LearnsTheMostFrequentPairFirst) {
  // "aaabdaaabac", the example of Wikipedia: aa, then ab (of aa·ab…), and so on; ties take smaller tokens.
  const BpeTokenizer bpe = BpeTokenizer::train("aaabdaaabac", {.vocabulary = 259});
  ASSERT_EQ(bpe.merges().size(), 3u);
  EXPECT_EQ(bpe.merges()[0], (Merge{'a', 'a'}));
  EXPECT_EQ(bpe.merges()[1], (Merge{'a', 'b'}));
  EXPECT_EQ(bpe.merges()[2], (Merge{256, 257}));
  EXPECT_THAT(bpe.encode("aaabdaaabac"), ElementsAre(258, 'd', 258, 'a', 'c'));
}

// What training means, written down without a thought of speed: count all pairs of all words, merge, again.
std::vector<Merge> plain_training(std::string_view text, std::size_t merges, std::int64_t least) {
  std::vector<Tokens> words;
  for (const std::string& word : words_of(text)) words.push_back(ByteTokenizer::encode(word));
  std::vector<Merge> learnt;
  while (learnt.size() < merges) {
    std::map<Merge, std::int64_t> counts;
    for (const Tokens& word : words) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
    }
    Merge best;
    std::int64_t most = 0;
    for (const auto& [pair, count] : counts) {
      if (count > most) {
        best = pair;
        most = count;
      }
    }
    if (most < least) break;
    for (Tokens& word : words) {
      Tokens merged;
      for (std::size_t i = 0; i < word.size(); ++i) {
        const bool here = i + 1 < word.size() && word[i] == best.left && word[i + 1] == best.right;
        merged.push_back(here ? static_cast<std::int32_t>(256 + learnt.size()) : word[i]);
        i += here;
      }
      word = merged;
    }
    learnt.push_back(best);
  }
  return learnt;
}

TEST(Bpe, IncrementalTrainingEqualsCountingAnew) {
  std::string repeated;
  for (int i = 0; i < 3; ++i) repeated += story;
  for (const std::string& text : {story, repeated, std::string(100, 'a'), std::string("abababab abab ab"),
                                  random_bytes(3000, 2, 6), random_bytes(3000, 3, 3), random_bytes(800, 4)}) {
    for (const std::int64_t least : {1, 2, 5}) {
      const BpeTokenizer bpe = BpeTokenizer::train(text, {.vocabulary = 256 + 60, .least = least});
      const auto expected = plain_training(text, 60, least);
      ASSERT_EQ(std::vector<Merge>(bpe.merges().begin(), bpe.merges().end()), expected) << text.substr(0, 40);
    }
  }
}

TEST(Bpe, EncodingFollowsTheMergesInOrderAndDecodesToTheSameBytes) {
  std::string repeated;
  for (int i = 0; i < 20; ++i) repeated += story;
  const BpeTokenizer bpe = BpeTokenizer::train(repeated, {.vocabulary = 400});
  for (const std::string& text :
       {story, std::string(), random_bytes(5000, 5), random_bytes(5000, 6, 20), std::string(2000, 'a'),
        std::string("\0\0\xff\xfe", 4), std::string("\xf0\x9f\x98"), std::string(700, '\n')}) {
    const Tokens tokens = bpe.encode(text);
    EXPECT_EQ(bpe.decode(tokens), text);
    for (const std::int32_t token : tokens) EXPECT_TRUE(token >= 0 && token < bpe.vocabulary());
  }
  EXPECT_LT(bpe.encode(story).size(), story.size() / 2);
  for (int byte = 0; byte < 256; ++byte)
    EXPECT_EQ(bpe.decode(bpe.encode(std::string(1, static_cast<char>(byte)))),
              std::string(1, static_cast<char>(byte)));
}

TEST(Bpe, TrainingStopsWhereNothingIsMetOften) {
  EXPECT_EQ(BpeTokenizer::train("abcdef", {.vocabulary = 1000}).merges().size(), 0u);
  EXPECT_EQ(BpeTokenizer::train("", {.vocabulary = 1000}).vocabulary(), 256);
  EXPECT_EQ(BpeTokenizer::train("abc", {.vocabulary = 1000, .least = 1}).merges().size(), 2u);
  EXPECT_EQ(code_of([] { BpeTokenizer::train("abc", {.vocabulary = 255}); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([] { BpeTokenizer::train("abc", {.vocabulary = 256, .specials = {"x"}}); }),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([] { BpeTokenizer::train("abc", {.specials = {"x", "x"}}); }), ErrorCode::bad_attribute);
}

TEST(Bpe, SpecialTokensAreNeverText) {
  const BpeTokenizer bpe =
      BpeTokenizer::train(story, {.vocabulary = 270, .specials = {"<|end|>", "<|pad|>"}});
  EXPECT_EQ(bpe.vocabulary(), 270);
  EXPECT_EQ(bpe.special("<|end|>"), 268);
  EXPECT_EQ(bpe.special("<|pad|>"), 269);
  for (const std::int32_t token : bpe.encode("a <|end|> b")) EXPECT_LT(token, 268);
  EXPECT_EQ(bpe.decode(Tokens{'a', 268}), "a<|end|>");
  EXPECT_EQ(code_of([&] { bpe.special("none"); }), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { bpe.decode(Tokens{270}); }), ErrorCode::index_out_of_range);
}

TEST(Bpe, FilesAreReadableAndComeBack) {
  const BpeTokenizer small({{'t', 'h'}, {' ', 256}, {'\n', '"'}}, {"<|end|>"});
  EXPECT_EQ(
      small.to_text(),
      "tidemark byte-pair encoding 1\nspecials 1\n\"<|end|>\"\nmerges 3\n116 104 \"th\"\n32 256 \" th\"\n"
      "10 34 \"\\x0a\\x22\"\n");
  const ScratchFolder folder;
  const BpeTokenizer bpe =
      BpeTokenizer::train(story + random_bytes(2000, 9), {.vocabulary = 320, .least = 1});
  bpe.save(folder.path("merges.txt"));
  const BpeTokenizer back = BpeTokenizer::load(folder.path("merges.txt"));
  EXPECT_EQ(back.to_text(), bpe.to_text());
  EXPECT_EQ(back.encode(story), bpe.encode(story));
}

TEST(Bpe, BrokenFilesAreRefusedWithTheirLine) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      BpeTokenizer::from_text(text, "m.txt");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_data_file);
      return error.what();
    }
    return "accepted";
  };
  const std::string head = "tidemark byte-pair encoding 1\nspecials 0\n";
  EXPECT_EQ(refusal(head + "merges 0\n"), "accepted");
  EXPECT_THAT(refusal(""), HasSubstr("m.txt: line 1: the file ends"));
  EXPECT_THAT(refusal("something\n"), HasSubstr("not a file of merges"));
  EXPECT_THAT(refusal(head + "merges 9999999999999\n"), HasSubstr("line 3: not a count"));
  EXPECT_THAT(refusal(head + "merges -1\n"), HasSubstr("not a count"));
  EXPECT_THAT(refusal(head + "merges 1\n"), HasSubstr("not a count"));
  EXPECT_THAT(refusal(head + "merges 1\n1 2\n"), HasSubstr("not a merge"));
  EXPECT_THAT(refusal(head + "merges 1\n97 256 \"ab\"\n"), HasSubstr("other tokens"));
  EXPECT_THAT(refusal(head + "merges 1\n97 98 \"abc\"\n"), HasSubstr("other tokens"));
  EXPECT_THAT(refusal(head + "merges 1\n97 98 \"ac\"\n"), HasSubstr("not what its tokens make"));
  EXPECT_THAT(refusal(head + "merges 1\n97 98 \"\\xzz\"\n"), HasSubstr("escape"));
  EXPECT_THAT(refusal(head + "merges 2\n97 98 \"ab\"\n97 98 \"ab\"\n"), HasSubstr("each pair once"));
  EXPECT_THAT(refusal(head + "merges 1\n97 98 \"ab\"\nmore\n"), HasSubstr("more than was announced"));
}

// A megabyte in one word and in very many: neither may be quadratic.
TEST(Bpe, LargeTextsAreTrainedAndEncoded) {
  std::string many;
  for (unsigned seed = 0; many.size() < 300000; ++seed) many += " " + random_bytes(6, seed, 8);
  for (const std::string& text : {many, random_bytes(200000, 1, 2), std::string(300000, 'x')}) {
    const BpeTokenizer bpe = BpeTokenizer::train(text, {.vocabulary = 700});
    EXPECT_EQ(bpe.decode(bpe.encode(text)), text);
  }
}

}  // namespace
}  // namespace tidemark::data
