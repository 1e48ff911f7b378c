// The CPU as a device: kernels from the ops' .cpu.cc files, arenas from the operating system's pages, one
// pool of threads. Its addresses are pointers, and all its memories are the host's.
#pragma once
#include "tidemark/base/parallel.h"
#include "tidemark/cpu/prepared.h"

namespace tidemark {

class CpuDevice : public Device {
 public:
  explicit CpuDevice(int threads = 0) : pool_(threads) {}
  const Target& target() const override;
  Address allocate(int memory, std::int64_t bytes) override;
  void release(int memory, Address address, std::int64_t bytes) noexcept override;
  std::unique_ptr<Prepared> prepare(CommandStream& commands, std::span<const Address> arenas) override;
  void read(std::byte* to, Address from, std::int64_t bytes) override;
  void write(Address to, const std::byte* from, std::int64_t bytes) override;

  // How commands become kernels; a device that watches runs puts itself between.
  virtual CpuLaunch prepare_call(const Call& call) const;
  virtual CpuLaunch prepare_group(std::span<const GroupStep> steps) const;
  ThreadPool& pool() { return pool_; }

 private:
  ThreadPool pool_;
};

}  // namespace tidemark
