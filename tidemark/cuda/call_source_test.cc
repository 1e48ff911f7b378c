// What kernels of single calls look like and that they compile; what they compute: call_values_test.cc.
#include "tidemark/cuda/call_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/call_samples.h"
#include "tests/support/compiled_groups.h"
#include "tidemark/base/error.h"

namespace tidemark::cuda {
namespace {

using namespace tidemark::testing;
using ::testing::HasSubstr;

TEST(CallSource, IsAFunctionOfTheCall) {
  const CallCases a = row_shapes(DType::f32), b = row_shapes(DType::f32);
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(write_call(a[i]->call).source, write_call(b[i]->call).source);
}

TEST(CallSource, RowsThatFitAreHeld) {
  const auto softmax = [](DType dtype, const Shape& shape) {
    const CallCase c(op::softmax, {random_literal(dtype, shape, 1, 0, 1)}, pack(AxisAttrs{1}));
    return write_call(c.call);
  };
  const KernelText small = softmax(DType::f32, {1000, 768});
  EXPECT_THAT(small.source, HasSubstr("int width = 4;"));
  EXPECT_THAT(small.source, HasSubstr("int team = 64;"));
  EXPECT_THAT(small.source, HasSubstr("int packs = 3;"));
  EXPECT_EQ(small.launches[0].blocks, 1000);
  // Of 64 threads half would have one pack and half two: 32 have three each.
  EXPECT_THAT(softmax(DType::bf16, {8, 768}).source, HasSubstr("int team = 32;"));
  EXPECT_THAT(softmax(DType::bf16, {8, 768}).source, HasSubstr("int packs = 3;"));
  EXPECT_THAT(softmax(DType::bf16, {8, 1024}).source, HasSubstr("int team = 64;"));
  EXPECT_THAT(softmax(DType::bf16, {8, 256}).source, HasSubstr("int team = 16;"));  // two rows in a warp
  EXPECT_EQ(softmax(DType::bf16, {1000, 768}).launches[0].blocks, 500);
  EXPECT_EQ(softmax(DType::bf16, {1000, 512}).launches[0].blocks, 250);  // shorter ones: more
  EXPECT_THAT(softmax(DType::bf16, {8, 64}).source, HasSubstr("int team = 8;"));
  EXPECT_THAT(softmax(DType::f32, {2, 8192}).source, HasSubstr("int team = 512;"));
  const KernelText large = softmax(DType::bf16, {2, 50257});
  EXPECT_THAT(large.source, HasSubstr("int packs = 0;"));
  EXPECT_THAT(large.source, HasSubstr("int width = 8;"));
  EXPECT_THAT(large.source, HasSubstr("shifted = true;"));
}

TEST(CallSource, LongRowsThatAreReadOnceAreNotHeld) {
  const Literal x = random_literal(DType::f32, {2, 32000}, 1, 0, 1);
  const CallCase loss(op::cross_entropy, {x, labels_below(32000, 2)}, pack(CrossEntropyAttrs{}));
  const CallCase softmax(op::softmax, {x}, pack(AxisAttrs{1}));
  EXPECT_THAT(write_call(loss.call).source, HasSubstr("int packs = 0;"));
  EXPECT_THAT(write_call(softmax.call).source, HasSubstr("int packs = 8;"));
}

TEST(CallSource, LargeCallsCountInSixtyFourBits) {
  const auto argmax = [](std::int64_t rows) {
    const Type x{DType::u8, {rows, 1 << 12}}, out{DType::i64, {rows}};
    const Attrs attrs = pack(AxisAttrs{1});
    return write_call(
        {.op = &op::argmax, .in = std::span(&x, 1), .out = std::span(&out, 1), .attrs = &attrs});
  };
  EXPECT_THAT(argmax(1 << 10).source, HasSubstr("using Index = int;"));
  EXPECT_THAT(argmax(1 << 20).source, HasSubstr("using Index = long long;"));
}

TEST(CallSource, NothingToComputeIsNoLaunch) {
  const CallCase c(op::softmax, {random_literal(DType::f32, {0, 3}, 1, 0, 1)}, pack(AxisAttrs{1}));
  EXPECT_TRUE(write_call(c.call).launches.empty());
}

TEST(CallSource, AnOpWithoutAKernelIsOurMistake) {
  const Literal x = random_literal(DType::f32, {3}, 1, 0, 1);
  const CallCase c(op::add, {x, x}, {});
  EXPECT_FALSE(has_call_kernel(c.call));
  EXPECT_FALSE(call_takes_strides(c.call, 0));
  EXPECT_FALSE(call_may_overwrite(c.call, 0, 0));
  EXPECT_THROW(write_call(c.call), InternalError);
}

// All samples in all dtypes: call_source_slow_test.cc.
class CallCompiler : public ::testing::TestWithParam<Architecture> {};

TEST_P(CallCompiler, EveryCallCompiles) {
  TM_NEEDS_COMPILER();
  constexpr DType dtypes[] = {DType::f32, DType::bf16, DType::boolean};
  expect_compiles(every_call_source(dtypes, 1), GetParam());
}

INSTANTIATE_TEST_SUITE_P(EveryArchitecture, CallCompiler, ::testing::ValuesIn(architectures));

}  // namespace
}  // namespace tidemark::cuda
