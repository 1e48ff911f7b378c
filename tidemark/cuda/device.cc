#include "tidemark/cuda/device.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "tidemark/base/error.h"
#include "tidemark/base/parallel.h"
#include "tidemark/cpu/file_memories.h"
#include "tidemark/cuda/machine.h"
#include "tidemark/cuda/prepared.h"
#include "tidemark/cuda/target.h"
#include "tidemark/runtime/device.h"

namespace tidemark::cuda {

#ifdef TIDEMARK_HAS_CUDA

namespace {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int number)
      : context_(number), blas_(context_), measured_(machine_from_file(context_.facts().name)) {}

  DeviceId id() const override { return {.kind = DeviceKind::cuda, .index = context_.number()}; }
  const Target& target() const override { return cuda_target(); }
  const Target* tf32_target() const override { return &cuda_tf32_target(); }
  const Target* fp8_target(bool tf32) const override {
    return has_fp8(context_.facts().architecture) ? &cuda_fp8_target(tf32) : nullptr;
  }
  const Machine& machine() const override {
    return measured_ ? *measured_ : machine_for(context_.facts().name);
  }

  Address allocate(int memory, std::int64_t bytes) override {
    context_.use();
    if (memory == 0) return {static_cast<std::uintptr_t>(context_.allocate(bytes))};
    if (memory >= first_disk) return allocate_file(memory, bytes);
    auto pinned = std::make_unique<PinnedMemory>(context_, bytes);
    const Address at = host_address(pinned->data());
    const std::lock_guard lock(mutex_);
    pinned_.emplace(at.value, std::move(pinned));
    return at;
  }
  void release(int memory, Address address, std::int64_t) noexcept override {
    if (memory == 0) return context_.release(static_cast<CUdeviceptr>(address.value));
    if (memory >= first_disk) files_.release(address);
    const std::lock_guard lock(mutex_);
    pinned_.erase(address.value);
  }

  bool has_disks() const override { return true; }
  std::shared_ptr<const DiskMemory> open_disk(const std::string& folder,
                                              DiskCompression compression) override {
    const int number = files_.add_folder(first_disk, open_value_folder(folder), compression);
    const auto close = [this](const DiskMemory* disk) {
      files_.drop_folder(disk->number);
      delete disk;
    };
    return {new DiskMemory{.number = number, .traffic = files_.traffic(number)}, close};
  }

  std::unique_ptr<Prepared> prepare(CommandStream& commands, std::span<const Address> arenas) override {
    context_.use();
    return std::make_unique<CudaPrepared>(commands, arenas, context_, blas_, cache_, pool_,
                                          disk_copies(arenas));
  }

  void copy(Address to, Address from, std::int64_t bytes) override {
    context_.use();
    context_.wait();
    const Stream stream(context_);
    stream.copy(static_cast<CUdeviceptr>(to.value), static_cast<CUdeviceptr>(from.value), bytes);
    stream.wait();
  }
  void read(std::byte* to, Address from, std::int64_t bytes) override {
    context_.use();
    context_.wait();
    const Stream stream(context_);
    stream.copy_to_host(to, static_cast<CUdeviceptr>(from.value), bytes);
    stream.wait();
  }
  void write(Address to, const std::byte* from, std::int64_t bytes) override {
    context_.use();
    context_.wait();
    const Stream stream(context_);
    stream.copy_to_device(static_cast<CUdeviceptr>(to.value), from, bytes);
    stream.wait();
  }

 private:
  static constexpr int first_disk = 2;  // behind the host's memory; each folder has a number

  // A file, and under its address the memory that copies go through.
  Address allocate_file(int memory, std::int64_t bytes) {
    auto staging = std::make_unique<PinnedMemory>(context_, disk_staging_bytes);
    const Address at = files_.allocate(memory, bytes);
    TM_CHECK(at, "memory {} of a GPU has no folder", memory);
    const std::lock_guard lock(mutex_);
    pinned_.emplace(at.value, std::move(staging));
    return at;
  }
  // Null: none of the arenas is a file.
  std::unique_ptr<DiskCopies> disk_copies(std::span<const Address> arenas) {
    std::vector<DiskCopies::Disk> disks;
    bool found = false;
    for (const Address arena : arenas) {
      DiskCopies::Disk& disk = disks.emplace_back();
      disk.file = files_.find(arena);
      if (!disk.file) continue;
      found = true;
      const std::lock_guard lock(mutex_);
      disk.staging = pinned_.at(arena.value)->data();
    }
    return found ? std::make_unique<DiskCopies>(std::move(disks)) : nullptr;
  }

  Context context_;
  KernelCache cache_;  // makes the folder that the library's choices are kept in too
  Blas blas_;
  const std::unique_ptr<const Machine> measured_;  // none: as the library has it
  ThreadPool pool_;                                // for compiling, and for what runs on the CPU
  std::mutex mutex_;
  FileMemories files_;
  std::map<std::uintptr_t, std::unique_ptr<PinnedMemory>> pinned_;  // under the mutex
};

}  // namespace

std::shared_ptr<Device> device(int number) {
  static std::mutex mutex;
  static auto* const known = new std::map<int, std::shared_ptr<Device>>;  // the driver may be gone at exit
  const std::lock_guard lock(mutex);
  std::shared_ptr<Device>& found = (*known)[number];
  if (!found) found = std::make_shared<CudaDevice>(number);
  return found;
}

#else

std::shared_ptr<Device> device(int number) {
  throw DeviceError(
      ErrorCode::no_device,
      {.what = fmt::format("there is no CUDA device {}: this library was built without CUDA: the "
                           "toolkit's headers were not there",
                           number)});
}

#endif

std::optional<int> device_number(std::string_view name) {
  constexpr std::string_view kind = "cuda";
  if (!name.starts_with(kind)) return std::nullopt;
  name.remove_prefix(kind.size());
  if (name.empty()) return 0;
  if (name.size() < 2 || name.size() > 4 || name[0] != ':') return std::nullopt;
  int number = 0;
  for (const char digit : name.substr(1)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = 10 * number + (digit - '0');
  }
  return number;
}

}  // namespace tidemark::cuda

namespace tidemark {

std::shared_ptr<Device> device_named(std::string_view name) {
  if (name == "cpu") return nullptr;
  if (const std::optional<int> number = cuda::device_number(name)) return cuda::device(*number);
  throw DeviceError(ErrorCode::no_device,
                    {.what = fmt::format("there is no device '{}'", name.substr(0, 60)),
                     .expected = "cpu, cuda, or cuda:N for a GPU other than the first",
                     .help = "`tidemark machine --devices` lists those of this machine"});
}

}  // namespace tidemark
