// Memory that the host does not follow, with a tensor in it: that of a device (runtime/device.h), of which
// this layer knows no more. Whoever wants the values on the host gets a copy (Storage).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tidemark/base/address.h"
#include "tidemark/base/device_id.h"

namespace tidemark {

class Device;

class DeviceMemory {
 public:
  virtual ~DeviceMemory();
  virtual const Device& device() const = 0;  // which alone follows the address
  virtual DeviceId id() const = 0;
  virtual Address address() const = 0;
  virtual std::int64_t bytes() const = 0;
  // All of it, from any thread while nothing writes there. Throws DeviceError where the device fails.
  virtual void read(std::byte* to) const = 0;
  // The same bytes in memory of their own, on the same device. Throws DeviceError when there is none.
  virtual std::shared_ptr<DeviceMemory> copy() const = 0;
};

}  // namespace tidemark
