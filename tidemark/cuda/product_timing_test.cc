// Products by algorithms that were timed, where there is a GPU: the same bits in every run from the first on.
#include "tidemark/cuda/product_timing.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/scratch_folder.h"

namespace tidemark::cuda {
namespace {

using testing::ScratchFolder;

TEST(ProductForm, AKeySaysAllThatDecidesAProduct) {
  const MatrixProduct product{.dtype = DType::bf16,
                              .result_dtype = DType::f32,
                              .m = 48,
                              .n = 40,
                              .k = 32,
                              .lhs_row = 32,
                              .lhs_depth = 1,
                              .rhs_depth = 40,
                              .rhs_column = 1,
                              .leading = 40};
  const ProductForm form = matrix_product(product);
  EXPECT_EQ(extent(form.result, form.batch), 48 * 40);
  ProductForm moved = form;
  moved.parts = {{.lhs = 64, .rhs = 0, .out = 0}};
  EXPECT_EQ(key_of(moved), key_of(form));
  std::vector<ProductForm> others(8, form);
  others[0].dtype = DType::f16;
  others[1].result_dtype = DType::bf16;
  others[2].left.transposed = !form.left.transposed;
  others[3].right.leading += 8;
  others[4].result.batch_stride += 8;
  others[5].batch = 2;
  others[6].workspace_bytes += 256;
  others[7].left.columns += 1;
  for (const ProductForm& other : others) EXPECT_NE(key_of(other), key_of(form));
}

#ifdef TIDEMARK_HAS_CUDA

// f32 (512, 4096) × (4096, 512): its sum is worth splitting, so that algorithms differ in their bits.
std::vector<std::byte> product_bits(const Context& context, int times) {
  const Blas blas(context);
  ProductForm form = matrix_product({.m = 512,
                                     .n = 512,
                                     .k = 4096,
                                     .lhs_row = 4096,
                                     .lhs_depth = 1,
                                     .rhs_depth = 512,
                                     .rhs_column = 1,
                                     .leading = 512});
  form.workspace_bytes = 32 << 20;
  PlanAlgorithms algorithms({}, "");
  const Product product(blas, form, algorithms);
  const Stream stream(context);
  std::vector<float> numbers(4096 * 512);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>((i * 2654435761u) % 1000) / 1000.0f - 0.5f;
  const auto operand_bytes = static_cast<std::int64_t>(numbers.size() * sizeof(float));
  const std::int64_t result_bytes = std::int64_t{512} * 512 * 4;
  const CUdeviceptr lhs = context.allocate(operand_bytes), rhs = context.allocate(operand_bytes),
                    out = context.allocate(result_bytes), workspace = context.allocate(form.workspace_bytes);
  stream.copy_to_device(lhs, reinterpret_cast<const std::byte*>(numbers.data()), operand_bytes);
  stream.copy_to_device(rhs, reinterpret_cast<const std::byte*>(numbers.data()), operand_bytes);
  std::vector<std::byte> first, bits(static_cast<std::size_t>(result_bytes));
  for (int i = 0; i < times; ++i) {
    product.put(stream.get(), lhs, rhs, 0, out, workspace);
    stream.copy_to_host(bits.data(), out, result_bytes);
    stream.wait();
    if (first.empty()) first = bits;
    EXPECT_EQ(bits, first) << "run " << i;
  }
  for (const CUdeviceptr memory : {lhs, rhs, out, workspace}) context.release(memory);
  return first;
}

TEST(ProductTiming, WhatWasTimedOnceCountsInEveryLaterRun) {
  if (const DeviceList list = devices(); list.devices.empty()) GTEST_SKIP() << list.reason;
  const ScratchFolder folder;
  const char* const before = std::getenv("TIDEMARK_CUDA_CACHE");
  const std::string old = before ? before : "";
  ::setenv("TIDEMARK_CUDA_CACHE", folder.path().c_str(), 1);
  const Context context(0);
  context.use();
  ::setenv("TIDEMARK_CUDA_TIMING", "1", 1);
  const std::vector<std::byte> timed = product_bits(context, 5);
  ::unsetenv("TIDEMARK_CUDA_TIMING");
  EXPECT_EQ(product_bits(context, 2), timed);
  before ? ::setenv("TIDEMARK_CUDA_CACHE", old.c_str(), 1) : ::unsetenv("TIDEMARK_CUDA_CACHE");
  const Result<Folder, std::string> kept = Folder::open(folder.path());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept.value().files().size(), 1u);
}

#endif

}  // namespace
}  // namespace tidemark::cuda
