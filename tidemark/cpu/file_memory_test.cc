#include "tidemark/cpu/file_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "tests/support/process_counts.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/device.h"

namespace tidemark {
namespace {

using testing::ScratchFolder;

std::shared_ptr<const Folder> opened(const std::string& path) {
  return std::make_shared<const Folder>(std::move(Folder::open(path).value()));
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> list(bytes);
  for (std::size_t i = 0; i < bytes; ++i) list[i] = static_cast<std::byte>((i * 2654435761u + seed) >> 11);
  return list;
}

// What `body` throws, in full; the test fails where it is no DeviceError of this code.
template <class Body>
std::string device_error(ErrorCode code, const Body& body) {
  try {
    body();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "no DeviceError";
  return "";
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(FileMemory, GivesBackWhatWasWrittenWhereverAndHoweverMuch) {
  const ScratchFolder scratch;
  FileMemory memory(opened(scratch.path()), 12 << 20);
  const std::size_t sizes[] = {1, 100, 4096, 5000, 1 << 20, (4 << 20) - 1, (4 << 20) + 1, 9 << 20};
  for (const std::size_t size : sizes) {
    for (const std::int64_t offset : {0, 1, 512, 4097, 1'000'000}) {
      const std::vector<std::byte> bytes = pattern(size, static_cast<unsigned>(offset));
      memory.write(offset, bytes);
      std::vector<std::byte> back(size);
      memory.read(offset, back);
      EXPECT_EQ(back, bytes) << size << " at " << offset;
    }
  }
}

TEST(FileMemory, ThreadsWriteAndReadSideBySide) {
  const ScratchFolder scratch;
  constexpr std::int64_t each = 1'000'003;
  FileMemory memory(opened(scratch.path()), 4 * each);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned round = 0; round < 5; ++round) {
        const std::vector<std::byte> bytes = pattern(each, 10 * t + round);
        std::vector<std::byte> back(each);
        memory.write(t * each, bytes);
        memory.read(t * each, back);
        wrong += back != bytes;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(FileMemory, TheFileHasNoNameAndAllOfItsBytes) {
  const ScratchFolder scratch;
  const std::size_t files = testing::open_files();
  {
    const std::shared_ptr<const Folder> folder = opened(scratch.path());
    const FileMemory memory(folder, 1 << 20);
    EXPECT_TRUE(scratch.empty());
    EXPECT_GT(testing::open_files(), files + 1);  // the folder and the file
  }
  EXPECT_EQ(testing::open_files(), files);
}

TEST(FileMemory, MoreBytesThanTheDiskHasAreRefusedBeforeAnyIsTaken) {
  const ScratchFolder scratch;
  constexpr std::int64_t bytes = std::int64_t{1} << 50;
  const std::string text =
      device_error(ErrorCode::disk_full, [&] { FileMemory(opened(scratch.path()), bytes); });
  EXPECT_TRUE(says(text, "1125899906842624 bytes")) << text;
  EXPECT_TRUE(says(text, scratch.path())) << text;
  EXPECT_TRUE(says(text, "help: make room")) << text;
}

// In a child, because the limit is the process's, which would end by the signal that comes with it.
TEST(FileMemory, ALimitOnFilesIsAnErrorAndNotASignal) {
  const ScratchFolder scratch;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = 100'000, .rlim_max = 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      FileMemory small(opened(scratch.path()), 100'000);
      small.write(99'000, pattern(1000, 1));
      FileMemory(opened(scratch.path()), 100'001);
    } catch (const DeviceError& error) {
      ::_exit(error.code() == ErrorCode::disk_full ? 3 : 4);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

// A limit, or an end of the disk, within a block of what goes past the cache.
TEST(FileMemory, WhatBreaksOffWithinABlockSaysWhy) {
  const ScratchFolder scratch;
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    FileMemory memory(opened(scratch.path()), 1 << 20);
    const rlimit limit{.rlim_cur = 10'000, .rlim_max = 10'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      memory.write(0, pattern(1 << 20, 1));
    } catch (const DeviceError& error) {
      ::_exit(says(error.what(), "File too large") ? 3 : 4);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(FileMemory, FoldersThatTakeNoFilesAreNamed) {
  CpuDevice device(1);
  EXPECT_THROW(device.use_folder(1, "/no/such/folder"), Error);
  device.use_folder(1, "/proc");  // is there, and makes no files
  const std::string text = device_error(ErrorCode::disk_failure, [&] { device.allocate(1, 4096); });
  EXPECT_TRUE(says(text, "in /proc")) << text;
  EXPECT_THROW(device.use_folder(0, "/tmp"), InternalError);
}

TEST(FileMemory, ADeviceReadsAndWritesItByAddressesOfItsOwn) {
  const ScratchFolder scratch;
  CpuDevice device(1);
  device.use_folder(1, scratch.path());
  const Address file = device.allocate(1, 10'000), other = device.allocate(1, 10'000);
  const Address memory = device.allocate(0, 10'000), further = device.allocate(2, 10'000);
  EXPECT_TRUE(device.find_file(file));
  EXPECT_TRUE(device.find_file(file + 9'999));
  EXPECT_NE(device.find_file(file), device.find_file(other));
  EXPECT_FALSE(device.find_file(memory));
  EXPECT_FALSE(device.find_file(further)) << "a memory without a folder";
  for (const Address at : {file, other, memory, further}) {
    const std::vector<std::byte> bytes = pattern(1000, static_cast<unsigned>(at.value));
    device.write(at + 77, bytes.data(), 1000);
  }
  for (const Address at : {file, other, memory, further}) {
    std::vector<std::byte> back(1000);
    device.read(back.data(), at + 77, 1000);
    EXPECT_EQ(back, pattern(1000, static_cast<unsigned>(at.value)));
  }
  for (const Address at : {file, other}) device.release(1, at, 10'000);
  EXPECT_FALSE(device.find_file(file));
  device.release(0, memory, 10'000);
  device.release(2, further, 10'000);
}

}  // namespace
}  // namespace tidemark
