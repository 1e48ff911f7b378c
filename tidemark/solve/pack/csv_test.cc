#include "tidemark/solve/pack/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/solve/pack/work.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;

void expect_rejected(std::string_view text, std::uint32_t line, std::string_view what,
                     std::optional<std::int64_t> capacity = std::nullopt) {
  try {
    parse_pack_table(text, "in.csv", capacity);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_layout_input);
    EXPECT_EQ(error.where().file, "in.csv");
    EXPECT_EQ(error.where().line, line) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(std::string(what)));
  }
}

TEST(PackCsv, ReadsColumnsInAnyOrder) {
  const PackTable table =
      parse_pack_table("size,note,upper,id,lower\r\n8, x ,4,a,1\n\n16,y,9,\"b\",-2", "in.csv");
  ASSERT_EQ(table.items.size(), 2u);
  EXPECT_EQ(table.ids, (std::vector<std::string>{"a", "\"b\""}));
  EXPECT_EQ(table.items[0].lower, 1);
  EXPECT_EQ(table.items[0].upper, 4);
  EXPECT_EQ(table.items[0].size, 8);
  EXPECT_EQ(table.items[1].lower, -2);
}

TEST(PackCsv, PrintsWithOffsetsWhatItCanReadBack) {
  const PackTable table = parse_pack_table("id,lower,upper,size\na,1,4,8\nb,2,9,16\n", "in.csv");
  const std::string text = print_pack_table(table, std::vector<std::int64_t>{16, 0});
  EXPECT_EQ(text, "id,lower,upper,size,offset\na,1,4,8,16\nb,2,9,16,0\n");
  EXPECT_EQ(parse_pack_table(text, "out.csv").ids, table.ids);
}

TEST(PackCsv, AHeaderAloneIsATableOfNothing) {
  EXPECT_TRUE(parse_pack_table("id,lower,upper,size\n", "in.csv").items.empty());
}

TEST(PackCsv, NamesTheLineOfEachMistake) {
  const std::string head = "id,lower,upper,size\n";
  expect_rejected("", 1, "empty");
  expect_rejected("id,lower,upper\n0,1,2\n", 1, "`size` is missing");
  expect_rejected("0,1,2,3\n", 1, "`id` is missing");
  expect_rejected("id,lower,lower,upper,size\n", 1, "`lower` is there twice");
  expect_rejected(head + "0,0,1,8\n1,0,1,-8\n", 3, "negative size");
  expect_rejected(head + "0,5,1,8\n", 2, "reversed");
  expect_rejected(head + "0,5,5,8\n", 2, "empty");
  expect_rejected(head + "7,0,1,8\n\n7,0,1,8\n", 4, "7 is there twice");
  expect_rejected(head + "0,0,1,99999999999999999999\n", 2, "too large");
  expect_rejected(head + "0,0,1,9223372036854775807\n", 2, "too large");
  expect_rejected(head + "0,0,1,eight\n", 2, "not a number");
  expect_rejected(head + "0,0,1,8.5\n", 2, "not a number");
  expect_rejected(head + "0,0,,8\n", 2, "not a number");
  expect_rejected(head + "0,0,1\n", 2, "3 fields");
  expect_rejected(head + "0,0,1,8,9\n", 2, "5 fields");
  expect_rejected(head + ",0,1,8\n", 2, "id is empty");
  expect_rejected(head + "0,0,1,8\n1,0,1,65\n", 3, "larger than the capacity", 64);
}

TEST(PackCsv, NamesTheBufferThatOverflowsTheLoad) {
  const std::string half = "1152921504606846976", head = "id,lower,upper,size\n";
  expect_rejected(head + "a,4,9," + half + "\nb,0,9," + half + "\nc,3,5," + half + "\nd,0,1,1\n", 2,
                  "at time 4 overflow");
  EXPECT_EQ(parse_pack_table(head + "a,0,1," + half + "\nb,1,2," + half + "\nc,2,3," + half + "\n", "in.csv")
                .ids.size(),
            3u);
}

TEST(PackCsv, AnyTextIsATableOrACleanError) {
  packing::Noise noise(1);
  const std::string seed = "id,lower,upper,size\na,0,5,8\n\"b\",-3,7,16\n12,2,3,0\n";
  const std::string alphabet = "0123456789-,\n\r \t\"abidlowerupsz.e+\xEF\0";
  int accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = seed;
    for (int edits = 1 + static_cast<int>(noise.uniform() * 4); edits > 0; --edits) {
      const std::size_t at = static_cast<std::size_t>(noise.uniform() * static_cast<double>(text.size()));
      const char letter =
          alphabet[static_cast<std::size_t>(noise.uniform() * static_cast<double>(alphabet.size()))];
      const double kind = noise.uniform();
      if (kind < 0.4)
        text[at] = letter;
      else if (kind < 0.7)
        text.insert(at, 1, letter);
      else
        text.erase(at, 1 + static_cast<std::size_t>(noise.uniform() * 5));
      if (text.empty()) break;
    }
    try {
      const PackTable table = parse_pack_table(text, "in.csv");
      const std::string printed = print_pack_table(table, std::vector<std::int64_t>(table.items.size()));
      EXPECT_EQ(parse_pack_table(printed, "out.csv").ids, table.ids) << text;
      ++accepted;
    } catch (const Error& error) {
      EXPECT_EQ(error.where().file, "in.csv") << text << "\n" << error.what();
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(PackCsv, AFileThatIsNotThereIsAnError) { EXPECT_THROW(read_pack_table("/no/such/table.csv"), Error); }

}  // namespace
}  // namespace tidemark
