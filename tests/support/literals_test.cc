// Comparisons must be able to fail.
#include "tests/support/literals.h"

#include <gtest/gtest.h>

namespace tidemark::testing {
namespace {

TEST(Literals, DifferencesNameTheFirstElement) {
  const Literal a = literal_of(DType::f32, {3}, {1, 0.0, nan}),
                b = literal_of(DType::f32, {3}, {1, -0.0, nan});
  EXPECT_EQ(bit_difference(a, a), "");
  EXPECT_EQ(bit_difference(a, b), "element 1 is 0 and -0");
  EXPECT_EQ(bit_difference(a, literal_of(DType::f64, {3}, values_of(a))), "the types differ");
  EXPECT_EQ(bit_difference({a, a}, {a, b}), "result 1: element 1 is 0 and -0");
  EXPECT_EQ(bit_difference({a}, {a, a}), "1 and 2 results");
}

TEST(Literals, NaNsOfOtherBitsDifferUnlessTheyCountAsAlike) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const Literal a = literal_of(dtype, {2}, {nan, 2});
    Literal b = a;
    b.bytes[0] ^= std::byte{1};  // of the payload
    EXPECT_NE(bit_difference(a, b), "") << name_of(dtype);
    EXPECT_EQ(bit_difference(a, b, NaNs::alike), "") << name_of(dtype);
    const Literal c = literal_of(dtype, {2}, {nan, 3}), d = literal_of(dtype, {2}, {1, 2});
    EXPECT_EQ(bit_difference(a, c, NaNs::alike), "element 1 is 2 and 3") << name_of(dtype);
    EXPECT_NE(bit_difference(a, d, NaNs::alike), "") << name_of(dtype);
  }
}

}  // namespace
}  // namespace tidemark::testing
