#include "tidemark/kernel/byte_shuffle.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidemark {
namespace {

TEST(ByteShuffle, SortsBytesByTheirPlaceAndBackWhateverTheCount) {
  for (const std::size_t width : {1, 2, 4, 8}) {
    for (const std::size_t bytes : {0, 1, 3, 7, 8, 15, 16, 17, 31, 64, 127, 128, 129, 255, 1000, 4099}) {
      std::vector<std::byte> elements(bytes), planes(bytes + 1, std::byte{99}),
          back(bytes + 1, std::byte{98});
      for (std::size_t i = 0; i < bytes; ++i) elements[i] = static_cast<std::byte>(i * 2654435761u >> 7);
      shuffle_bytes(width, elements, planes.data());
      const std::size_t count = bytes / width;
      for (std::size_t i = 0; i < bytes; ++i) {
        const std::size_t at = i < count * width ? (i % width) * count + i / width : i;
        ASSERT_EQ(planes[at], elements[i]) << width << " " << bytes << " " << i;
      }
      EXPECT_EQ(planes[bytes], std::byte{99});
      planes.pop_back();
      unshuffle_bytes(width, planes, back.data());
      EXPECT_EQ(back[bytes], std::byte{98});
      back.pop_back();
      EXPECT_EQ(back, elements) << width << " " << bytes;
    }
  }
}

}  // namespace
}  // namespace tidemark
