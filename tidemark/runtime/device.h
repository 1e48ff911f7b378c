// The backend contract: what a device must offer so that plans can run on it. The only virtual functions in the house.
#pragma once
#include <memory>

#include "tidemark/base/parallel.h"
#include "tidemark/ir/op.h"
#include "tidemark/kernel/args.h"

namespace tidemark {

// A kernel made ready for one step of a plan; nothing is looked up or unpacked while the plan runs.
struct Launch {
  void (*run)(const KernelArgs&) = nullptr;
  std::shared_ptr<const void> attributes;
};

class Device {
 public:
  virtual ~Device() = default;
  // Throws Error no_kernel when the device cannot run the op.
  virtual Launch prepare(const Call& call) const = 0;
  // Memory for an arena, aligned to buffer_alignment at least. Throws DeviceError when there is none.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void release(std::byte* memory, std::int64_t bytes) noexcept = 0;
  virtual ThreadPool& pool() = 0;
};

}  // namespace tidemark
