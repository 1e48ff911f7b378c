// Copies between a GPU and files, on a driver that is not there: its memory is the host's, and what is put
// into a stream happens when someone waits for it, on that thread.
#include "tidemark/cuda/disk_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "tests/support/errors.h"
#include "tests/support/gpu.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/base/aligned.h"
#include "tidemark/base/error.h"
#include "tidemark/runtime/disk_memory.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

using testing::ScratchFolder;

std::vector<std::function<void()>> put_in;  // and has not happened

Driver pretended() {
  Driver driver = tidemark::testing::pretended_driver();
  driver.stream_create = [](CUstream*, unsigned) { return CUDA_SUCCESS; };
  driver.stream_destroy = [](CUstream) { return CUDA_SUCCESS; };
  driver.stream_wait = [](CUstream) {
    for (const auto& work : put_in) work();
    put_in.clear();
    return CUDA_SUCCESS;
  };
  driver.copy_to_host = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    put_in.emplace_back([=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
    return CUDA_SUCCESS;
  };
  driver.copy_to_device = [](CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    put_in.emplace_back([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
    return CUDA_SUCCESS;
  };
  driver.launch_host = [](CUstream, CUhostFn function, void* argument) {
    put_in.emplace_back([=] { function(argument); });
    return CUDA_SUCCESS;
  };
  return driver;
}

constexpr std::int64_t piece = disk_staging_bytes / 2;

CommandOperand operand(int memory, std::int64_t offset, std::int64_t bytes) {
  return {.location = {.base = Location::arena, .which = memory, .offset = offset},
          .type = {DType::u8, {bytes}},
          .strides = dense_strides({bytes})};
}

Command copy_of(const CommandOperand& from, const CommandOperand& to, int lane) {
  return {.kind = StepKind::copy, .in = {from}, .out = {to}, .regions = {}, .lane = lane};
}

// A GPU of two values, memory 0, and a disk, memory 1.
class DiskCopiesTest : public ::testing::TestWithParam<DiskCompression> {
 protected:
  static constexpr std::int64_t most = 3 * piece, page = 4096;
  explicit DiskCopiesTest(DiskCompression compression)
      : driver_(pretended()),
        context_(0, driver_),
        stream_(context_),
        folder_(std::make_shared<const Folder>(std::move(Folder::open(scratch_.path()).value()))),
        file_(folder_, 2 * (most + page), compression),
        staging_(allocate_aligned(disk_staging_bytes)),
        copies_({{}, {.file = &file_, .staging = staging_.get()}}) {}
  DiskCopiesTest() : DiskCopiesTest(DiskCompression::none) {}

  // A value there and back again: the numbers of the two copies.
  std::pair<std::size_t, std::size_t> there_and_back(std::int64_t offset, std::int64_t bytes) {
    const CommandOperand here = operand(0, 0, bytes), there = operand(1, offset, bytes);
    const std::size_t out = copies_.add(copy_of(here, there, 1)).value();
    return {out, copies_.add(copy_of(there, here, 2)).value()};
  }
  static CUdeviceptr at(const std::vector<std::byte>& memory) {
    return reinterpret_cast<CUdeviceptr>(memory.data());
  }

  ScratchFolder scratch_;
  Driver driver_;
  Context context_;
  Stream stream_;
  std::shared_ptr<const Folder> folder_;
  FileArena file_;
  AlignedBytes staging_;
  DiskCopies copies_;
};

std::vector<std::byte> noise(std::int64_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> list(static_cast<std::size_t>(bytes));
  for (std::byte& b : list) b = static_cast<std::byte>(random() % 8);
  return list;
}

class DiskCopiesEach : public DiskCopiesTest {
 protected:
  DiskCopiesEach() : DiskCopiesTest(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Way, DiskCopiesEach,
                         ::testing::Values(DiskCompression::none, DiskCompression::always));

TEST_P(DiskCopiesEach, ValuesOfAnySizeComeBackThroughOneStaging) {
  const std::int64_t sizes[] = {1, 4097, piece - 1, piece, piece + 5, most};
  std::vector<std::pair<std::size_t, std::size_t>> first, second;
  for (const std::int64_t bytes : sizes) {
    first.push_back(there_and_back(0, bytes));
    second.push_back(there_and_back(most + page, bytes));
  }
  copies_.link();
  for (std::size_t k = 0; k < std::size(sizes); ++k) {
    const std::vector<std::byte> a = noise(sizes[k], k), b = noise(sizes[k], 100 + k);
    std::vector<std::byte> a_back(a.size()), b_back(b.size());
    copies_.begin_run();
    copies_.put(first[k].first, at(a), stream_);
    copies_.put(second[k].first, at(b), stream_);
    copies_.put(first[k].second, at(a_back), stream_);
    copies_.put(second[k].second, at(b_back), stream_);
    EXPECT_NE(a_back, a) << "nothing happens while it is put in";
    stream_.wait();
    copies_.throw_failure();
    copies_.end_run();
    EXPECT_EQ(a_back, a) << sizes[k];
    EXPECT_EQ(b_back, b) << sizes[k];
  }
  EXPECT_TRUE(scratch_.empty()) << "a file without a name";
}

TEST_F(DiskCopiesTest, BytesThatChangedOnTheDiskAreAnErrorOnceAndTheNextRunIsRight) {
  const auto [out, in] = there_and_back(0, piece + 100);
  copies_.link();
  const std::vector<std::byte> value = noise(piece + 100, 1);
  std::vector<std::byte> back(value.size());
  copies_.put(out, at(value), stream_);
  stream_.wait();
  const std::byte other{99};
  file_.memory.write(piece + 50, {&other, 1});
  copies_.put(in, at(back), stream_);
  stream_.wait();
  EXPECT_TRUE(copies_.failed());
  // What comes later is left alone, and the first failure is the one that is told.
  copies_.put(out, at(back), stream_);
  stream_.wait();
  try {
    copies_.throw_failure();
    ADD_FAILURE() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::disk_failure);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("are not what was written"));
  }
  EXPECT_FALSE(copies_.failed());
  copies_.throw_failure();

  copies_.put(out, at(value), stream_);
  copies_.put(in, at(back), stream_);
  stream_.wait();
  copies_.throw_failure();
  EXPECT_EQ(back, value);
}

TEST_F(DiskCopiesTest, OnlyCopiesTouchFiles) {
  EXPECT_EQ(copies_.add(copy_of(operand(0, 0, 10), operand(0, 64, 10), 1)), std::nullopt);
  EXPECT_EQ(testing::code_of([&] { copies_.add(copy_of(operand(1, 0, 10), operand(1, page, 10), 1)); }),
            ErrorCode::no_kernel);
  Command fetch = copy_of(operand(1, 0, 10), operand(0, 0, 10), 1);
  fetch.kind = StepKind::fetch;
  EXPECT_EQ(testing::code_of([&] { copies_.add(fetch); }), ErrorCode::no_kernel);
}

}  // namespace
}  // namespace tidemark::cuda

#endif
