#include "tidemark/cuda/copy_batch.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/host_kernels.h"
#include "tidemark/cuda/compiler.h"

namespace tidemark::cuda {
namespace {

TEST(CopyBatch, TakesCopiesThatMayBeDoneInAnyOrder) {
  CopyBatch batch;
  EXPECT_TRUE(batch.add(1000, 2000, 100));
  EXPECT_TRUE(batch.add(1100, 2000, 100)) << "read twice";
  EXPECT_FALSE(batch.add(1150, 3000, 100)) << "written twice";
  EXPECT_FALSE(batch.add(4000, 1010, 100)) << "reads what is written";
  EXPECT_FALSE(batch.add(2050, 5000, 100)) << "writes what is read";
  EXPECT_FALSE(batch.add(6000, 7000, 99)) << "of another size";
  EXPECT_TRUE(batch.add(1200, 2100, 100));
  EXPECT_TRUE(batch.add(1300, 2200, 100));
  EXPECT_FALSE(batch.add(1400, 2300, 100)) << "full";
  EXPECT_EQ(batch.count(), 4u);
  batch.clear();
  EXPECT_TRUE(batch.add(4000, 1010, 99));
}

TEST(CopyBatch, CopiesAlignedBytesAndOthers) {
  const testing::HostKernels compiled({write_copies()});
  for (const std::size_t shift : {0u, 3u}) {
    for (const std::int64_t bytes : {1, 16, 1000, 4096}) {
      std::vector<unsigned char> from(3 * 5000), to(3 * 5000, 7);
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 31 + 1);
      CopyBatch batch;
      for (std::size_t k = 0; k < 3; ++k) {
        ASSERT_TRUE(batch.add(reinterpret_cast<std::uint64_t>(to.data() + 5000 * k + shift),
                              reinterpret_cast<std::uint64_t>(from.data() + 5000 * k), bytes));
      }
      const auto pointers = batch.pointers();
      const void* in[CopyBatch::most];
      void* out[CopyBatch::most];
      for (std::size_t k = 0; k < CopyBatch::most; ++k) {
        in[k] = reinterpret_cast<const void*>(pointers[k]);
        out[k] = reinterpret_cast<void*>(pointers[CopyBatch::most + k]);
      }
      ASSERT_TRUE(compiled.run(0, in, out, reinterpret_cast<void*>(pointers[2 * CopyBatch::most])));
      for (std::size_t i = 0; i < to.size(); ++i) {
        const std::size_t at = i % 5000;
        const bool copied = at >= shift && at < shift + static_cast<std::size_t>(bytes);
        ASSERT_EQ(to[i], copied ? from[i - shift] : 7) << i;
      }
    }
  }
}

TEST(CopyBatch, CompilesForTheGpu) {
  if (!compiler_version()) GTEST_SKIP() << compiler_version().error();
  EXPECT_FALSE(compile(write_copies().source, {9, 0}).empty());
}

}  // namespace
}  // namespace tidemark::cuda
