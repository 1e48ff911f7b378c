// Where tensors lie on a device that is not the host: in memory of their own, or in a stretch of an arena
// that is lent to them (Workspace).
#pragma once
#include "tidemark/runtime/device.h"
#include "tidemark/trace/device_memory.h"

namespace tidemark {

// Given back to the device when nobody uses it any more, from whichever thread.
class DeviceAllocation final : public DeviceMemory {
 public:
  DeviceAllocation(std::shared_ptr<Device> device, std::int64_t bytes);
  ~DeviceAllocation() override;
  DeviceAllocation(const DeviceAllocation&) = delete;
  DeviceAllocation& operator=(const DeviceAllocation&) = delete;

  const Device& device() const override { return *device_; }
  DeviceId id() const override { return device_->id(); }
  Address address() const override { return address_; }
  std::int64_t bytes() const override { return bytes_; }
  void read(std::byte* to) const override;
  std::shared_ptr<DeviceMemory> copy() const override;
  void write(const std::byte* from);  // all of it

 private:
  const std::shared_ptr<Device> device_;
  const std::int64_t bytes_;
  const Address address_;  // nowhere, of no bytes
};

// A part of memory that someone else keeps.
class DeviceStretch final : public DeviceMemory {
 public:
  DeviceStretch(std::shared_ptr<Device> device, Address address, std::int64_t bytes)
      : device_(std::move(device)), address_(address), bytes_(bytes) {}

  const Device& device() const override { return *device_; }
  DeviceId id() const override { return device_->id(); }
  Address address() const override { return address_; }
  std::int64_t bytes() const override { return bytes_; }
  void read(std::byte* to) const override;
  std::shared_ptr<DeviceMemory> copy() const override;

 private:
  const std::shared_ptr<Device> device_;
  const Address address_;
  const std::int64_t bytes_;
};

}  // namespace tidemark
