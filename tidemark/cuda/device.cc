#include "tidemark/cuda/device.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "tidemark/base/error.h"
#include "tidemark/base/parallel.h"
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
  const Machine& machine() const override {
    return measured_ ? *measured_ : machine_for(context_.facts().name);
  }

  Address allocate(int memory, std::int64_t bytes) override {
    context_.use();
    if (memory == 0) return {static_cast<std::uintptr_t>(context_.allocate(bytes))};
    auto pinned = std::make_unique<PinnedMemory>(context_, bytes);
    const Address at = host_address(pinned->data());
    const std::lock_guard lock(mutex_);
    pinned_.emplace(at.value, std::move(pinned));
    return at;
  }
  void release(int memory, Address address, std::int64_t) noexcept override {
    if (memory == 0) return context_.release(static_cast<CUdeviceptr>(address.value));
    const std::lock_guard lock(mutex_);
    pinned_.erase(address.value);
  }

  std::unique_ptr<Prepared> prepare(CommandStream& commands, std::span<const Address> arenas) override {
    context_.use();
    return std::make_unique<CudaPrepared>(commands, arenas, context_, blas_, cache_, pool_);
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
  Context context_;
  KernelCache cache_;  // makes the folder that the library's choices are kept in too
  Blas blas_;
  const std::unique_ptr<const Machine> measured_;  // none: as the library has it
  ThreadPool pool_;                                // for compiling, and for what runs on the CPU
  std::mutex mutex_;
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
