#include "tidemark/trace/storage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "tidemark/base/error.h"
#include "tidemark/cpu/device.h"

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
    EXPECT_EQ(storage->device(), DeviceId());
    EXPECT_TRUE(storage->is_materialized());
    storage->materialize();
    EXPECT_EQ(storage->data(), reinterpret_cast<std::byte*>(other.values)) << "it does not move";
    EXPECT_EQ(other.returned, 0);
  }
  EXPECT_EQ(other.returned, 1);
}

// Memory that only it follows.
class FarMemory final : public DeviceMemory {
 public:
  FarMemory(const Device& device, std::string text) : device_(device), text_(std::move(text)) {}
  const Device& device() const override { return device_; }
  DeviceId id() const override { return {DeviceKind::extension, 3}; }
  Address address() const override { return {7}; }
  std::int64_t bytes() const override { return static_cast<std::int64_t>(text_.size()); }
  void read(std::byte* to) const override {
    ++reads;
    std::memcpy(to, text_.data(), text_.size());
  }
  std::shared_ptr<DeviceMemory> copy() const override { return std::make_shared<FarMemory>(device_, text_); }
  mutable int reads = 0;

 private:
  const Device& device_;
  std::string text_;
};
std::string text_of(const std::shared_ptr<Storage>& storage) {
  return {reinterpret_cast<const char*>(storage->data()), static_cast<std::size_t>(storage->bytes())};
}
const Device& a_device() {
  static const CpuDevice device(1);
  return device;
}

TEST(Storage, OnADeviceIsFetchedOnceUntilItIsOverwritten) {
  const auto memory = std::make_shared<FarMemory>(a_device(), "tide");
  const auto storage = std::make_shared<Storage>(memory);
  EXPECT_EQ(storage->device(), memory->id());
  EXPECT_EQ(storage->bytes(), 4);
  EXPECT_TRUE(storage->is_materialized());
  {
    const std::optional<Reading> reading = Storage::read(storage, 0);
    EXPECT_EQ(reading->memory(), memory.get());
    EXPECT_TRUE(reading->lies_on(a_device()));
    EXPECT_EQ(memory->reads, 0) << "holding it fetches nothing";
    EXPECT_EQ(reading->data(), storage->data());
    EXPECT_EQ(memory->reads, 1);
    char copy[4];
    reading->copy_to(reinterpret_cast<std::byte*>(copy));
    EXPECT_EQ(std::string(copy, 4), "tide");
  }
  {
    std::optional<Overwriting> overwriting = Storage::overwrite(storage, 0);
    EXPECT_FALSE(Storage::read(storage, 0));
    overwriting->move_to(std::make_shared<FarMemory>(a_device(), "mark"));
    overwriting->give_away({}, false);
  }
  EXPECT_EQ(text_of(storage), "mark") << "not the copy of what it was";
}

TEST(Storage, MovesBetweenTheHostAndADevice) {
  Other other;
  const auto storage = std::make_shared<Storage>(other.lend(), 16);
  {
    std::optional<Overwriting> overwriting = Storage::overwrite(storage, 0);
    EXPECT_EQ(overwriting->memory(), nullptr);
    overwriting->move_to(std::make_shared<FarMemory>(a_device(), "a device's bytes"));
    EXPECT_EQ(other.returned, 1) << "its owner is told at once";
    overwriting->give_away({}, false);
  }
  EXPECT_FALSE(storage->foreign());
  EXPECT_EQ(text_of(storage), "a device's bytes");
  {
    std::optional<Overwriting> overwriting = Storage::overwrite(storage, 1);
    AlignedBytes own = allocate_aligned(16);
    std::memcpy(own.get(), "the host's bytes", 16);
    overwriting->move_to(std::move(own));
    overwriting->give_away({}, false);
  }
  EXPECT_EQ(storage->device(), DeviceId());
  EXPECT_EQ(text_of(storage), "the host's bytes");
}

TEST(Storage, LentOnADeviceMovesOutOnTheDevice) {
  const auto lender = std::make_shared<Lender>();
  const auto storage = std::make_shared<Storage>(std::make_shared<FarMemory>(a_device(), "lent"), lender);
  EXPECT_FALSE(storage->is_materialized());
  {
    const std::optional<Reading> reading = Storage::read(storage, 0);
    EXPECT_TRUE(lender->being_read());
    storage->materialize();
    EXPECT_TRUE(lender->being_read()) << "where it was when the reading began";
  }
  EXPECT_FALSE(lender->being_read());
  EXPECT_TRUE(storage->is_materialized());
  EXPECT_EQ(storage->device(), (DeviceId{DeviceKind::extension, 3}));
  EXPECT_EQ(text_of(storage), "lent");
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
