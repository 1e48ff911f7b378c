#include "tidemark/cuda/kernel_set.h"

#include <gtest/gtest.h>

#include "tidemark/base/error.h"

namespace tidemark::cuda {
namespace {

#ifdef TIDEMARK_HAS_CUDA

KernelText launched(std::int64_t blocks) {
  return {.source = "the same", .launches = {{.kernel = "k", .blocks = blocks, .threads = 32}}};
}

TEST(KernelSet, EqualTextsAreOneKernel) {
  KernelSet set;
  EXPECT_EQ(set.add(launched(7)), set.add(launched(7)));
  EXPECT_EQ(set.size(), 1u);
}

// As the last rows of a head are, of which there are fewer: more blocks would write behind its results.
TEST(KernelSet, TheSameSourceWithOtherLaunchesIsAnotherKernel) {
  KernelSet set;
  const std::size_t whole = set.add(launched(7)), rest = set.add(launched(5));
  ASSERT_NE(whole, rest);
  EXPECT_EQ(set.text(whole).launches[0].blocks, 7);
  EXPECT_EQ(set.text(rest).launches[0].blocks, 5);
}

TEST(KernelSet, TheSameSourceWithOtherLaunchesOn90IsAnotherKernel) {
  KernelSet set;
  KernelText other = launched(7);
  other.launches_on_90 = launched(3).launches;
  EXPECT_NE(set.add(launched(7)), set.add(other));
}

// A number of blocks that does not fit would be cut to another one in silence.
TEST(KernelSet, MoreBlocksThanAGridHasAreRefused) {
  KernelSet set;
  EXPECT_THROW(set.add(launched(std::int64_t{1} << 31)), InternalError);
  EXPECT_EQ(set.add(launched((std::int64_t{1} << 31) - 1)), 0u);
}

// It would read what a kernel before it has not written yet: only some runs would be wrong.
TEST(KernelSet, AKernelThatDoesNotWaitForThoseBeforeIsRefused) {
  KernelSet set;
  KernelText kernel = launched(7);
  const std::string body = define_kernel("32", "k", "int", "use(at);");
  kernel.source = body;
  EXPECT_EQ(set.add(kernel), 0u);
  kernel.source = body + "__global__ void other() {}\n";
  EXPECT_THROW(set.add(kernel), InternalError);
}

#endif

}  // namespace
}  // namespace tidemark::cuda
