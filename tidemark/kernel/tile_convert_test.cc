#include "tidemark/kernel/tile_convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace tidemark {
namespace {

const std::byte* bytes(const void* p) { return static_cast<const std::byte*>(p); }

// f32 of every exponent, with significands about the halves that decide how 16 bits round; NaN and infinity
// among them.
std::vector<float> samples() {
  std::vector<float> x;
  for (std::uint32_t top = 0; top < 1u << 16; ++top) {
    for (std::uint32_t low :
         {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      x.push_back(std::bit_cast<float>(top << 16 | low));
    }
  }
  return x;
}

template <class Stored>
void expect_rounding_of_one(DType dtype) {
  const std::vector<float> x = samples();
  for (std::size_t first : {0, 5}) {  // vectors and what remains meet every value
    const std::size_t n = x.size() - first;
    std::vector<std::uint16_t> rounded(n);
    tile_store(dtype)(bytes(x.data() + first), static_cast<std::int64_t>(n),
                      reinterpret_cast<std::byte*>(rounded.data()));
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(rounded[i], Stored(x[first + i]).bits) << std::hexfloat << x[first + i];
    }
  }
}

TEST(TileConvert, RoundsToBf16AsOneByOne) { expect_rounding_of_one<BFloat16>(DType::bf16); }
TEST(TileConvert, RoundsToF16AsOneByOne) { expect_rounding_of_one<Float16>(DType::f16); }

TEST(TileConvert, LeavesWhatFollowsAlone) {
  const std::vector<float> x(40, 1.5f);
  for (DType dtype : {DType::bf16, DType::f16}) {
    for (std::size_t n = 0; n <= 40; ++n) {
      std::vector<std::uint16_t> to(41, 77);
      tile_store(dtype)(bytes(x.data()), static_cast<std::int64_t>(n),
                        reinterpret_cast<std::byte*>(to.data()));
      for (std::size_t i = n; i < to.size(); ++i) ASSERT_EQ(to[i], 77) << n;
    }
  }
}

}  // namespace
}  // namespace tidemark
