// A second backend, as small as one can be: the example of CONTRIBUTING.md's recipe, and the proof that
// nothing above a device relies on the CPU. The toy aligns buffers to 256 bytes, takes dense operands only,
// overwrites nothing and fuses nothing. Its memory is its own: an address is the number of a block and an
// offset in it, which no host pointer is.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/base/parallel.h"
#include "tidemark/runtime/device.h"

namespace tidemark::testing {

const Target& toy_target();

class ToyDevice final : public Device {
 public:
  ToyDevice() : pool_(1) {}
  const Target& target() const override { return toy_target(); }
  Address allocate(int memory, std::int64_t bytes) override;
  void release(int memory, Address address, std::int64_t bytes) noexcept override;
  std::unique_ptr<Prepared> prepare(CommandStream& commands, std::span<const Address> arenas) override;
  void read(std::byte* to, Address from, std::int64_t bytes) override;
  void write(Address to, const std::byte* from, std::int64_t bytes) override;

  std::byte* follow(Address address) const;  // what a real device does in its own silicon
  ThreadPool& pool() { return pool_; }
  std::size_t blocks() const { return blocks_.size(); }

 private:
  struct Block {
    AlignedBytes memory;
    std::int64_t bytes;
  };
  std::map<std::uintptr_t, Block> blocks_;
  std::uintptr_t next_ = 1;
  ThreadPool pool_;  // of the kernels that it borrows
};

}  // namespace tidemark::testing
