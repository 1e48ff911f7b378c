#include "tidemark/ir/codec.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidemark {
namespace {

TEST(Codecs, AreFoundByName) {
  for (const Codec& codec : codecs()) EXPECT_EQ(find_codec(codec.name), &codec);
  EXPECT_EQ(find_codec(""), nullptr);
  EXPECT_EQ(find_codec("bit"), nullptr);
}

TEST(Codecs, BitsKeepEveryBooleanInAnEighth) {
  const Codec& bits = *find_codec("bits");
  EXPECT_TRUE(bits.exact);
  EXPECT_FALSE(bits.takes({DType::u8, {8}}));
  for (std::int64_t count = 0; count < 70; ++count) {
    const Type type{DType::boolean, {count}};
    ASSERT_TRUE(bits.takes(type));
    ASSERT_EQ(bits.bytes(type), (count + 7) / 8);
    std::vector<std::byte> plain(static_cast<std::size_t>(count)), back(plain.size(), std::byte{7});
    for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = std::byte{(i * i + i / 3) % 3 == 0};
    std::vector<std::byte> coded(static_cast<std::size_t>(bits.bytes(type)) + 1, std::byte{0xa5});
    bits.encode(type, plain.data(), coded.data());
    EXPECT_EQ(coded.back(), std::byte{0xa5}) << "wrote beyond its bytes";
    bits.decode(type, coded.data(), back.data());
    EXPECT_EQ(back, plain) << count;
  }
}

}  // namespace
}  // namespace tidemark
