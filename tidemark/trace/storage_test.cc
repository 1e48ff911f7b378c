#include "tidemark/trace/storage.h"

#include <gtest/gtest.h>

#include <thread>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

// Memory of another library that counts how often it is told that nobody needs it any more.
struct Other {
  float values[4] = {1, 2, 3, 4};
  int returned = 0;

  ForeignMemory lend(bool read_only = false) {
    return {.data = reinterpret_cast<std::byte*>(values),
            .read_only = read_only,
            .owner = {this, [](void* self) { ++static_cast<Other*>(self)->returned; }}};
  }
};

TEST(Storage, LiesInForeignMemoryAndGivesItBackOnce) {
  Other other;
  {
    const auto storage = std::make_shared<Storage>(other.lend(), 16);
    EXPECT_TRUE(storage->foreign());
    EXPECT_FALSE(storage->read_only);
    EXPECT_EQ(storage->device, DeviceId());
    EXPECT_TRUE(storage->is_materialized());
    storage->materialize();
    EXPECT_EQ(storage->data(), reinterpret_cast<std::byte*>(other.values)) << "it does not move";
    EXPECT_EQ(other.returned, 0);
  }
  EXPECT_EQ(other.returned, 1);
}

template <class T>
struct NoMemory {
  using value_type = T;
  NoMemory() = default;
  template <class U>
  NoMemory(const NoMemory<U>&) {}  // NOLINT: implicit by design
  T* allocate(std::size_t) { throw std::bad_alloc(); }
  void deallocate(T*, std::size_t) {}
};

TEST(Storage, ThatCannotBeMadeGivesForeignMemoryBackOnce) {
  Other other;
  EXPECT_THROW(std::allocate_shared<Storage>(NoMemory<Storage>(), other.lend(), 16), std::bad_alloc);
  EXPECT_EQ(other.returned, 1);
}

TEST(Storage, OfItsOwnIsNotForeign) {
  const Storage storage(allocate_aligned(16), 16);
  EXPECT_FALSE(storage.foreign());
  EXPECT_FALSE(storage.read_only);
}

TEST(Storage, ReadOnlyMemoryIsReadAndNeverHandedOutForWriting) {
  Other other;
  const auto storage = std::make_shared<Storage>(other.lend(true), 16);
  EXPECT_TRUE(Storage::read(storage, 0));
  EXPECT_THROW(Storage::overwrite(storage, 0), InternalError);
}

TEST(Storage, IsNotOverwrittenWhileItIsReadAndAReadingMayEndOnAnotherThread) {
  Other other;
  const auto storage = std::make_shared<Storage>(other.lend(), 16);
  std::optional<Reading> reading = Storage::read(storage, 0);
  EXPECT_FALSE(Storage::overwrite(storage, 0));
  std::thread([held = *std::move(reading)] { EXPECT_NE(held.data(), nullptr); }).join();
  reading.reset();
  EXPECT_TRUE(Storage::overwrite(storage, 0));
}

}  // namespace
}  // namespace tidemark
