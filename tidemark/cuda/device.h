// A GPU of NVIDIA's as a device that plans run on: one arena of its memory for each plan, generated kernels,
// cuBLASLt's products, everything recorded as CUDA graphs. Memories behind the first are the host's, pinned,
// or folders of a disk.
//
//   auto step = td::compile(f, {.memory = 4_GiB, .device = td::cuda::device()});
#pragma once
#include <memory>
#include <optional>
#include <string_view>

namespace tidemark {

class Device;  // runtime/device.h

namespace cuda {

// The GPU of this number; one object for all who ask. Throws DeviceError no_device where there is none, and
// says why.
std::shared_ptr<Device> device(int number = 0);

// Of a name such as "cuda:1": the number; of "cuda": 0. None: it names no GPU.
std::optional<int> device_number(std::string_view name);

}  // namespace cuda

// What programs take as an option: "cpu" (none, as `compile` has it), "cuda", "cuda:1". Throws DeviceError
// no_device where there is no such device.
std::shared_ptr<Device> device_named(std::string_view name);

}  // namespace tidemark
