// The CPU as a device: kernels from ops/cpu_kernels, arenas from the operating system's pages, one pool of threads.
#pragma once
#include "tidemark/runtime/device.h"

namespace tidemark {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads = 0) : pool_(threads) {}
  Launch prepare(const Call& call) const override;
  Launch prepare_group(std::span<const GroupStep> steps) const override;
  std::byte* allocate(std::int64_t bytes) override;
  void release(std::byte* memory, std::int64_t bytes) noexcept override;
  ThreadPool& pool() override { return pool_; }

 private:
  ThreadPool pool_;
};

}  // namespace tidemark
