// The backend contract: what a device must offer so that plans can run on it. The only virtual functions in
// the house.
//
// A device gets all commands of a plan before the first run and makes them ready: it looks up kernels,
// captures what can be captured, and turns lanes and waits into what it has for them (streams and events,
// threads, or one list). Whoever runs them hands over addresses of arguments, and hears of errors.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tidemark/base/address.h"
#include "tidemark/base/device_id.h"
#include "tidemark/plan/machine.h"
#include "tidemark/runtime/commands.h"
#include "tidemark/runtime/disk_memory.h"
#include "tidemark/runtime/recorded_times.h"

namespace tidemark {

// Commands made ready by a device. Nothing is looked up, unpacked or allocated while they run.
class Prepared {
 public:
  virtual ~Prepared() = default;
  // Where the call's arguments are, for all runs until the next bind.
  virtual void bind(std::span<const Address> arguments) = 0;
  // The commands [first, last), to their end. Throws Error for what a kernel finds wrong with what its
  // operands hold, DeviceError where the machine fails; nothing runs any more then, and all may run again.
  virtual void run(std::size_t first, std::size_t last) = 0;
  // From now on notes there when the commands of a run begin and end, until the next call; null: no more.
  // What that takes, in `times` too, is allocated now. False: it cannot tell, and whoever asks runs commands
  // one by one.
  virtual bool record(RecordedTimes* times);
  virtual std::int64_t held_bytes() const = 0;  // by what was made ready, about
  // Of libraries, that compute its calls; those that the plan had, where it had some. None: there is no
  // choice.
  virtual PlannedAlgorithms algorithms() const { return {}; }
};

// Any number of threads may allocate, release, read, write and copy at once, while others run. There is one
// object for each device: what lies in another's memory goes through the host.
class Device {
 public:
  virtual ~Device() = default;
  virtual const Target& target() const = 0;
  // The same for plans whose products of f32 are to be in TF32; null: it computes nothing in it.
  virtual const Target* tf32_target() const { return nullptr; }
  // The same for plans whose products of 16-bit floats may be from fp8 codes, and those of f32 in TF32 or
  // not; null: it multiplies no such codes.
  virtual const Target* fp8_target(bool tf32) const {
    static_cast<void>(tf32);
    return nullptr;
  }
  // By which tensors say where they lie. Of the kind `cpu`, which devices of the CPU's target have: addresses
  // are pointers of the host. Of others that say nothing: an extension.
  virtual DeviceId id() const;
  virtual const Machine& machine() const;  // whose times plans for it count; reference_machine()
  // Memory for an arena or a tensor, aligned as the target asks at least. Throws DeviceError when there is
  // none.
  virtual Address allocate(int memory, std::int64_t bytes) = 0;
  virtual void release(int memory, Address address, std::int64_t bytes) noexcept = 0;
  // Can plans for it keep values on disks? Such a disk is a further memory of the device, whose arenas are
  // files in the folder, gone with them; for as long as it is held. Throws Error bad_file where the folder
  // cannot be used. Devices of the CPU's target have other ways (cpu/device.h).
  virtual bool has_disks() const { return false; }
  virtual std::shared_ptr<const DiskMemory> open_disk(const std::string& folder, DiskCompression compression);
  // `arenas`: where that of each memory begins. Throws Error no_kernel when the device cannot run an op.
  virtual std::unique_ptr<Prepared> prepare(CommandStream& commands, std::span<const Address> arenas) = 0;
  // Between the host and any memory of the device that nothing which runs now touches.
  virtual void read(std::byte* to, Address from, std::int64_t bytes) = 0;
  virtual void write(Address to, const std::byte* from, std::int64_t bytes) = 0;
  // Inside the memory of the device, likewise; through the host, unless the device knows a shorter way.
  virtual void copy(Address to, Address from, std::int64_t bytes);
};

// The one of its targets that a plan names; its first where it names none of them.
const Target& target_named(const Device& device, std::string_view name);

inline bool is_host(const Device& device) { return device.id().kind == DeviceKind::cpu; }

}  // namespace tidemark
