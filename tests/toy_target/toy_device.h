// A second backend, as small as one can be: the example of CONTRIBUTING.md's recipe, and the proof that
// nothing above a device relies on the CPU. The toy aligns buffers to 256 bytes, takes dense operands only,
// overwrites nothing and fuses nothing. Its memory is its own: an address is the number of a block and an
// offset in it, which no host pointer is.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/base/parallel.h"
#include "tidemark/runtime/device.h"

namespace tidemark::testing {

const Target& toy_target();
// The same, but results may overwrite operands where the CPU's may: so that state is updated where it lies.
const Target& toy_target_in_place();

class ToyDevice final : public Device {
 public:
  explicit ToyDevice(const Target& target = toy_target()) : target_(target), pool_(1) {}
  const Target& target() const override { return target_; }
  const Machine& machine() const override { return machine_ ? *machine_ : Device::machine(); }
  Address allocate(int memory, std::int64_t bytes) override;
  void release(int memory, Address address, std::int64_t bytes) noexcept override;
  std::unique_ptr<Prepared> prepare(CommandStream& commands, std::span<const Address> arenas) override;
  void read(std::byte* to, Address from, std::int64_t bytes) override;
  void write(Address to, const std::byte* from, std::int64_t bytes) override;
  void copy(Address to, Address from, std::int64_t bytes) override;

  std::byte* follow(Address address) const;  // what a real device does in its own silicon
  ThreadPool& pool() { return pool_; }
  std::size_t blocks() const;

  // What was asked of it so far, and what it holds.
  struct Counts {
    int allocations = 0, reads = 0, writes = 0, copies = 0;
    std::int64_t bytes = 0;          // allocated now
    std::int64_t disk_bytes = 0;     // of these, on its disk
    std::int64_t bytes_written = 0;  // by the host, ever
  };
  Counts counts() const;
  void set_memory(std::int64_t bytes);  // of which more is refused
  void set_machine(const Machine& machine) { machine_ = machine; }
  // From now on it has disks, or so it says: they are memory. `broken` is a folder that it cannot open.
  void pretend_disks(std::string broken) { broken_folder_ = std::move(broken); }
  bool has_disks() const override { return broken_folder_.has_value(); }
  std::shared_ptr<const DiskMemory> open_disk(const std::string& folder, DiskCompression) override;
  static constexpr int disk_number = 7;
  void fail_at(int launch);  // of those to come, the first being 0: the machine breaks there, once
  void launch();             // throws DeviceError when it is that one's turn

 private:
  const Target& target_;
  std::optional<Machine> machine_;
  std::optional<std::string> broken_folder_;  // none: it has no disks
  struct Block {
    AlignedBytes memory;
    std::int64_t bytes;
  };
  mutable std::mutex mutex_;  // of what follows
  std::map<std::uintptr_t, Block> blocks_;
  std::uintptr_t next_ = 1;
  std::int64_t memory_ = std::int64_t{1} << 40;
  Counts counts_;
  int launches_left_ = -1;
  ThreadPool pool_;  // of the kernels that it borrows
};

}  // namespace tidemark::testing
