// The CPU as a device: kernels from the ops' .cpu.cc files, arenas from the operating system's pages, one
// pool of threads. Its addresses are pointers, and its memories are the host's, but for those that were given
// a folder: their arenas are files there, whose addresses only the device follows.
#pragma once
#include <memory>
#include <string>

#include "tidemark/base/parallel.h"
#include "tidemark/cpu/file_memories.h"
#include "tidemark/cpu/prepared.h"

namespace tidemark {

class CpuDevice : public Device {
 public:
  explicit CpuDevice(int threads = 0) : pool_(std::make_shared<ThreadPool>(threads)) {}
  // With the threads of another, and memories of its own.
  explicit CpuDevice(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}
  const Target& target() const override;
  Address allocate(int memory, std::int64_t bytes) override;
  void release(int memory, Address address, std::int64_t bytes) noexcept override;
  std::unique_ptr<Prepared> prepare(CommandStream& commands, std::span<const Address> arenas) override;
  void read(std::byte* to, Address from, std::int64_t bytes) override;
  void write(Address to, const std::byte* from, std::int64_t bytes) override;

  // From now on an arena of this memory, which is not the first, is a file without a name in the folder: as
  // large as it says from the start, one per arena, gone with it. Plans may copy values there and back, and
  // nothing else; what comes back is checked. Throws Error bad_file where the folder cannot be used.
  void use_folder(int memory, const std::string& path, DiskCompression compression = DiskCompression::none);
  FileArena* find_file(Address address) const { return files_.find(address); }  // null: it is memory
  // By all files of this memory so far; null where it has no folder.
  std::shared_ptr<const DiskTraffic> traffic(int memory) const { return files_.traffic(memory); }

  // How commands become kernels; a device that watches runs puts itself between.
  virtual CpuLaunch prepare_call(const Call& call) const;
  virtual CpuLaunch prepare_group(std::span<const GroupStep> steps) const;
  virtual CpuLaunch prepare_transfer(const Command& command, FileCopies& files) const;
  ThreadPool& pool() { return *pool_; }
  const std::shared_ptr<ThreadPool>& shared_pool() const { return pool_; }

 private:
  const std::shared_ptr<ThreadPool> pool_;
  FileMemories files_;
};

}  // namespace tidemark
