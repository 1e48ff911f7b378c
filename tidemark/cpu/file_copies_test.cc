#include "tidemark/cpu/file_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cstring>
#include <random>
#include <thread>

#include "tests/support/scratch_folder.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/transfer.h"

namespace tidemark {
namespace {

using testing::ScratchFolder;
using Bytes8 = std::vector<std::byte>;

std::shared_ptr<const Folder> opened(const std::string& path) {
  return std::make_shared<const Folder>(std::move(Folder::open(path).value()));
}

// Values as there are: numbers whose exponents agree, zeros among numbers, noise, all the same, all kinds of
// infinities and what is no number.
enum class Kind { numbers, sparse, noise, constant, special };
constexpr Kind kinds[] = {Kind::numbers, Kind::sparse, Kind::noise, Kind::constant, Kind::special};

Bytes8 values(Kind kind, std::size_t width, std::size_t bytes, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Bytes8 list(bytes);
  constexpr std::uint64_t specials[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x80000000, 1, 0x7f800001};
  for (std::size_t at = 0; at < bytes; at += width) {
    std::uint64_t element = random();
    if (kind == Kind::numbers) element >>= 64 - 8 * width + (width == 1 ? 5 : 12);
    if (kind == Kind::sparse) element = at / 4096 % 4 == 0 ? element : 0;
    if (kind == Kind::constant) element = 0x3f803f803f803f80;
    if (kind == Kind::special) element = specials[at / 512 % std::size(specials)];
    std::memcpy(&list[at], &element, std::min(width, bytes - at));
  }
  return list;
}

constexpr DiskCompression ways[] = {DiskCompression::none, DiskCompression::automatic,
                                    DiskCompression::always};

class FileCopiesEach : public ::testing::TestWithParam<DiskCompression> {};
std::string name_of_way(const ::testing::TestParamInfo<DiskCompression>& way) {
  constexpr const char* names[] = {"none", "automatic", "always"};
  return names[static_cast<std::size_t>(way.param)];
}
INSTANTIATE_TEST_SUITE_P(Way, FileCopiesEach, ::testing::ValuesIn(ways), name_of_way);

std::string disk_failure(const std::function<void()>& body) {
  try {
    body();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::disk_failure);
    return error.what();
  }
  ADD_FAILURE() << "no DeviceError";
  return "";
}

TEST_P(FileCopiesEach, ValuesOfEveryWidthAndSizeKeepTheirBits) {
  const ScratchFolder scratch;
  FileArena file(opened(scratch.path()), 2 << 20, GetParam());
  for (const Kind kind : kinds) {
    for (const std::size_t width : {1, 2, 4, 8}) {
      for (const std::size_t bytes : {1, 7, 4096, 8193, 65'536, 65'537, 100'003, 262'144, 700'001}) {
        for (const std::int64_t offset : {0, 64, 4096, 70'001}) {
          FileCopies copies({nullptr, &file});
          const auto copy =
              copies.add(1, offset, static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(width));
          copies.link();
          const Bytes8 value = values(kind, width, bytes);
          Bytes8 back(bytes + 1, std::byte{77});
          copies.begin_run();
          copy->write(value.data());
          copy->read(back.data());
          copies.end_run();
          EXPECT_EQ(back.back(), std::byte{77});
          back.pop_back();
          ASSERT_EQ(back, value) << static_cast<int>(kind) << " width " << width << ", " << bytes << " at "
                                 << offset;
        }
      }
    }
  }
  EXPECT_TRUE(scratch.empty());
}

TEST_P(FileCopiesEach, NeighboursOfAValueAreNotTouched) {
  const ScratchFolder scratch;
  FileArena file(opened(scratch.path()), 1 << 20, GetParam());
  const Bytes8 before = values(Kind::noise, 8, 1 << 20, 2);
  for (const Kind kind : kinds) {
    for (const auto& [offset, bytes] :
         {std::pair(4096, 200'000), {5000, 131'072}, {0, 65'540}, {64, 1'000'000}}) {
      file.memory.write(0, before);
      FileCopies copies({nullptr, &file});
      const auto copy = copies.add(1, offset, bytes, 4);
      copies.link();
      copy->write(values(kind, 4, static_cast<std::size_t>(bytes)).data());
      Bytes8 after(before.size());
      file.memory.read(0, after);
      EXPECT_TRUE(std::equal(after.begin(), after.begin() + offset, before.begin()));
      EXPECT_TRUE(std::equal(after.begin() + offset + bytes, after.end(), before.begin() + offset + bytes));
    }
  }
}

TEST_P(FileCopiesEach, AWindowOnWhatWasWrittenComesBackAlone) {
  const ScratchFolder scratch;
  FileArena file(opened(scratch.path()), 1'000'000, GetParam());
  FileCopies copies({nullptr, &file});
  const auto whole = copies.add(1, 100'000, 400'000, 4), window = copies.add(1, 150'001, 70'000, 4);
  const auto later = copies.add(1, 300'000, 400'000, 2);  // takes bytes of the first when that is gone
  copies.link();
  const Bytes8 bytes = values(Kind::sparse, 4, 400'000), others = values(Kind::constant, 2, 400'000);
  for (int round = 0; round < 20; ++round) {
    copies.begin_run();
    Bytes8 back(400'000);
    whole->write(bytes.data());
    window->read(back.data());
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + 70'000, bytes.begin() + 50'001));
    whole->read(back.data());
    EXPECT_EQ(back, bytes);
    later->write(others.data());
    later->read(back.data());
    EXPECT_EQ(back, others);
    window->read(back.data());
    EXPECT_TRUE(std::equal(back.begin(), back.begin() + 70'000, bytes.begin() + 50'001));
    copies.end_run();
  }
}

TEST_P(FileCopiesEach, ABitThatChangedIsNoticedWhereverItIs) {
  const ScratchFolder scratch;
  FileArena file(opened(scratch.path()), 20'000, GetParam());
  FileCopies copies({nullptr, &file});
  const auto copy = copies.add(1, 100, 15'000, 4);
  copies.link();
  Bytes8 back(15'000);
  EXPECT_THROW(copy->read(back.data()), DeviceError) << "nothing was written";
  for (const Kind kind : kinds) {
    const Bytes8 bytes = values(kind, 4, 15'000);
    copy->write(bytes.data());
    const std::int64_t before = file.memory.traffic().read.bytes;
    copy->read(back.data());
    const std::int64_t stored = file.memory.traffic().read.bytes - before;
    for (std::int64_t at = 100; at < 100 + stored; at += stored < 6000 ? 1 : 97) {
      std::byte as_it_was{};
      file.memory.read(at, {&as_it_was, 1});
      const std::byte changed = as_it_was ^ std::byte{4};
      file.memory.write(at, {&changed, 1});
      const std::string text = disk_failure([&] { copy->read(back.data()); });
      EXPECT_THAT(text, ::testing::HasSubstr(scratch.path()));
      EXPECT_THAT(text, ::testing::HasSubstr("bytes 100 to 15100 are not what was written"));
      file.memory.write(at, {&as_it_was, 1});
    }
    copy->read(back.data());
    EXPECT_EQ(back, bytes);
    const std::byte beside{1};
    file.memory.write(99, {&beside, 1});
    file.memory.write(15'100, {&beside, 1});
    EXPECT_NO_THROW(copy->read(back.data()));
  }
}

TEST_P(FileCopiesEach, ThreadsThatWriteAndReadTakeTurns) {
  const ScratchFolder scratch;
  constexpr std::int64_t each = 300'003;
  FileArena file(opened(scratch.path()), 4 * each, GetParam());
  FileCopies copies({nullptr, &file});
  std::vector<std::shared_ptr<const FileCopy>> list;
  for (std::int64_t t = 0; t < 4; ++t) list.push_back(copies.add(1, t * each, each, 4));
  copies.link();
  std::atomic<int> wrong = 0;
  for (int run = 0; run < 5; ++run) {
    copies.begin_run();
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < list.size(); ++t) {
      threads.emplace_back([&, t] {
        const Bytes8 value = values(kinds[t], 4, each, t);
        Bytes8 back(each);
        list[t]->write(value.data());
        list[t]->read(back.data());
        wrong += back != value;
      });
    }
    for (std::thread& thread : threads) thread.join();
    copies.end_run();
  }
  EXPECT_EQ(wrong, 0);
}

// A file system in memory that has no way past the cache.
TEST_P(FileCopiesEach, FileSystemsWithoutAWayPastTheCacheServe) {
  const ScratchFolder scratch;
  if (::mount("ramfs", scratch.path().c_str(), "ramfs", 0, nullptr) != 0)
    GTEST_SKIP() << "only root can mount a file system";
  {
    FileArena file(opened(scratch.path()), 1 << 20, GetParam());
    FileCopies copies({nullptr, &file});
    const auto copy = copies.add(1, 5000, 900'000, 4);
    copies.link();
    for (const Kind kind : kinds) {
      const Bytes8 value = values(kind, 4, 900'000);
      Bytes8 back(900'000);
      copy->write(value.data());
      copy->read(back.data());
      EXPECT_EQ(back, value);
    }
  }
  ::umount2(scratch.path().c_str(), MNT_DETACH);
}

TEST(FileCopies, WhatShrinksIsMovedInFewerBytesAndWhatDoesNotInAsManyAsItHas) {
  const ScratchFolder scratch;
  FileArena file(opened(scratch.path()), 1 << 20, DiskCompression::always);
  const auto moved = [&](const Bytes8& value) {
    FileCopies copies({nullptr, &file});
    const auto copy = copies.add(1, 64, static_cast<std::int64_t>(value.size()), 4);
    copies.link();
    const DiskTraffic& traffic = file.memory.traffic();
    const std::int64_t values = traffic.values, written = traffic.written.bytes, read = traffic.read.bytes;
    Bytes8 back(value.size());
    copy->write(value.data());
    copy->read(back.data());
    EXPECT_EQ(traffic.values - values, 2 * static_cast<std::int64_t>(value.size()));
    EXPECT_EQ(traffic.written.bytes - written, traffic.read.bytes - read);
    return traffic.written.bytes - written;
  };
  EXPECT_LT(moved(values(Kind::constant, 4, 1'000'000)), 10'000);
  EXPECT_LT(moved(values(Kind::sparse, 4, 1'000'000)), 350'000);
  EXPECT_LT(moved(values(Kind::numbers, 4, 1'000'000)), 800'000);
  EXPECT_EQ(moved(values(Kind::noise, 4, 1'000'000)), 1'000'000);
  EXPECT_EQ(moved(values(Kind::constant, 4, 8000)), 8000) << "too few for a page less";
  // Much that shrinks, and then what does not.
  Bytes8 mixed = values(Kind::constant, 4, 300'000);
  const Bytes8 noise = values(Kind::noise, 4, 700'000);
  mixed.insert(mixed.end(), noise.begin(), noise.end());
  EXPECT_LT(moved(mixed), 710'000);
  // The other way round it is given up before anything of it is written.
  std::ranges::reverse(mixed);
  EXPECT_EQ(moved(mixed), 1'000'000);
}

TEST(FileCopies, OnlyCopiesTouchAFile) {
  const ScratchFolder scratch;
  FileArena file(opened(scratch.path()), 10'000);
  const FileCopies files({nullptr, &file});
  const auto command = [](StepKind kind, std::int32_t from, std::int32_t to) {
    Command made;
    made.kind = kind;
    made.in = {{.location = {.which = from}, .type = {DType::f32, {4}}, .strides = {1}}};
    made.out = {{.location = {.which = to}, .type = {DType::f32, {4}}, .strides = {1}}};
    return made;
  };
  EXPECT_NO_THROW(require_memory(command(StepKind::copy, 0, 1), files));
  EXPECT_NO_THROW(require_memory(command(StepKind::copy, 1, 0), files));
  EXPECT_NO_THROW(require_memory(command(StepKind::encode, 0, 0), files));
  EXPECT_NO_THROW(require_memory(command(StepKind::compute, 0, 0), files));
  EXPECT_THROW(require_memory(command(StepKind::copy, 1, 1), files), Error);
  EXPECT_THROW(require_memory(command(StepKind::encode, 1, 1), files), Error);
  EXPECT_THROW(require_memory(command(StepKind::compute, 0, 1), files), Error);
  EXPECT_THROW(require_memory(command(StepKind::compute, 1, 0), files), Error);
  Command scratch_in_file = command(StepKind::compute, 0, 0);
  scratch_in_file.scratch = Location{.which = 1};
  EXPECT_THROW(require_memory(scratch_in_file, files), Error);
}

}  // namespace
}  // namespace tidemark
