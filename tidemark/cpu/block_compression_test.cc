#include "tidemark/cpu/block_compression.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tidemark {
namespace {

TEST(BlockCompression, WhateverBytesComeNothingBesideTheBlockIsWritten) {
  BlockCompressor compressor;
  BlockExpander expander;
  std::mt19937_64 random(1);
  std::vector<std::byte> block(5000), coded(6000), back;
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i % 7 + i / 1000);
  const std::size_t size = compressor.compress(4, block, coded);
  ASSERT_GT(size, 0u);
  coded.resize(size);
  const auto expands = [&](std::size_t width, std::span<const std::byte> bytes, std::size_t count) {
    back.assign(count + 64, std::byte{0x5a});
    const bool expanded = expander.expand(width, bytes, {back.data(), count});
    for (std::size_t i = count; i < back.size(); ++i) EXPECT_EQ(back[i], std::byte{0x5a});
    return expanded;
  };
  EXPECT_TRUE(expands(4, coded, block.size()));
  EXPECT_TRUE(std::equal(block.begin(), block.end(), back.begin()));
  for (std::size_t at = 0; at < size; ++at) {
    for (const unsigned bit : {0, 3, 7}) {
      std::vector<std::byte> changed = coded;
      changed[at] ^= static_cast<std::byte>(1u << bit);
      for (const std::size_t width : {1, 4}) (void)expands(width, changed, block.size());
    }
    EXPECT_FALSE(expands(4, std::span(coded).first(at), block.size())) << "cut at " << at;
  }
  for (const std::size_t other : {0, 1, 4999, 5001, 65'536}) EXPECT_FALSE(expands(4, coded, other));
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> crafted(random() % 300);
    for (std::byte& byte : crafted) byte = static_cast<std::byte>(random());
    (void)expands(1, crafted, random() % 65'536);
  }
}

TEST(BlockCompression, WhatDoesNotFitIsRefused) {
  BlockCompressor compressor;
  std::mt19937_64 random(1);
  std::vector<std::byte> noise(compression_block_bytes), to(compression_block_bytes - 1);
  for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
  EXPECT_EQ(compressor.compress(4, noise, to), 0u);
  const std::vector<std::byte> zeros(compression_block_bytes);
  const std::size_t bytes = compressor.compress(8, zeros, to);
  EXPECT_LT(bytes, 1000u);
  EXPECT_EQ(compressor.compress(8, zeros, std::span(to).first(bytes - 1)), 0u);
  EXPECT_EQ(compressor.compress(8, zeros, {}), 0u);
}

}  // namespace
}  // namespace tidemark
