#include "tidemark/schedule/store/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "tests/support/reversals.h"
#include "tidemark/base/error.h"
#include "tidemark/schedule/store/store_files.h"

namespace tidemark::schedule {
namespace {

TEST(MemoryStore, UsesBlocksAgainAndStaysInItsBudget) {
  MemoryStore store(300);
  for (std::int32_t slot = 0; slot < 3; ++slot) store.open(slot, 100)[0] = std::byte(slot);
  EXPECT_EQ(store.allocated(), 300);
  for (int round = 0; round < 50; ++round) {
    store.drop(round % 3);
    EXPECT_EQ(store.allocated(), 300) << "the block is kept for the next state";
    store.open(round % 3, 100)[0] = std::byte(7);
  }
  EXPECT_EQ((*store.read(2))[0], std::byte(7));
  store.drop(0);
  store.drop(1);
  store.make_room(150);  // others hold as much: spare blocks must go
  EXPECT_EQ(store.allocated(), 100);
  store.make_room(0);
  store.open(0, 100);
  store.open(1, 100);
  store.drop(0);
  store.drop(1);
  store.set_budget(200);  // a smaller one, at once
  EXPECT_EQ(store.allocated(), 200);
  store.set_budget(100);
  EXPECT_EQ(store.allocated(), 100);
}

// Writes and reads at once, but only so many bytes fit.
class SmallDisk final : public IoQueue {
 public:
  explicit SmallDisk(std::size_t room) : room_(room), real_(make_io_queue(Io::blocking, 4)) {}
  std::string_view name() const override { return "blocking"; }
  void submit(const IoRequest& request) override {
    if (request.write && request.bytes > room_) {
      refused_ = IoResult{.token = request.token, .error = ENOSPC, .bytes = room_};
      return;
    }
    if (request.write) room_ -= request.bytes;
    real_->submit(request);
  }
  bool take(IoResult& result, bool wait) override {
    if (real_->take(result, wait)) return true;
    if (!refused_) return false;
    result = *refused_;
    refused_.reset();
    return true;
  }

 private:
  std::size_t room_;
  std::unique_ptr<IoQueue> real_;
  std::optional<IoResult> refused_;
};

std::shared_ptr<const Folder> opened(const testing::Scratch& scratch) {
  return std::make_shared<const Folder>(Folder::open(scratch.path()).value());
}

void put(SnapshotFiles& files, std::int32_t slot, char value) {
  const auto block = files.open(0, slot, 100);
  std::fill(block.begin(), block.end(), std::byte(value));
  files.close(0, slot, {.step = slot});
}

TEST(SnapshotFiles, CommitsInOrderUntilTheDiskIsFull) {
  const testing::Scratch scratch;
  SnapshotFiles files({opened(scratch)}, {.block_bytes = 100}, std::make_unique<SmallDisk>(400));
  std::vector<std::int32_t> committed;
  files.on_commit = [&](const Commit& commit) { committed.push_back(commit.slot); };
  put(files, 0, 'a');
  put(files, 1, 'b');
  files.drain();
  put(files, 2, 'c');
  try {
    files.drain();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::disk_full);
  }
  EXPECT_EQ(committed, (std::vector<std::int32_t>{0, 1}));
  const auto block = files.read(0, 1);
  ASSERT_TRUE(block);
  EXPECT_EQ((*block)[99], std::byte('b'));
}

TEST(SnapshotFiles, GivesWhatIsStillBeingWrittenAndWhatWasReadAhead) {
  const testing::Scratch scratch;
  for (const Io io : {Io::automatic, Io::thread}) {
    SnapshotFiles files({opened(scratch)}, {.block_bytes = 100, .buffers = 3}, make_io_queue(io, 3));
    for (std::int32_t slot = 0; slot < 12; ++slot) {
      put(files, slot, static_cast<char>('a' + slot));
      EXPECT_EQ((*files.read(0, slot))[50], std::byte('a' + slot));
    }
    files.drain();
    EXPECT_TRUE(files.prefetch(0, 3));
    EXPECT_TRUE(files.prefetch(0, 5));
    EXPECT_FALSE(files.prefetch(0, 7)) << "the last buffer is for whoever cannot wait";
    files.drop(0, 5, true);  // not wanted after all
    EXPECT_EQ((*files.read(0, 3))[0], std::byte('d'));
    EXPECT_EQ((*files.read(0, 7))[0], std::byte('h'));
    for (std::int32_t slot = 0; slot < 12; ++slot)
      if (slot != 5) files.drop(0, slot, true);
  }
  EXPECT_TRUE(scratch.empty());
}

}  // namespace
}  // namespace tidemark::schedule
