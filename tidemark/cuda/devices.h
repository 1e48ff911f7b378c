// The GPUs of this machine, or why there are none.
#pragma once
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"

namespace tidemark::cuda {

struct Driver;  // cuda/driver.h

// Which instructions a device has, and a kernel is compiled for: sm_90 is {9, 0}.
struct Architecture {
  int major = 0, minor = 0;
  friend bool operator==(const Architecture&, const Architecture&) = default;
};
std::string name_of(const Architecture& architecture);  // "sm_90"
// Has it products of warpgroups (device/wgmma.h)? No later one has them.
bool has_warpgroups(const Architecture& architecture);
// Can its kernels be set up while those before them run (device/early_start.h)?
bool starts_early(const Architecture& architecture);
// Do its tensor cores multiply numbers in 8 bits?
bool has_fp8(const Architecture& architecture);

struct DeviceFacts {
  std::string name;
  Bytes memory = Bytes(0);
  int multiprocessors = 0;
  Architecture architecture;
};

struct DeviceList {
  std::vector<DeviceFacts> devices;
  std::string reason;  // why there are none, or why not all are listed; empty else
};

// Asks the driver, where there is one; never throws for what a machine lacks.
DeviceList devices();
DeviceList devices(const Driver& driver);

// For people, a line each: "CUDA 0: NVIDIA H200, 139.81 GiB, 132 multiprocessors, sm_90", or "CUDA: none: …".
std::string to_string(const DeviceList& list);

}  // namespace tidemark::cuda
