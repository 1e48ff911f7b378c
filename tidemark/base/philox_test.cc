#include "tidemark/base/philox.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The known answers published with Random123 (philox4x32, 10 rounds); counter words run from low to high.
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(Philox{0}(0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox{~std::uint64_t{0}}(~std::uint64_t{0}, ~std::uint64_t{0}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox{0x299f31d0a4093822}(0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, IsUsableInConstantExpressions) {
  constexpr Words words = Philox{0}(0);
  static_assert(words[0] == 0x6627e8d5);
  EXPECT_EQ(words[3], 0x9b00dbd8u);
}

TEST(Philox, UnitNumbersStayBelowOne) {
  EXPECT_EQ(unit_float(0), 0.0f);
  EXPECT_LT(unit_float(0xffffffffu), 1.0f);
  EXPECT_EQ(unit_double(0, 0), 0.0);
  EXPECT_LT(unit_double(0xffffffffu, 0xffffffffu), 1.0);
}

}  // namespace
}  // namespace tidemark
