#include "tidemark/engine/device_allocation.h"

namespace tidemark {
namespace {

std::shared_ptr<DeviceMemory> copy_of(const DeviceMemory& memory, const std::shared_ptr<Device>& device) {
  auto own = std::make_shared<DeviceAllocation>(device, memory.bytes());
  if (memory.bytes() > 0) device->copy(own->address(), memory.address(), memory.bytes());
  return own;
}

}  // namespace

DeviceAllocation::DeviceAllocation(std::shared_ptr<Device> device, std::int64_t bytes)
    : device_(std::move(device)),
      bytes_(bytes),
      address_(bytes > 0 ? device_->allocate(0, bytes) : Address{}) {}

DeviceAllocation::~DeviceAllocation() {
  if (address_) device_->release(0, address_, bytes_);
}

void DeviceAllocation::read(std::byte* to) const {
  if (bytes_ > 0) device_->read(to, address_, bytes_);
}

void DeviceAllocation::write(const std::byte* from) {
  if (bytes_ > 0) device_->write(address_, from, bytes_);
}

std::shared_ptr<DeviceMemory> DeviceAllocation::copy() const { return copy_of(*this, device_); }

void DeviceStretch::read(std::byte* to) const {
  if (bytes_ > 0) device_->read(to, address_, bytes_);
}

std::shared_ptr<DeviceMemory> DeviceStretch::copy() const { return copy_of(*this, device_); }

}  // namespace tidemark
