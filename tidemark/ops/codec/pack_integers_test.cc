// The kernels against their definition, on every dtype and on lengths around those of bytes and words.
#include "tidemark/ops/codec/pack_integers.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/errors.h"
#include "tests/support/run_kernel.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

constexpr std::int64_t lengths[] = {0, 1, 7, 8, 9, 63, 64, 65, 1000, 70001};

Literal packed(const Literal& x, std::int64_t bits) {
  return run(op::pack_integers, {x}, pack(PackIntegersAttrs{bits}), {1, 2, 3})[0];
}
Literal unpacked(const Literal& bytes, std::int64_t bits, const Literal& like) {
  return run(op::unpack_integers, {bytes}, pack(UnpackIntegersAttrs{bits, like.dtype, like.shape}),
             {1, 2, 3})[0];
}

TEST(PackIntegers, BitsOfEveryDtypeComeBackAndTakeAnEighthOfAByte) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto dtype = static_cast<DType>(t);
    for (const std::int64_t n : lengths) {
      SCOPED_TRACE(fmt::format("{} of {}", n, name_of(dtype)));
      std::mt19937_64 random(static_cast<std::uint64_t>(n));
      std::vector<double> values;
      for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(random() % 2));
      const Literal x = literal_of(dtype, {n}, values);
      const Literal bytes = packed(x, 1);
      ASSERT_EQ(bytes.shape, (Shape{(n + 7) / 8}));
      const std::vector<std::uint8_t> given = values_of<std::uint8_t>(bytes);
      std::vector<std::uint8_t> want(given.size(), 0);
      for (std::size_t i = 0; i < values.size(); ++i)
        want[i / 8] = static_cast<std::uint8_t>(want[i / 8] | (values[i] != 0 ? 1u << (i % 8) : 0u));
      ASSERT_EQ(given, want);
      ASSERT_EQ(bit_difference(unpacked(bytes, 1, x), x), "");
    }
  }
}

TEST(PackIntegers, ABitIsWhetherAnElementIsZero) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    const Literal x = literal_of(dtype, {8}, {0, -0.0, nan, -inf, 0x1p-24, -0x1p-24, 2, 0});
    EXPECT_EQ(values_of<std::uint8_t>(packed(x, 1)), (std::vector<std::uint8_t>{0b01111100}))
        << name_of(dtype);
  }
}

TEST(PackIntegers, WholeNumbersUpToTheLastComeBack) {
  for (const std::int64_t bits : {8, 16, 32}) {
    for (const DType dtype : {DType::i32, DType::i64}) {
      for (const std::int64_t n : lengths) {
        std::mt19937_64 random(static_cast<std::uint64_t>(n));
        const std::int64_t end = std::min(std::int64_t{1} << bits, std::int64_t{1} << 31);
        std::vector<double> values;
        for (std::int64_t i = 0; i < n; ++i)
          values.push_back(static_cast<double>(
              i == 0 ? end - 1 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end))));
        const Literal x = literal_of(dtype, {n}, values);
        const Literal bytes = packed(x, bits);
        ASSERT_EQ(bytes.shape, (Shape{n * bits / 8}));
        ASSERT_EQ(bit_difference(unpacked(bytes, bits, x), x), "") << n << " in " << bits;
      }
    }
  }
  const Literal large = literal_of(DType::i64, {2}, {0x1p32 - 1, 0x1p32});
  EXPECT_EQ(values_of(unpacked(packed(large, 32), 32, large)), (std::vector<double>{0x1p32 - 1, 0}));
}

TEST(PackIntegers, RefusesWhatIsNoForm) {
  const auto with = [](DType dtype, std::int64_t bits) {
    return [=] {
      Graph graph;
      Builder builder(graph);
      (void)pack_integers(builder.input({dtype, {4}}, "x"), bits);
    };
  };
  EXPECT_EQ(code_of(with(DType::i32, 2)), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of(with(DType::i32, 0)), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of(with(DType::i32, 64)), ErrorCode::bad_attribute);
  EXPECT_EQ(code_of(with(DType::f32, 8)), ErrorCode::dtype_mismatch);
  EXPECT_EQ(code_of(with(DType::u8, 8)), ErrorCode::dtype_mismatch);
  EXPECT_EQ(code_of(with(DType::f16, 1)), ErrorCode{0});
  Graph graph;
  Builder builder(graph);
  const Var bytes = builder.input({DType::u8, {3}}, "q");
  EXPECT_EQ(code_of([&] { (void)unpack_integers(bytes, 1, {DType::f32, {25}}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)unpack_integers(bytes, 1, {DType::f32, {4, 6}}); }), ErrorCode{0});
}

}  // namespace
}  // namespace tidemark
