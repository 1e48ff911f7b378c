// The guards must be able to break.
#include "tests/support/run_kernel.h"

#include <gmock/gmock.h>

#include "tidemark/ops/custom/custom.h"

namespace tidemark::testing {
namespace {

// Copies `written` elements, from `first` on, to a result of as many as the operand has.
const Op& copy_of(std::int64_t first, std::int64_t written) {
  return make_custom_op({.name = "copy_of",
                         .infer = [](std::span<const Type> in) { return std::vector<Type>{in[0]}; },
                         .kernel =
                             [=](std::span<const TensorRef> in, std::span<const TensorRef> out) {
                               for (std::int64_t i = first; i < first + written; ++i)
                                 out[0].as<double>()[i] = in[0].as<double>()[i];
                             }});
}

TEST(RunKernel, NoticesWhatIsWrittenOutsideAResultAndWhatIsNotWritten) {
  const Literal x = literal_of(DType::f64, {4}, {1, 2, 3, 4});
  const KernelRun whole = run_kernel(copy_of(0, 4), {x}, {});
  EXPECT_EQ(whole.broken, "");
  EXPECT_THAT(values_of(whole.results[0]), ::testing::ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(run_kernel(copy_of(0, 5), {x}, {}).broken, "result 0");
  EXPECT_EQ(run_kernel(copy_of(-1, 5), {x}, {}).broken, "result 0");
  const Op& lazy = copy_of(0, 3);
  EXPECT_NE(bit_difference(run_kernel(lazy, {x}, {}, {.fill = std::byte{0}}).results,
                           run_kernel(lazy, {x}, {}, {.fill = std::byte{1}}).results),
            "");
}

TEST(RunKernel, LaysOperandsOutAsToldAndResultsOverThem) {
  const Literal x = literal_of(DType::f64, {2}, {1, 2});
  const KernelRun untouched = run_kernel(copy_of(0, 0), {x}, {}, {.over = 0});
  EXPECT_EQ(untouched.broken, "");
  EXPECT_THAT(values_of(untouched.results[0]), ::testing::ElementsAre(1, 2));
  // The kernel reads as if the operand were dense, so it sees the zero in the gap.
  const KernelOptions with_gaps{.layouts = {{.strides = {2}, .first = 3}}, .fill = std::byte{0}};
  const KernelRun strided = run_kernel(copy_of(0, 2), {x}, {}, with_gaps);
  EXPECT_EQ(strided.broken, "");
  EXPECT_THAT(values_of(strided.results[0]), ::testing::ElementsAre(1, 0));
}

}  // namespace
}  // namespace tidemark::testing
