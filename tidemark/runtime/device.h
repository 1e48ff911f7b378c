// The backend contract: what a device must offer so that plans can run on it. The only virtual functions in the house.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "tidemark/base/parallel.h"
#include "tidemark/ir/op.h"
#include "tidemark/kernel/args.h"

namespace tidemark {

// A kernel made ready for one step of a plan; nothing is looked up or unpacked while the plan runs.
struct Launch {
  void (*run)(const KernelArgs&) = nullptr;
  std::shared_ptr<const void> attributes;
};

// One step of a group, and where each of its operands and results is.
struct GroupStep {
  Call call;
  std::vector<GroupPlace> in, out;
};

class Device {
 public:
  virtual ~Device() = default;
  // Throws Error no_kernel when the device cannot run the op.
  virtual Launch prepare(const Call& call) const = 0;
  // One kernel for consecutive steps that Op::fusion lets run together (ir/op.h says what a group may be). Its
  // KernelArgs have the distinct operands from outside as `in`, the results that have memory as `out`, and scratch as
  // the step that claims most.
  virtual Launch prepare_group(std::span<const GroupStep> steps) const = 0;
  // Memory for an arena, aligned to buffer_alignment at least. Throws DeviceError when there is none.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void release(std::byte* memory, std::int64_t bytes) noexcept = 0;
  virtual ThreadPool& pool() = 0;
};

}  // namespace tidemark
