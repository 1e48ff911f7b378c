// The kernels against their definition, on data that is meant to break them.
#include "tidemark/ops/codec/sparse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/errors.h"
#include "tests/support/run_kernel.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

using namespace testing;

constexpr std::int64_t lengths[] = {0, 1, 7, 8, 9, 63, 64, 65, 1000, 16383, 16384, 16385, 100001};

Literal packed(const Literal& x, double share) {
  return run(op::to_sparse, {x}, pack(ToSparseAttrs{share}), {1, 2, 3})[0];
}
Literal unpacked(const Literal& bytes, double share, const Literal& like) {
  return run(op::from_sparse, {bytes}, pack(FromSparseAttrs{share, like.dtype, like.shape}), {1, 2, 3})[0];
}

// Every n-th element is not zero: numbers, and what is easily taken for nothing.
Literal some_set(DType dtype, std::int64_t n, std::int64_t every, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const double odd[] = {-0.0, std::nan(""), INFINITY, -INFINITY, 0x1p-24, -0x1p-24, 1, -2};
  std::vector<double> values(static_cast<std::size_t>(n), 0);
  for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(every))
    values[i] = is_float(dtype) ? odd[random() % std::size(odd)] : 1.0 + static_cast<double>(random() % 100);
  return literal_of(dtype, {n}, values);
}

// As sparse.h has it, byte by byte.
std::vector<std::uint8_t> defined(const Literal& x, double share) {
  const auto size = static_cast<std::size_t>(size_of(x.dtype));
  const std::size_t count = x.bytes.size() / size;
  const auto room = static_cast<std::size_t>(sparse_capacity(share, static_cast<std::int64_t>(count)));
  std::vector<std::uint8_t> bytes(room * size + (count + 7) / 8, 0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bool any = false;
    for (std::size_t b = 0; b < size; ++b) any = any || x.bytes[i * size + b] != std::byte{0};
    if (!any) continue;
    for (std::size_t b = 0; b < size; ++b) bytes[at++] = static_cast<std::uint8_t>(x.bytes[i * size + b]);
    bytes[room * size + i / 8] = static_cast<std::uint8_t>(bytes[room * size + i / 8] | (1u << (i % 8)));
  }
  return bytes;
}

TEST(Sparse, WritesTheBytesOfItsDefinitionAndReadsThemBack) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto dtype = static_cast<DType>(t);
    for (const std::int64_t n : lengths) {
      for (const std::int64_t every : {2, 3, 40}) {
        SCOPED_TRACE(fmt::format("{} of {}, every {}", n, name_of(dtype), every));
        const Literal x = some_set(dtype, n, every, static_cast<std::uint64_t>(n));
        const double share = n < 100 ? 1.0 : 0.51;
        const Literal bytes = packed(x, share);
        ASSERT_EQ(static_cast<std::int64_t>(bytes.bytes.size()), sparse_bytes(share, {dtype, {n}}));
        ASSERT_EQ(values_of<std::uint8_t>(bytes), defined(x, share));
        ASSERT_EQ(bit_difference(unpacked(bytes, share, x), x), "");
      }
    }
  }
}

TEST(Sparse, KeepsThePayloadOfNaNAndFillsItsRoomToTheLast) {
  std::vector<float> values(1000, 0);
  for (std::size_t i = 0; i < values.size(); i += 2)
    values[i] = std::bit_cast<float>(0x7fc00000u + static_cast<std::uint32_t>(i) * 7919u % 0x3fffffu);
  const Literal x = literal_of<float>({1000}, values);
  ASSERT_EQ(bit_difference(unpacked(packed(x, 0.5), 0.5, x), x), "");
  const Literal full = random_literal(DType::f32, {500}, 3, 1, 2);
  ASSERT_EQ(bit_difference(unpacked(packed(full, 1), 1, full), full), "");
}

TEST(Sparse, MoreThanThereIsRoomForFailsAndSaysHowMuch) {
  std::vector<double> values(1000, 0);
  for (std::size_t i = 0; i < 501; ++i) values[i * 1000 / 501] = 1;
  const Literal x = literal_of(DType::f32, {1000}, values);
  const KernelRun overflow = run_kernel(op::to_sparse, {x}, pack(ToSparseAttrs{0.5}), {.may_fail = true});
  EXPECT_THAT(overflow.failure, ::testing::HasSubstr("50.1%"));
  EXPECT_THAT(overflow.failure, ::testing::HasSubstr("50.0%"));
  EXPECT_THROW((void)run_kernel(op::to_sparse, {x}, pack(ToSparseAttrs{0.5})), SparseOverflow);
}

TEST(Sparse, RefusesSharesThatAreNone) {
  for (const double share : {0.0, -0.5, 1.01, std::nan("")}) {
    Graph graph;
    Builder builder(graph);
    const Var x = builder.input({DType::f32, {4}}, "x");
    EXPECT_EQ(code_of([&] { (void)to_sparse(x, share); }), ErrorCode::bad_attribute) << share;
  }
}

}  // namespace
}  // namespace tidemark
