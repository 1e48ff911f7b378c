#include "tidemark/kernel/philox_words.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidemark {
namespace {

void expect_same(Philox philox, std::uint64_t first, std::uint64_t stream, std::int64_t count) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(4 * count) + 1, 77);
  philox_words(philox, first, stream, count, words.data());
  for (std::int64_t b = 0; b < count; ++b) {
    const auto block = philox(first + static_cast<std::uint64_t>(b), stream);
    for (std::size_t w = 0; w < 4; ++w) {
      ASSERT_EQ(words[4 * static_cast<std::size_t>(b) + w], block[w])
          << "word " << w << " of block " << first << " + " << b;
    }
  }
  EXPECT_EQ(words.back(), 77u);
}

TEST(PhiloxWords, AreThoseOfTheSingleBlocks) {
  for (std::int64_t count : {0, 1, 3, 4, 7, 8, 16, 31, 32, 33, 100}) {
    expect_same({0x0123456789abcdefu}, 5, 0xfedcba9876543210u, count);
  }
}

TEST(PhiloxWords, CarryIntoTheUpperHalfOfTheCounter) {
  expect_same({42}, 0xfffffff0u, 3, 64);
  expect_same({42}, 0xffffffffffffffe0u, 3, 64);
}

}  // namespace
}  // namespace tidemark
